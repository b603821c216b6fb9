"""Finding a passage in a text: literally, and if that fails, allowing for what models get wrong (line ends,
whitespace at the end of lines, typographic quotes and spaces, indentation). A loose match keeps the text's
own form in whatever the edit does not change. Looser ways are tried only if stricter ones find nothing."""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from difflib import SequenceMatcher
from functools import cached_property
from itertools import islice

from holdfast.core.shapes import Record
from holdfast.workspaces.files.indentation import Shift, shift_between

_BLANKS = " \t\r"
# One character for one, so that columns stay the same.
_TYPOGRAPHY = str.maketrans(
    {
        **dict.fromkeys("\u2018\u2019\u201a\u201b\u2032\u00b4", "'"),
        **dict.fromkeys("\u201c\u201d\u201e\u201f\u2033\u00ab\u00bb", '"'),
        **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-"),
        **dict.fromkeys("\u00a0\u2002\u2003\u2007\u2009\u200a\u202f\u3000", " "),
    }
)
_BARE_LF = re.compile(r"(?<!\r)\n")
# Longer passages must match literally.
_LOOSE_LINES = 1000
# Loose matching takes several times the memory of the text.
_LOOSE_TEXT_LINES = 100_000
# In an endlessly repetitive text a place is not certain anyway.
_COMPARED_LINES = 1_000_000


class Match(Record, frozen=True, kw_only=True):
    """`new` replaces what is from `start` to `end`; `note` says what did not match literally."""

    start: int
    end: int
    new: str
    note: str = ""


class Lines:
    """A text by lines. Derived data is made once, when it is first needed."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._loosened: dict[int, Loosened] = {}

    @cached_property
    def lines(self) -> list[str]:
        """Without LF, but with CR: joined by LF they are the text."""
        return self.text.split("\n")

    @cached_property
    def starts(self) -> list[int]:
        return _starts(self.lines)

    @cached_property
    def all_crlf(self) -> bool:
        pairs = self.text.count("\r\n")
        return pairs > 0 and pairs == self.text.count("\n")

    @cached_property
    def is_long(self) -> bool:
        """Too long for anything but literal matching."""
        return self.text.count("\n") > _LOOSE_TEXT_LINES

    @cached_property
    def bodies(self) -> list[str]:
        """The lines without indentation, typography and trailing blanks."""
        return [_body_of(line) for line in self.lines]

    @cached_property
    def numbers(self) -> dict[str, list[int]]:
        """Where each body is: an index for finding passages."""
        numbers: dict[str, list[int]] = {}
        for number, body in enumerate(self.bodies):
            numbers.setdefault(body, []).append(number)
        return numbers

    def loosened(self, level: int) -> "Loosened":
        if level not in self._loosened:
            self._loosened[level] = Loosened(self, LEVELS[level][1])
        return self._loosened[level]


class Loosened:
    """The text with every line in a plainer form, none of them longer: its columns are those of the text."""

    def __init__(self, lines: Lines, plain: Callable[[str], str]) -> None:
        self.plain = plain
        self.lines = [plain(line) for line in lines.lines]
        # As if the last line had its end, as passages often do.
        self.text = "\n".join(self.lines) + ("\n" if self.lines[-1] else "")
        self.starts = _starts(self.lines)


def find_exact(lines: Lines, old: str, new: str, limit: int) -> list[Match]:
    """At most one more than `limit`, here and below: then there are too many."""
    note = ""
    if lines.all_crlf:
        if _BARE_LF.search(old):
            return []  # at its beginning it could match half of a line end
        if _BARE_LF.search(new):
            new, note = _BARE_LF.sub("\r\n", new), "its new lines got CRLF, as the file has it"
    places = islice(_occurrences(lines.text, old), limit + 1)
    return [Match(start=at, end=at + len(old), new=new, note=note) for at in places]


def find_loosely(lines: Lines, old: str, new: str, limit: int) -> list[Match]:
    if (
        lines.is_long
        or not old.strip()
        or old.count("\n") > _LOOSE_LINES
        or new.count("\n") > 2 * _LOOSE_LINES
    ):
        return []
    for level, (note, _) in enumerate(LEVELS):
        spans = _spans(lines, lines.loosened(level), old)
        found = (_fitted(lines, start, end, old, new, f"matched with {note}") for start, end in spans)
        if matches := _apart(found, limit):
            return matches
    return _apart(_shifted(lines, old, new), limit)


def _apart(found: Iterator[Match], limit: int) -> list[Match]:
    """Up to the first that overlaps the one before: it will be refused, and a repetitive text can have very
    many."""
    matches: list[Match] = []
    for match in islice(found, limit + 1):
        matches.append(match)
        if len(matches) > 1 and match.start < matches[-2].end:
            break
    return matches


def _spans(lines: Lines, loose: Loosened, old: str) -> Iterator[tuple[int, int]]:
    """Where the passage is in the text when both are in their plainer form."""
    wanted = [loose.plain(line) for line in old.split("\n")]
    trimmed = len(wanted[-1]) < len(old) - old.rfind("\n") - 1
    for at in _occurrences(loose.text, "\n".join(wanted)):
        end = at + sum(map(len, wanted)) + len(wanted) - 1
        first = bisect_right(loose.starts, at) - 1
        last = first + len(wanted) - 1
        start = lines.starts[first] + at - loose.starts[first]
        if last == len(loose.lines):
            yield start, len(lines.text)
        elif not trimmed:
            yield start, lines.starts[last] + end - loose.starts[last]
        elif end == loose.starts[last] + len(loose.lines[last]):
            # Blanks trimmed off the passage stand for those at the end of a line, never for none in the
            # middle of it.
            yield start, lines.starts[last] + len(lines.lines[last].removesuffix("\r"))


def _shifted(lines: Lines, old: str, new: str) -> Iterator[Match]:
    """Whole lines whose indentation differs from the passage's in one and the same way."""
    wanted = old.split("\n")
    closed = len(wanted) > 1 and not wanted[-1]
    if closed:
        wanted.pop()
    bodies = [_body_of(line) for line in wanted]
    anchor = max(range(len(bodies)), key=lambda index: len(bodies[index]))
    count = len(lines.lines) - (lines.lines[-1] == "")  # after the last line end there is no line
    firsts = (number - anchor for number in lines.numbers.get(bodies[anchor], ()))
    alike = [
        first
        for first in firsts
        if first >= 0 and lines.bodies[first : min(first + len(wanted), count)] == bodies
    ]
    if len(alike) * len(wanted) > _COMPARED_LINES:
        return
    for first in alike:
        shift = shift_between(wanted, lines.lines[first : first + len(wanted)])
        if shift is None or (moved := _moved(new, shift)) is None:
            continue
        last = first + len(wanted) - 1
        end = lines.starts[last] + len(lines.lines[last].rstrip(_BLANKS))
        if closed:
            end = min(lines.starts[last] + len(lines.lines[last]) + 1, len(lines.text))
        # The passage as it is in the text is compared with what it becomes: both have the same indentation
        # now.
        old_moved = "\n".join(shift(line) or "" for line in wanted) + ("\n" if closed else "")
        yield _fitted(
            lines,
            lines.starts[first],
            end,
            old_moved,
            moved,
            "matched with another indentation, which was kept",
        )


