"""What a chat shows for good, in colour, for a terminal."""

from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from holdfast.cli.entries import (
    Begun,
    CallEntry,
    Entry,
    FailureEntry,
    Interrupted,
    Said,
    TextEntry,
    Thought,
    UserEntry,
    Withdrawn,
)
from holdfast.cli.results import Line, Style, folded
from holdfast.cli.safe_text import neutral, neutral_line
from holdfast.cli.terminal.markdown import SafeMarkdown as Markdown
from holdfast.cli.terminal.markdown import rendered
from holdfast.cli.wording import about, duration, failure, outcome

_STYLES: dict[Style, str] = {
    "plain": "dim",
    "added": "green",
    "removed": "red",
    "place": "cyan dim",
    "hint": "dim italic",
}
_COLOURS = {"succeeded": "green", "failed": "red"}


@dataclass(frozen=True, slots=True)
class Note:
    """A word of ours, in a style."""

    text: str
    style: str = ""


# Kinds that stand together without an empty line between them.
_TOGETHER = ((CallEntry, Said, Thought), (Note,))


class Pretty:
    """`thoughts`: whether what the model thought is shown in full. `more`: how to see all of an output."""

    def __init__(self, more: str = "") -> None:
        self.thoughts = False
        self.more = more
        self._before: Entry | Note | None = None

    def show(self, entries: Sequence[Entry | Note], columns: int) -> str:
        written = ""
        for entry in entries:
            written += "\n" if self._apart(entry) else ""
            written += rendered(self._part(entry), columns) + "\n"
            self._before = entry
        return written

    def _apart(self, entry: Entry | Note) -> bool:
        before = self._before
        return before is not None and not any(
            isinstance(entry, kinds) and isinstance(before, kinds) for kinds in _TOGETHER
        )

    def _part(self, entry: Entry | Note) -> RenderableType:
        match entry:
            case UserEntry():
                asked = Table.grid()
                asked.add_row(Text("› ", "bold cyan"), Text(neutral(entry.text), "bold"))
                return asked
            case Note():
                return Text(entry.text, entry.style)
            case TextEntry():
                return Markdown(entry.text)
            case Thought():
                return self._thought(entry)
            case CallEntry():
                lines = folded(entry.result, self.more)
                return Group(call_line(entry), *result_lines(lines)) if lines else call_line(entry)
            case Said():
                return Text(f"· {neutral_line(entry.text, 1000)}", "yellow")
            case Withdrawn():
                return Text("⚠ The text above was discarded: the attempt failed.", "yellow")
            case Interrupted():
                return Text("■ interrupted", "yellow")
            case Begun():
                return Text("─── the conversation was edited; this is its current state ───", "dim")
            case FailureEntry():
                return Text(f"✗ {failure(entry.failure)}", "red")

    def _thought(self, thought: Thought) -> RenderableType:
        took = "" if thought.seconds is None else f" for {duration(thought.seconds)}"
        if self.thoughts:
            return Padding(Text(neutral(thought.text.strip()), "dim italic"), (0, 0, 0, 2))
        return Text(f"✻ thought{took}", "dim")


def result_lines(lines: Sequence[Line]) -> list[Text]:
    """One row each: what is wider than the window is cut."""
    return [
        Text(f"  {line.text}".expandtabs(4), _STYLES[line.style], no_wrap=True, overflow="ellipsis")
        for line in lines
    ]


def call_line(done: CallEntry) -> Text:
    result = done.result
    colour = _COLOURS.get(result.outcome, "yellow")
    return Text.assemble(
        ("● ", colour),
        (neutral_line(result.name, 60), "bold"),
        f" {about(done.input)}".rstrip(),
        (f" · {outcome(result)}", "dim" if result.outcome == "succeeded" else colour),
    )
