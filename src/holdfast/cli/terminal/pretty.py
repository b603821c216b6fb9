"""What a chat shows for good, in colour, for a terminal."""

from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from holdfast.cli.entries import (
    Asked,
    Begun,
    Done,
    Entry,
    Failed,
    Interrupted,
    Prose,
    Said,
    Thought,
    Withdrawn,
)
from holdfast.cli.neutral import neutral, neutral_line
from holdfast.cli.terminal.markdown import Prose as Markdown
from holdfast.cli.terminal.markdown import rendered
from holdfast.cli.wording import about, duration, failure, outcome

_COLOURS = {"succeeded": "green", "failed": "red"}


@dataclass(frozen=True, slots=True)
class Note:
    """A word of ours, in a style."""

    text: str
    style: str = ""


# Kinds that stand together without an empty line between them.
_TOGETHER = ((Done, Said, Thought), (Note,))


class Pretty:
    """`thoughts`: whether what the model thought is shown in full."""

    def __init__(self) -> None:
        self.thoughts = False
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
            case Asked():
                asked = Table.grid()
                asked.add_row(Text("› ", "bold cyan"), Text(neutral(entry.text), "bold"))
                return asked
            case Note():
                return Text(entry.text, entry.style)
            case Prose():
                return Markdown(entry.text)
            case Thought():
                return self._thought(entry)
            case Done():
                return call_line(entry)
            case Said():
                return Text(f"· {neutral_line(entry.text, 1000)}", "yellow")
            case Withdrawn():
                return Text("⚠ The text above was not kept: its attempt broke off.", "yellow")
            case Interrupted():
                return Text("■ interrupted", "yellow")
            case Begun():
                return Text("─── the history was changed; this is how it is now ───", "dim")
            case Failed():
                return Text(f"✗ {failure(entry.failure)}", "red")

    def _thought(self, thought: Thought) -> RenderableType:
        took = "" if thought.seconds is None else f" for {duration(thought.seconds)}"
        if self.thoughts:
            return Padding(Text(neutral(thought.text.strip()), "dim italic"), (0, 0, 0, 2))
        return Text(f"✻ thought{took}", "dim")


def call_line(done: Done) -> Text:
    result = done.result
    colour = _COLOURS.get(result.outcome, "yellow")
    return Text.assemble(
        ("● ", colour),
        (neutral_line(result.name, 60), "bold"),
        f" {about(done.input)}".rstrip(),
        (f" · {outcome(result)}", "dim" if result.outcome == "succeeded" else colour),
    )
