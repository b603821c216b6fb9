"""Short words for people: durations, amounts, what a call is about, what a chat is doing. Everything that
came from outside is neutral here already."""

from collections.abc import Mapping
from datetime import datetime
from typing import cast

from holdfast.cli.results import reason
from holdfast.cli.safe_text import neutral_line
from holdfast.core.calls import Action
from holdfast.core.chats import Chat, Status, Waiting
from holdfast.core.failures import Failure, Retry
from holdfast.core.parts import ToolResult
from holdfast.core.shapes import Json, encode_text

_SECOND, _MINUTE, _HOUR, _DAY = 1, 60, 3600, 86_400
# The fields that say best what a call is about, the best first.
_ABOUT = ("command", "path", "pattern", "query", "url", "prompt", "question", "name", "text", "plan", "label")


def duration(seconds: float) -> str:
    if seconds < 0.9995:
        return f"{max(seconds, 0) * 1000:.0f} ms"
    if seconds < 10:
        return f"{seconds:.1f} s"
    if seconds < _MINUTE:
        return f"{seconds:.0f} s"
    if seconds < _HOUR:
        return f"{int(seconds // _MINUTE)} min {int(seconds % _MINUTE)} s"
    return f"{int(seconds // _HOUR)} h {int(seconds % _HOUR // _MINUTE)} min"


def ago(then: datetime, now: datetime) -> str:
    seconds = (now - then).total_seconds()
    for unit, size in (("d", _DAY), ("h", _HOUR), ("min", _MINUTE)):
        if seconds >= size:
            return f"{int(seconds // size)} {unit} ago"
    return "now" if seconds < 10 else f"{int(seconds)} s ago"


def amount(number: int) -> str:
    """1234 as 1.2k."""
    if number < 1000:
        return str(number)
    if number < 999_500:
        return f"{number / 1000:.1f}k" if number < 9950 else f"{number / 1000:.0f}k"
    return f"{number / 1_000_000:.1f}M"


def money(micros: int) -> str:
    dollars = micros / 1_000_000
    return f"${dollars:.2f}" if dollars >= 0.1 or not micros else f"${dollars:.4f}"


def about(given: Json, limit: int = 60) -> str:
    """What a call is about, from its input."""
    if not isinstance(given, Mapping):
        return "" if given is None else neutral_line(_text(given), limit)
    fields = cast(Mapping[str, Json], given)
    for name in _ABOUT:
        if isinstance(value := fields.get(name), str) and value.strip():
            return neutral_line(value, limit)
    if isinstance(words := fields.get("args"), list):
        return neutral_line(" ".join(str(word) for word in cast(list[Json], words)), limit)
    if paths := _paths(fields.get("edits")):
        return neutral_line(", ".join(paths), limit)
    if questions := _texts(fields.get("questions")):
        return neutral_line(" / ".join(questions), limit)
    return neutral_line(encode_text(fields), limit) if fields else ""


def outcome(result: ToolResult) -> str:
    """How a call ended: how long it took, what it changed, and what is wrong if anything is."""
    told: list[str] = []
    if result.started_at is not None and result.finished_at is not None:
        told.append(duration((result.finished_at - result.started_at).total_seconds()))
    if result.diff:
        lines = result.diff.splitlines()
        added = sum(line.startswith("+") and not line.startswith("+++") for line in lines)
        gone = sum(line.startswith("-") and not line.startswith("---") for line in lines)
        told.append(f"+{added} −{gone}")
    told.append(result.outcome)
    if result.outcome != "succeeded":
        told.append(reason(result))
    return " · ".join(word for word in told if word)


def failure(failed: Failure) -> str:
    detail = f" ({neutral_line(failed.detail, 300)})" if failed.detail else ""
    return f"{neutral_line(failed.message, 500)}{detail}"


def retrying(retry: Retry, now: datetime) -> str:
    seconds = max((retry.next_at - now).total_seconds(), 0)
    return f"retrying in {duration(seconds)}: {neutral_line(retry.message, 200)}"


def state(status: Status, waiting: Waiting | None) -> str:
    match status, waiting:
        case "running", "capacity":
            return "waiting for a free slot"
        case "running", "children":
            return "waiting for sub-agents"
        case "running", _:
            return "working"
        case "interrupting", _:
            return "stopping"
        case "requires_action", _:
            return "needs you"
        case "error", _:
            return "failed"
        case "idle", "held":
            return "queue on hold"
        case "idle", _:
            return "idle"


def title(chat: Chat, limit: int = 60) -> str:
    return neutral_line(chat.title, limit) or "(no title)"


def short(chat_id: str) -> str:
    """The end of an id: its beginning is the time, which neighbours share."""
    return chat_id[-8:]


def needs(chat: Chat) -> str:
    """What somebody must do, if anything."""
    if chat.action is not None and chat.action.calls:
        return waits_for(chat.action)
    return "retry" if chat.status == "error" else ""


def waits_for(action: Action) -> str:
    words = [f"{call.kind.replace('_', ' ')}: {neutral_line(call.name, 40)}" for call in action.calls]
    return ", ".join(dict.fromkeys(words))


def _text(value: Json) -> str:
    return value if isinstance(value, str) else encode_text(value)


def _paths(edits: Json) -> list[str]:
    return _fields(edits, "path")


def _texts(questions: Json) -> list[str]:
    return _fields(questions, "text")


def _fields(items: Json, name: str) -> list[str]:
    if not isinstance(items, list):
        return []
    found = [
        cast(Mapping[str, Json], item).get(name)
        for item in cast(list[Json], items)
        if isinstance(item, Mapping)
    ]
    return list(dict.fromkeys(value for value in found if isinstance(value, str)))
