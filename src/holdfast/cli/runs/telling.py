"""What happens in a run in words: as plain lines for pipes and files, and what a terminal colours. Everything
that came from outside is neutral here."""

from datetime import datetime

from holdfast.cli.runs.progress import CallEnded, Entry, NeedsYou, Noted, PhaseBegan, RunOver, label_of
from holdfast.cli.safe_text import neutral, neutral_line
from holdfast.cli.wording import amount, duration, money
from holdfast.core.run_shapes import CallShown, LineShown, RunListed
from holdfast.core.runs import RunError, RunStatus
from holdfast.core.shapes import Json, encode
from holdfast.core.usage import Budget

LABEL = 60


def plain(entry: Entry) -> str:
    match entry:
        case PhaseBegan():
            return f"# {neutral_line(entry.title, 200)}"
        case CallEnded():
            return f"* {neutral_line(label_of(entry.call), LABEL)} · {outcome(entry.call)}"
        case LineShown():
            mark = "!" if entry.kind == "warning" else "-"
            return f"{mark} {neutral(entry.text)}"
        case NeedsYou():
            return f"? {asked(entry.call)}"
        case Noted():
            return f"({entry.text})"
        case RunOver():
            return f"= {summary(entry)}"


def summary(over: RunOver) -> str:
    run = over.run
    words = [neutral_line(run.name, 40), run.status, agents(over.calls, over.reused)]
    words += [spent(run.budget), "" if run.finished_at is None else took(run, run.finished_at)]
    return " · ".join(word for word in words if word)


def agents(calls: int, reused: int) -> str:
    if not calls:
        return ""
    return f"{calls} agent{'s' if calls > 1 else ''}" + (f", {reused} reused" if reused else "")


def asked(call: CallShown) -> str:
    return f"{neutral_line(label_of(call), LABEL)} needs you. Answer it with: holdfast attach {call.chat_id}"


def outcome(call: CallShown) -> str:
    """How a call stands: its state, how long it took, what it cost, what is wrong."""
    if call.reused:
        return "reused"
    words = [call.status]
    if call.started_at is not None and call.finished_at is not None:
        words.append(duration((call.finished_at - call.started_at).total_seconds()))
    if call.usage is not None and call.usage.total:
        words.append(f"{amount(call.usage.total)} tokens")
    if call.error:
        words.append(neutral_line(call.error, 200))
    return " · ".join(words)


def state(status: RunStatus) -> str:
    return "queued" if status == "pending" else status


def spent(budget: Budget) -> str:
    """Output tokens, of how many; and money, if there is a price. Empty: nothing yet."""
    words: list[str] = []
    if budget.tokens is not None:
        words.append(f"{amount(budget.spent_tokens)} of {amount(budget.tokens)} output tokens")
    elif budget.spent_tokens:
        words.append(f"{amount(budget.spent_tokens)} output tokens")
    if budget.spent_usd_micros:
        words.append(money(budget.spent_usd_micros))
    return " · ".join(words)


def took(run: RunListed, now: datetime) -> str:
    if run.started_at is None:
        return "-"
    return duration(((run.finished_at or now) - run.started_at).total_seconds())


def why(error: RunError | None) -> str:
    """Why a run failed, in one line."""
    if error is None:
        return "The run failed."
    line = "" if error.line is None else f" (script line {error.line})"
    return f"{neutral_line(error.message, 1000)}{line}"


def result_text(result: Json) -> str:
    """Text as it is, anything else as JSON; nothing for nothing."""
    import msgspec

    if result is None:
        return ""
    text = result if isinstance(result, str) else msgspec.json.format(encode(result), indent=2).decode()
    return neutral(text).rstrip("\n") + "\n"
