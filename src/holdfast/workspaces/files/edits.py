"""Edits as text against text: each old passage is found once (or everywhere, if asked), all of them in the
original text, and nothing else changes. What cannot be found for certain is refused with helpful details.
Pure."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Literal

from holdfast.core.shapes import Record
from holdfast.workspaces.files.diffs import Change
from holdfast.workspaces.files.passages import Lines, Match, find_exact, find_loosely
from holdfast.workspaces.files.similar_passages import nearest

MAX_EDITS = 500
# How many places can be replaced at once, and how many are listed if only one was meant.
MAX_PLACES = 10_000
_NAMED_PLACES = 10

Reason = Literal["too_many_edits", "empty", "same", "none", "many", "overlap"]


class PassageEdit(Record, frozen=True, kw_only=True):
    old: str
    new: str
    # Everywhere, not just in one place.
    all: bool = False


class Edited(Record, frozen=True, kw_only=True):
    """`notes` say where an edit did not match literally, `places` how many passages were replaced, `changes`
    which lines that touched."""

    text: str
    places: int
    changes: tuple[Change, ...]
    notes: tuple[str, ...] = ()


class EditRefusal(Record, frozen=True, kw_only=True):
    """`edit` counts from 0."""

    reason: Reason
    edit: int
    text: str


def apply_edits(text: str, edits: Sequence[PassageEdit]) -> Edited | EditRefusal:
    if len(edits) > MAX_EDITS:
        told = f"{len(edits)} edits are more than the {MAX_EDITS} of one call. Split them into several calls."
        return EditRefusal(reason="too_many_edits", edit=MAX_EDITS, text=told)
    lines = Lines(text)
    found: list[tuple[Match, int]] = []
    notes: list[str] = []
    for index, edit in enumerate(edits):
        answer = _find(lines, index, edit, edits)
        if isinstance(answer, EditRefusal):
            return answer
        found += [(match, index) for match in answer]
        notes += [f"edit {index + 1}: {note}" for note in dict.fromkeys(m.note for m in answer if m.note)]
    found.sort(key=lambda each: (each[0].start, each[0].end))
    return _overlap(lines, found) or _replaced(text, found, notes)


def _find(
    lines: Lines, index: int, edit: PassageEdit, edits: Sequence[PassageEdit]
) -> list[Match] | EditRefusal:
    if not edit.old:
        told = "The old text is empty. Name the text to replace; use write_file for a whole file."
        return EditRefusal(reason="empty", edit=index, text=told)
    if edit.old == edit.new:
        return EditRefusal(reason="same", edit=index, text="The old and the new text are the same.")
    limit = MAX_PLACES if edit.all else _NAMED_PLACES
    matches = find_exact(lines, edit.old, edit.new, limit) or find_loosely(lines, edit.old, edit.new, limit)
    if not matches:
        return EditRefusal(reason="none", edit=index, text=_not_found(lines, index, edit, edits))
    if len(matches) > (MAX_PLACES if edit.all else 1):
        return EditRefusal(reason="many", edit=index, text=_found_often(lines, matches, limit))
    return matches


def _not_found(lines: Lines, index: int, edit: PassageEdit, edits: Sequence[PassageEdit]) -> str:
    if any(edit.old in other.new for other in edits[:index]):
        return (
            "The old text is not in the file as it is now; an earlier edit of this call would bring it in. "
            "All edits of a call see the file as it was before: make one edit of the two, or two calls."
        )
    told = ["The old text is not in the file."]
    if places := nearest(lines, edit.old):
        told.append("Nearest to it:")
        told += [f"line {number}:\n{passage}" for number, passage in places]
    told.append("Read the file and copy the text exactly.")
    return "\n".join(told)


def _found_often(lines: Lines, matches: Sequence[Match], limit: int) -> str:
    times = f"more than {limit} times" if len(matches) > limit else f"{len(matches)} times"
    how = f" ({matches[0].note})" if matches[0].note else ""
    where = [_where(lines, match) for match in matches[:_NAMED_PLACES]]
    advice = (
        "Take in more of the lines around it so that it is found once, or set all to replace each "
        f"(up to {MAX_PLACES} places)."
    )
    return "\n".join([f"The old text is found {times}{how}:", *where, advice])


def _where(lines: Lines, match: Match) -> str:
    begin = lines.text.rfind("\n", 0, match.start) + 1
    line = lines.text[begin : begin + 200].partition("\n")[0]
    return f"line {lines.text.count(chr(10), 0, match.start) + 1}: {line.strip()[:120]}"


def _overlap(lines: Lines, found: Sequence[tuple[Match, int]]) -> EditRefusal | None:
    for (before, first), (after, second) in pairwise(found):
        if after.start < before.end:
            both = f"Edits {first + 1} and {second + 1}" if first != second else f"Places of edit {first + 1}"
            told = f"{both} overlap at {_where(lines, after)}. Make one edit of what touches the same text."
            return EditRefusal(reason="overlap", edit=max(first, second), text=told)
    return None


def _replaced(text: str, found: Sequence[tuple[Match, int]], notes: list[str]) -> Edited:
    pieces: list[str] = []
    changes: list[Change] = []
    at = 0
    line = shift = 0
    for match, _ in found:
        pieces += (text[at : match.start], match.new)
        line += text.count("\n", at, match.start)
        inside = text.count("\n", match.start, match.end)
        grown = match.new.count("\n") - inside
        changes.append((line, line + inside + 1, line + shift, line + shift + inside + grown + 1))
        at, line, shift = match.end, line + inside, shift + grown
    pieces.append(text[at:])
    return Edited(
        text="".join(pieces), places=len(found), changes=tuple(_joined(changes)), notes=tuple(notes)
    )


def _joined(changes: Sequence[Change]) -> list[Change]:
    """Changes of the same line are joined."""
    joined: list[Change] = []
    for a1, a2, b1, b2 in changes:
        if joined and a1 < joined[-1][1]:
            joined[-1] = (joined[-1][0], a2, joined[-1][2], b2)
        else:
            joined.append((a1, a2, b1, b2))
    return joined
