"""Unified diffs that `patch -p1` and `git apply` accept, made within bounded time and of bounded length. A
caller that knows which lines were changed passes them; otherwise they are looked for."""

from array import array
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

# Start and end in the old lines, start and end in the new ones: all differences are inside.
Change = tuple[int, int, int, int]

CONTEXT = 3
DIFF_CHARACTERS = 60_000
# Beyond this a difference is shown as one block: finding the best one takes quadratic time.
_COMPARED_LINES = 3000


class _Lines:
    """The lines of a text, each with its LF, cut out on demand: a text can have millions."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._ends = array("L")
        at = text.find("\n")
        while at >= 0:
            self._ends.append(at + 1)
            at = text.find("\n", at + 1)
        if text and not text.endswith("\n"):
            self._ends.append(len(text))

    def __len__(self) -> int:
        return len(self._ends)

    def __getitem__(self, index: int) -> str:
        return self._text[self._ends[index - 1] if index else 0 : self._ends[index]]

    def between(self, start: int, end: int) -> list[str]:
        return [self[index] for index in range(start, end)]


def unified_diff(
    path: str,
    before: str | None,
    after: str | None,
    limit: int = DIFF_CHARACTERS,
    changes: Sequence[Change] | None = None,
) -> str:
    """None: the file does not exist. Empty: there is no difference. If it gets too long, whole hunks are left
    out and counted."""
    if before == after:
        return ""
    old, new = _Lines(before or ""), _Lines(after or "")
    if changes is None:
        changes = [(0, len(old), 0, len(new))]
    found = [finer for change in changes for finer in _narrowed(change, old, new)]
    pieces = [_header("---", "a", path, before), _header("+++", "b", path, after)]
    length, left_out = 0, 0
    for group in _hunks(found):
        hunk = _hunk(group, old, new, limit - length)
        if hunk is None:
            left_out += 1
            continue
        length += len(hunk)
        pieces.append(hunk)
    if left_out:
        pieces.append(f"[{left_out} more {'hunk' if left_out == 1 else 'hunks'} left out]\n")
    return "".join(pieces)


def changed_lines(before: str, after: str, changes: Sequence[Change] | None = None) -> list[Change]:
    """Where two texts differ, within these changes if they are known."""
    old, new = _Lines(before), _Lines(after)
    within = [(0, len(old), 0, len(new))] if changes is None else changes
    return [finer for change in within for finer in _narrowed(change, old, new)]


def _header(mark: str, side: str, path: str, text: str | None) -> str:
    name = "/dev/null" if text is None else f"{side}/{path}"
    # Without the tab a name would end at its first space.
    return f"{mark} {name}\t\n" if " " in name else f"{mark} {name}\n"


def _narrowed(change: Change, old: _Lines, new: _Lines) -> list[Change]:
    """What really differs within it."""
    a1, a2, b1, b2 = change
    a2, b2 = min(a2, len(old)), min(b2, len(new))
    while a1 < a2 and b1 < b2 and old[a1] == new[b1]:
        a1, b1 = a1 + 1, b1 + 1
    while a1 < a2 and b1 < b2 and old[a2 - 1] == new[b2 - 1]:
        a2, b2 = a2 - 1, b2 - 1
    if (a1, b1) == (a2, b2):
        return []
    if max(a2 - a1, b2 - b1) > _COMPARED_LINES:
        return [(a1, a2, b1, b2)]
    matcher = SequenceMatcher(None, old.between(a1, a2), new.between(b1, b2))
    return [
        (a1 + i1, a1 + i2, b1 + j1, b1 + j2)
        for tag, i1, i2, j1, j2 in matcher.get_opcodes()
        if tag != "equal"
    ]


def _hunks(changes: list[Change]) -> Iterator[list[Change]]:
    """Changes whose context touches go together."""
    group: list[Change] = []
    for change in changes:
        if group and change[0] - group[-1][1] > 2 * CONTEXT:
            yield group
            group = []
        group.append(change)
    if group:
        yield group


def _hunk(group: list[Change], old: _Lines, new: _Lines, room: int) -> str | None:
    """None: there is no room for it."""
    first, last = group[0], group[-1]
    lead = min(CONTEXT, first[0])
    trail = min(CONTEXT, len(old) - last[1])
    old_from, old_to = first[0] - lead, last[1] + trail
    new_from, new_to = first[2] - lead, last[3] + trail
    pieces = [f"@@ -{_range(old_from, old_to)} +{_range(new_from, new_to)} @@\n"]
    room -= len(pieces[0])
    for line in _marked(group, old, new, old_from, old_to):
        pieces.append(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n")
        room -= len(pieces[-1])
        if room < 0:
            return None
    return "".join(pieces)


def _range(start: int, end: int) -> str:
    size = end - start
    # For an empty range the line before it is named.
    return f"{start + 1}" if size == 1 else f"{start + 1 if size else start},{size}"


def _marked(group: list[Change], old: _Lines, new: _Lines, start: int, end: int) -> Iterator[str]:
    at = start
    for a1, a2, b1, b2 in group:
        yield from (f" {old[index]}" for index in range(at, a1))
        yield from (f"-{old[index]}" for index in range(a1, a2))
        yield from (f"+{new[index]}" for index in range(b1, b2))
        at = a2
    yield from (f" {old[index]}" for index in range(at, end))
