"""The part of a conversation that changes, as lines below the finished text: what is under way, what waits,
what is asked, and the line being typed."""

from dataclasses import dataclass
from datetime import datetime

from rich.console import Group
from rich.text import Text

from holdfast.cli.conversation.answers import Asking
from holdfast.cli.safe_text import neutral_line
from holdfast.cli.terminal.completion import Offers
from holdfast.cli.terminal.editor import Editor
from holdfast.cli.terminal.history_search import Search
from holdfast.cli.terminal.live import live_lines, queue_lines
from holdfast.cli.terminal.markdown import rendered
from holdfast.cli.terminal.screen import Region, input_lines
from holdfast.cli.transcript import Transcript
from holdfast.core.chats import BUILD

_CHOICES = 16
_PROMPT, _ANSWER_PROMPT = "› ", "? "


@dataclass(frozen=True, slots=True)
class Typing:
    """What the person is at."""

    editor: Editor
    asking: Asking | None = None
    # Messages on their way to the server.
    sending: tuple[str, ...] = ()
    # One line on what a key just did or would do.
    hint: str = ""
    search: Search | None = None
    offers: Offers | None = None
    # How many files and outputs go along with the next message.
    along: int = 0
    mode: str = BUILD


def picture(transcript: Transcript, typing: Typing, now: datetime, columns: int, rows: int) -> Region:
    above = live_lines(transcript, now, columns) + queue_lines(transcript, columns)
    notes = [Text(f"sending: {neutral_line(text, columns - 12)}", "dim") for text in typing.sending]
    if typing.asking is not None:
        notes.append(Text(typing.asking.keys(), "yellow"))
    if typing.offers is not None:
        notes.append(_choices(typing.offers, columns))
    if typing.along:
        notes.append(Text(f"{typing.along} attached to your next message", "dim"))
    if typing.hint:
        notes.append(Text(neutral_line(typing.hint, columns), "dim"))
    if notes:
        above += rendered(Group(*notes), columns).split("\n")
    typed, cursor = _typed(typing, columns)
    typed, cursor = _around(typed, cursor, max(rows // 2, 1))
    # What is being said gives way: its beginning has been read.
    above = above[-max(rows - len(typed), 0) :] if rows > len(typed) else []
    return Region((*above, *typed), (len(above) + cursor[0], cursor[1]))


def _typed(typing: Typing, columns: int) -> tuple[list[str], tuple[int, int]]:
    if typing.search is not None:
        prompt = f"search: {neutral_line(typing.search.query, max(columns // 2, 1))} › "
        found = neutral_line(typing.search.match, 1000)
        return input_lines(prompt, found, 0, columns)
    prompt = _PROMPT if typing.asking is None else _ANSWER_PROMPT
    if typing.mode != BUILD:
        prompt = f"{neutral_line(typing.mode, 20)} {prompt}"
    return input_lines(prompt, typing.editor.text, typing.editor.cursor, columns)


def _choices(offers: Offers, columns: int) -> Text:
    """As many as fit on a few lines, the chosen one marked."""
    shown = Text()
    first = max((offers.chosen or 0) - _CHOICES + 1, 0)
    for number, choice in enumerate(offers.choices[first : first + _CHOICES], first):
        shown.append(neutral_line(choice, columns - 2), "reverse" if number == offers.chosen else "cyan")
        shown.append("  ")
    left = len(offers.choices) - first - _CHOICES
    return shown.append(f"… {left} more", "dim") if left > 0 else shown


def _around(lines: list[str], cursor: tuple[int, int], rows: int) -> tuple[list[str], tuple[int, int]]:
    """So many of the lines, with that of the cursor among them."""
    first = max(0, min(cursor[0] - rows + 1, len(lines) - rows)) if len(lines) > rows else 0
    first = max(first, cursor[0] - rows + 1)
    return lines[first : first + rows], (cursor[0] - first, cursor[1])
