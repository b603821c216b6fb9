"""What a tool answered, as lines for people: the text in it, how it ended, as much as is worth showing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, cast

from holdfast.cli.safe_text import neutral, neutral_line
from holdfast.core.parts import ToolResult
from holdfast.core.shapes import Json, encode_text

# Of an output that went well its beginning, of one that failed its end, which says why.
BEGINNING_LINES, END_LINES, DIFF_LINES = 3, 10, 40
_TEXTS = ("output", "text", "content", "error", "message")

Style = Literal["plain", "added", "removed", "place", "hint"]


@dataclass(frozen=True, slots=True)
class Line:
    """Neutral, on one line."""

    text: str
    style: Style = "plain"


def text_of(output: Json) -> str:
    """The text that a person would want to read; empty for what is data."""
    if isinstance(output, str):
        return output
    if isinstance(output, Mapping):
        fields = cast(Mapping[str, Json], output)
        found = next((text for name in _TEXTS if isinstance(text := fields.get(name), str)), "")
        note = fields.get("note")
        return f"{found.rstrip()}\n{note}".lstrip("\n") if isinstance(note, str) and note else found
    return ""


def reason(result: ToolResult) -> str:
    """Why a call did not succeed, in a few words; what is longer is in its lines."""
    output: Json = result.output
    text = text_of(output).strip()
    if isinstance(output, Mapping):
        fields = cast(Mapping[str, Json], output)
        if (code := fields.get("exit_code")) is not None:
            signal = fields.get("signal")
            return f"exit code {code}" + (f" ({signal})" if isinstance(signal, str) else "")
        if not text:
            return neutral_line(encode_text(fields), 200)
    return neutral_line(text, 200) if _is_short(text) else ""


def folded(result: ToolResult, more: str = "") -> list[Line]:
    """The part that is shown at once. `more` says how to see the rest."""
    if result.diff:
        return _cut_after(_diff(result.diff), DIFF_LINES, more)
    text = text_of(result.output).strip("\n")
    lines = [Line(line) for line in neutral(text).split("\n")] if text.strip() else []
    if result.outcome == "succeeded":
        return _cut_after(lines, BEGINNING_LINES, more)
    if _is_short(text) and not isinstance(result.output, Mapping):
        return []  # said already, behind the outcome
    left_out = len(lines) - END_LINES
    return lines if left_out <= 0 else [_hint(left_out, "earlier", more), *lines[left_out:]]


def unfolded(result: ToolResult) -> list[Line]:
    if result.diff:
        return _diff(result.diff)
    text = text_of(result.output).strip("\n") or encode_text(result.output)
    return [Line(line) for line in neutral(text).split("\n")]


def _is_short(text: str) -> bool:
    return text.count("\n") < 3 and len(text) <= 200


def _diff(diff: str) -> list[Line]:
    """Without the names of the files where the call names the one there is."""
    lines = neutral(diff.rstrip("\n")).split("\n")
    if sum(line.startswith("+++ ") for line in lines) == 1:
        lines = [line for line in lines if not line.startswith(("--- ", "+++ "))]
    return [Line(line, _style(line)) for line in lines]


def _style(line: str) -> Style:
    if line.startswith(("--- ", "+++ ", "@@")):
        return "place"
    return "added" if line.startswith("+") else "removed" if line.startswith("-") else "plain"


def _cut_after(lines: Sequence[Line], most: int, more: str) -> list[Line]:
    # One line more takes no more room than saying that there is one.
    if len(lines) <= most + 1:
        return list(lines)
    return [*lines[:most], _hint(len(lines) - most, "more", more)]


def _hint(count: int, which: str, more: str) -> Line:
    return Line(f"… {count} {which} lines" + (f" · {more}" if more else ""), "hint")