def _moved(new: str, shift: Shift) -> str | None:
    moved: list[str] = []
    for line in new.split("\n"):
        if (other := shift(line)) is None:
            return None
        moved.append(other)
    return "\n".join(moved)


def _fitted(lines: Lines, start: int, end: int, old: str, new: str, note: str) -> Match:
    """The new text as it goes into the file: lines that it shares with the old passage stay as they are in
    the file, others get the file's line end."""
    there = lines.text[start:end].split("\n")
    ends = ["\r\n" if line.endswith("\r") else "\n" for line in there[:-1]]
    usual = "\r\n" if (all(e == "\r\n" for e in ends) if ends else lines.all_crlf) else "\n"
    if len(there) < old.count("\n") + 1:
        # The file ends where the passage has one more line end: the new text omits it too.
        old, new = old.removesuffix("\n"), new.removesuffix("\n")
    olds, news = old.split("\n"), [line.removesuffix("\r") for line in new.split("\n")]
    kept = _kept([line.removesuffix("\r") for line in olds], news)
    pieces: list[str] = []
    for index, line in enumerate(news):
        source = kept.get(index)
        pieces.append(line if source is None else _body(there, source))
        if index < len(news) - 1:
            pieces.append(usual if source is None or source >= len(ends) else ends[source])
    return Match(start=start, end=end, new="".join(pieces), note=note)


def _body(there: list[str], index: int) -> str:
    return there[index].removesuffix("\r") if index < len(there) - 1 else there[index]


def _kept(olds: list[str], news: list[str]) -> dict[int, int]:
    """Which lines of the new text are lines of the old one."""
    blocks = SequenceMatcher(None, olds, news, autojunk=False).get_matching_blocks()
    return {b + offset: a + offset for a, b, size in blocks for offset in range(size)}


def _occurrences(text: str, passage: str) -> Iterator[int]:
    """All of them, including overlapping ones: such a passage does not occur once."""
    at = text.find(passage)
    while at >= 0:
        yield at
        at = text.find(passage, at + 1)


def _starts(lines: list[str]) -> list[int]:
    starts, at = list[int](), 0
    for line in lines:
        starts.append(at)
        at += len(line) + 1
    return starts


def _without_cr(line: str) -> str:
    return line.removesuffix("\r")


def _without_blanks(line: str) -> str:
    return line.rstrip(_BLANKS)


def _typography(line: str) -> str:
    return line if line.isascii() else line.translate(_TYPOGRAPHY)


def _body_of(line: str) -> str:
    return _typography(line).strip(_BLANKS)


def _without_typography(line: str) -> str:
    return _typography(line).rstrip(_BLANKS)


LEVELS: tuple[tuple[str, Callable[[str], str]], ...] = (
    ("other line ends", _without_cr),
    ("other whitespace at the end of lines", _without_blanks),
    ("typographic quotes, dashes and spaces taken as plain ones", _without_typography),
)
