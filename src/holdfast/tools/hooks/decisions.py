"""What a hook's exit code and output mean. Pure, and by the rules that Claude Code documents for its hooks:
the same script gives the same decision."""

from typing import Any, cast

import msgspec

from holdfast.core.hooks import EventName, HookOutcome, HookVerdict, Ruling
from holdfast.core.shapes import Json, Record

BLOCKS = 2
# How much of what a hook says reaches a model or a person.
MOST_TEXT = 10_000
# Events whose blocking means something.
_BLOCKING: frozenset[EventName] = frozenset(("user_prompt", "pre_tool", "turn_end", "agent_end"))


class HookEnd(Record, frozen=True, kw_only=True):
    """How a program ended. `trouble`: it could not run, took too long, or printed too much."""

    exit_code: int | None = None
    output: str = ""
    errors: str = ""
    trouble: str | None = None
    timed_out: bool = False


def verdict_of(event: EventName, end: HookEnd, *, must_pass: bool = False) -> HookVerdict:
    """`must_pass`: a hook that fails objects (`on_failure = "block"`)."""
    verdict = _verdict_of(event, end)
    if verdict.failure is None or not must_pass or event not in _BLOCKING:
        return verdict
    reason = f"A hook that must pass failed: {verdict.failure}"
    return HookVerdict(ruling="deny", reason=reason, failure=verdict.failure)


def _verdict_of(event: EventName, end: HookEnd) -> HookVerdict:
    if end.trouble is not None:
        return HookVerdict(failure=end.trouble)
    if end.exit_code == BLOCKS:
        reason = _text(end.errors) or "A hook objected and gave no reason."
        return _objection(event, reason)
    if end.exit_code != 0:
        said = _text(end.errors).partition("\n")[0][:300]
        return HookVerdict(failure=f"It ended with exit code {end.exit_code}{f': {said}' if said else ''}.")
    said = end.output.strip()
    if said.startswith("{"):
        try:
            answer = msgspec.json.decode(said)
        except (msgspec.DecodeError, RecursionError):
            answer = None
        if isinstance(answer, dict):
            return _of_answer(event, cast(dict[str, Any], answer))
    # A plain text is something to know only where a prompt is looked at.
    return HookVerdict(context=_text(said)) if event == "user_prompt" else HookVerdict()


def _objection(event: EventName, reason: str) -> HookVerdict:
    """After a call there is nothing left to block: the model is told why."""
    if event in _BLOCKING:
        return HookVerdict(ruling="deny", reason=reason)
    if event == "post_tool":
        return HookVerdict(context=reason)
    return HookVerdict(message=reason)


def _of_answer(event: EventName, answer: dict[str, Any]) -> HookVerdict:
    more = answer.get("hookSpecificOutput")
    more = cast(dict[str, Any], more) if isinstance(more, dict) else {}
    message = _text(answer.get("systemMessage"))
    context = _text(more.get("additionalContext"))
    if answer.get("continue") is False:
        reason = _text(answer.get("stopReason")) or "A hook ended the turn."
        return HookVerdict(
            ruling="deny" if event in ("pre_tool", "user_prompt") else "none",
            reason=reason,
            stop=True,
            message=message,
            context=context,
        )
    ruling, reason = _ruling(event, answer, more)
    if ruling == "deny" and event not in _BLOCKING:
        objection = _objection(event, reason or "A hook objected and gave no reason.")
        return HookVerdict(
            context="\n".join(one for one in (objection.context, context) if one),
            message=message or objection.message,
        )
    changed = more.get("updatedInput") if event == "pre_tool" else None
    return HookVerdict(
        ruling=ruling,
        reason=reason or ("A hook objected and gave no reason." if ruling == "deny" else ""),
        input=cast(dict[str, Json], changed) if isinstance(changed, dict) else None,
        context=context,
        message=message,
    )


def _ruling(event: EventName, answer: dict[str, Any], more: dict[str, Any]) -> tuple[Ruling, str]:
    """The newer form wins over the older one."""
    chosen = more.get("permissionDecision")
    if event == "pre_tool" and chosen in ("allow", "deny", "ask"):
        return chosen, _text(more.get("permissionDecisionReason")) or _text(answer.get("reason"))
    reason = _text(answer.get("reason"))
    match answer.get("decision"):
        case "block" | "deny":
            return "deny", reason
        case "approve" | "allow" if event == "pre_tool":
            return "allow", reason
        case "ask" if event == "pre_tool":
            return "ask", reason
        case _:
            return "none", reason


def _text(value: object) -> str:
    text = value.strip() if isinstance(value, str) else ""
    return text if len(text) <= MOST_TEXT else text[: MOST_TEXT - 1] + "…"


def outcome_of(verdict: HookVerdict, *, timed_out: bool = False) -> HookOutcome:
    if verdict.failure is not None:
        return "timed_out" if timed_out else "failed"
    if verdict.ruling == "deny" or verdict.stop:
        return "blocked"
    changed = verdict.ruling != "none" or verdict.input is not None or verdict.context
    return "changed" if changed else "passed"
