"""What is under way in a chat, as the lines below the finished text. A function of the transcript and the
time."""

from datetime import datetime

from rich.console import Group, RenderableType
from rich.text import Text

from holdfast.cli.safe_text import neutral, neutral_line
from holdfast.cli.terminal.markdown import SafeMarkdown, rendered
from holdfast.cli.transcript import OpenCall, Transcript
from holdfast.cli.wording import about, amount, duration, money, retrying, state

_SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_TURNS_PER_SECOND = 8
_THOUGHT_LINES = 4
_QUEUE_LINES = 5


def live_lines(transcript: Transcript, now: datetime, columns: int) -> list[str]:
    """What is being said and done, then one line that says how it stands."""
    blocks: list[RenderableType] = []
    if transcript.tail.strip():
        blocks.append(SafeMarkdown(transcript.tail))
    elif transcript.thinking is not None:
        blocks.append(_thought(transcript.thinking))
    if transcript.calls:
        blocks.append(Group(*(_call(call, now) for call in transcript.calls)))
    blocks.append(status_line(transcript, now))
    return [line for block in blocks for line in ("", *rendered(block, columns).split("\n"))]


def queue_lines(transcript: Transcript, columns: int) -> list[str]:
    items = transcript.queue
    shown = [
        Text(
            f"{item.position + 1}. {neutral_line(_said(item.content), columns - 12)}"
            + (" (steers)" if item.busy == "steer" else " (held)" if item.held else ""),
            "dim",
        )
        for item in items[:_QUEUE_LINES]
    ]
    if len(items) > _QUEUE_LINES:
        shown.append(Text(f"… and {len(items) - _QUEUE_LINES} more", "dim"))
    return rendered(Group(*shown), columns).split("\n") if shown else []


def status_line(transcript: Transcript, now: datetime) -> Text:
    words = [state(transcript.status, transcript.waiting)]
    if transcript.retry is not None:
        words.append(retrying(transcript.retry, now))
    if transcript.chat is not None and transcript.chat.model:
        words.append(neutral_line(transcript.chat.model, 40))
    words += _spent(transcript)
    mark, colour = _mark(transcript, now)
    lost = "" if transcript.lost is None else "⚡ connection lost, reconnecting · "
    return Text.assemble((lost, "yellow"), (f"{mark} ", colour), (" · ".join(words), "dim"))


def _mark(transcript: Transcript, now: datetime) -> tuple[str, str]:
    if transcript.busy:
        turn = int(now.timestamp() * _TURNS_PER_SECOND) % len(_SPINNER)
        return _SPINNER[turn], "cyan"
    match transcript.status:
        case "requires_action":
            return "?", "bold yellow"
        case "error":
            return "✗", "red"
        case _:
            return "○", "dim"


def _spent(transcript: Transcript) -> list[str]:
    usage = transcript.usage
    if usage is None or not usage.total:
        return []
    words = [f"{amount(usage.total)} tokens"]
    if usage.context_used and usage.context_limit:
        words.append(f"{usage.context_used / usage.context_limit:.0%} of context")
    if usage.cost_usd_micros:
        words.append(money(usage.cost_usd_micros))
    return words


def _thought(text: str) -> Text:
    lines = neutral(text).strip().split("\n")[-_THOUGHT_LINES:]
    shown = "\n".join(f"  {line}" for line in lines)
    return Text.assemble(("✻ thinking\n", "dim"), (shown, "dim italic"))


def _call(call: OpenCall, now: datetime) -> Text:
    how = ""
    if call.outcome is not None:
        how = f" · {call.outcome}"
    elif call.started_at is not None:
        how = f" · {duration((now - call.started_at).total_seconds())}"
    name = neutral_line(call.name, 60)
    return Text.assemble(("◌ ", "cyan"), (name, "bold"), f" {about(call.input)}", (how, "dim"))


def _said(parts: tuple[object, ...]) -> str:
    return " ".join(text for part in parts if isinstance(text := getattr(part, "text", None), str))
