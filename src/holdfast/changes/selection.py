"""Which changes a person means: all, some paths, a turn, or single ones with some of their hunks, as they
were shown. Blocking, because contents are read."""

from collections.abc import Sequence

from msgspec.structs import replace

from holdfast.changes.listing import chains, difference, hash_of
from holdfast.changes.objects import Objects
from holdfast.changes.reversing import part_of
from holdfast.core.changes import FileChange, FileState
from holdfast.core.errors import InvalidInput, NotFound, WrongState
from holdfast.core.shapes import Record


class ChosenChange(Record, frozen=True, kw_only=True):
    """One change that a person names, as it was shown: all of it, or some of its hunks."""

    id: str
    hunks: tuple[int, ...] | None = None
    diff_hash: str | None = None


class ChangeSelection(Record, frozen=True, kw_only=True):
    everything: bool = False
    paths: tuple[str, ...] = ()
    changes: tuple[ChosenChange, ...] = ()
    turn: int | None = None
    checkpoint: str | None = None


class SplitChange(Record, frozen=True, kw_only=True):
    """A change of which only some hunks are meant: up to `between` it stays, from there on it is meant."""

    row: FileChange
    between: FileState | None


class SelectedChanges(Record, frozen=True, kw_only=True):
    rows: tuple[FileChange, ...]
    splits: tuple[SplitChange, ...] = ()


def selected(rows: Sequence[FileChange], selection: ChangeSelection, objects: Objects) -> SelectedChanges:
    """Of the changes that agents made."""
    made = [row for row in rows if row.step]
    if selection.everything:
        return SelectedChanges(rows=tuple(made))
    if selection.turn is not None:
        return SelectedChanges(rows=tuple(row for row in made if row.turn == selection.turn))
    if selection.paths:
        return SelectedChanges(rows=tuple(row for row in made if row.path in selection.paths))
    found: list[FileChange] = []
    splits: list[SplitChange] = []
    for chosen in selection.changes:
        upto = _shown_rows(made, chosen, objects)
        if chosen.hunks is None:
            found += upto
            continue
        split = _split(upto, frozenset(chosen.hunks), objects)
        splits.append(split)
        found.append(replace(split.row, before=split.between))
    return SelectedChanges(rows=tuple(found), splits=tuple(splits))


def _shown_rows(rows: Sequence[FileChange], chosen: ChosenChange, objects: Objects) -> list[FileChange]:
    """The rows of the change that was shown under this id: the newest ones of its path whose difference has
    this hash. Raises WrongState if the change looks different by now."""
    last = next((row for row in rows if row.id == chosen.id), None)
    if last is None:
        raise NotFound("There is no such change, or it was decided already.")
    chain = next(
        chain
        for chain in chains(rows)
        if chain.path == last.path and last.id in {row.id for row in chain.rows}
    )
    upto = list(chain.rows[: [row.id for row in chain.rows].index(last.id) + 1])
    if chosen.diff_hash is None:
        return upto
    for start in range(len(upto)):
        shown = difference(last.path, upto[start].before, last.after, objects.get)
        if hash_of(shown.diff) == chosen.diff_hash:
            return upto[start:]
    raise WrongState(f"{last.path} looks different by now. Look at the change again, then decide.")


def _split(rows: Sequence[FileChange], hunks: frozenset[int], objects: Objects) -> SplitChange:
    """`rows` follow each other. What stays comes first, the chosen hunks after it."""
    last = rows[-1]
    rest = frozenset(range(10_000)) - hunks
    between = part_of(rows[0].before, last.after, rest, objects)
    if between is None:
        raise InvalidInput(f"{last.path} has no hunks that could be chosen.", field="changes")
    return SplitChange(row=last, between=between)
