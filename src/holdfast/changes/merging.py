"""A three-way merge by lines. First by position (changes that do not touch), then by content, as
`edit_files` finds its passages. If it is not certain, there is no merge. Pure."""

from itertools import pairwise

from holdfast.workspaces.files.diffs import Change, changed_lines
from holdfast.workspaces.files.edits import Edited, PassageEdit, apply_edits

# Context lines by which the position of a change is found again.
_AROUND = 3


def merge_texts(base: str, ours: str, theirs: str) -> str | None:
    """The merged text; None if both sides changed the same lines."""
    if theirs in (ours, base):
        return ours
    if base == ours:
        return theirs
    placed = _by_place(base, ours, theirs)
    return placed if placed is not None else _by_content(base, ours, theirs)


def lines_of(text: str) -> list[str]:
    """The lines, each with its line end."""
    return text.splitlines(keepends=True) if "\r" not in text and "\x0b" not in text else _split(text)


def _split(text: str) -> list[str]:
    pieces = text.split("\n")
    lines = [f"{piece}\n" for piece in pieces[:-1]]
    return [*lines, pieces[-1]] if pieces[-1] else lines


def _by_place(base: str, ours: str, theirs: str) -> str | None:
    old, ours_lines, theirs_lines = _split(base), _split(ours), _split(theirs)
    our_changes, their_changes = changed_lines(base, ours), changed_lines(base, theirs)
    merged: list[str] = []
    at = 0
    queue = sorted(
        [(change, "ours") for change in our_changes] + [(change, "theirs") for change in their_changes],
        key=lambda each: (each[0][0], each[0][1]),
    )
    done: list[tuple[Change, str, list[str]]] = []
    for change, side in queue:
        start, end, first, last = change
        new = (ours_lines if side == "ours" else theirs_lines)[first:last]
        if done and done[-1][1] != side and _touch(done[-1][0], change):
            before, _, made = done[-1]
            if before[:2] == change[:2] and made == new:
                continue  # both made the same change
            return None
        if start < at:
            return None
        merged += [*old[at:start], *new]
        at = end
        done.append((change, side, new))
    return "".join([*merged, *old[at:]])


def _touch(one: Change, other: Change) -> bool:
    """Whether two changes overlap or are adjacent, where their order would be a guess."""
    return other[0] <= one[1]


def _by_content(base: str, ours: str, theirs: str) -> str | None:
    """Applies their changes as passages to replace in our text. Each passage must occur exactly once."""
    old, new = _split(base), _split(theirs)
    changes = changed_lines(base, theirs)
    edits: list[PassageEdit] = []
    for number, (start, end, first, last) in enumerate(changes):
        above = max(start - _AROUND, changes[number - 1][1] if number else 0)
        below = min(end + _AROUND, changes[number + 1][0] if number + 1 < len(changes) else len(old))
        lead, trail = old[above:start], old[end:below]
        passage = "".join([*lead, *old[start:end], *trail])
        if not "".join(old[start:end]).strip() or not passage.strip():
            # An addition alone has no text of its own that fixes its position.
            return None
        edits.append(PassageEdit(old=passage, new="".join([*lead, *new[first:last], *trail])))
    if not edits:
        return ours
    done = apply_edits(ours, edits)
    return done.text if isinstance(done, Edited) and not done.notes else None


def only_hunks(before: str, after: str, chosen: frozenset[int]) -> str:
    """The text with these hunks of the change alone, counted from 0 as the diff shows them."""
    old, new = _split(before), _split(after)
    made: list[str] = []
    at = 0
    for number, group in enumerate(hunks_of(before, after)):
        for start, end, first, last in group:
            made += old[at:start]
            made += new[first:last] if number in chosen else old[start:end]
            at = end
    return "".join([*made, *old[at:]])


def hunks_of(before: str, after: str) -> list[list[Change]]:
    """As `unified_diff` groups them."""
    changes = changed_lines(before, after)
    if not changes:
        return []
    groups = [[changes[0]]]
    for last, change in pairwise(changes):
        if change[0] - last[1] > 6:
            groups.append([])
        groups[-1].append(change)
    return groups
