"""Which changes a person means: all, some files, or one change as it was shown, with some of its hunks."""

from collections.abc import Sequence

from msgspec.structs import replace

from holdfast.changes.listing import chains, difference, hash_of
from holdfast.changes.reversing import part_of
from holdfast.changes.shadow import Shadow
from holdfast.core.changes import FileChange
from holdfast.core.errors import InvalidInput, NotFound, WrongState
from holdfast.core.shapes import Record


class ChosenChange(Record, frozen=True, kw_only=True):
    """One change that somebody names: all of it, or some of its hunks, as it was shown."""

    id: str
    hunks: tuple[int, ...] | None = None
    diff_hash: str | None = None


class ChangeSelection(Record, frozen=True, kw_only=True):
    everything: bool = False
    paths: tuple[str, ...] = ()
    changes: tuple[ChosenChange, ...] = ()
    turn: int | None = None
    checkpoint: str | None = None


def chosen_rows(rows: Sequence[FileChange], chosen: ChosenChange, shadow: Shadow) -> list[FileChange]:
    """The change that was shown under this id: the newest rows of its path whose difference has this hash.
    WrongState: it looks different by now."""
    last = next((row for row in rows if row.id == chosen.id), None)
    if last is None:
        raise NotFound("There is no such change, or it was decided already.")
    chain = next(
        chain
        for chain in chains(rows)
        if chain.path == last.path and last.id in {row.id for row in chain.rows}
    )
    upto = list(chain.rows[: [row.id for row in chain.rows].index(last.id) + 1])
    if chosen.diff_hash is not None:
        contents = shadow.objects.get
        for start in range(len(upto)):
            shown = difference(last.path, upto[start].before, last.after, contents)
            if hash_of(shown.diff) == chosen.diff_hash:
                upto = upto[start:]
                break
        else:
            raise WrongState(f"{last.path} looks different by now. Look at the change again, then decide.")
    if chosen.hunks is None:
        return upto
    before, after = upto[0].before, last.after
    rest = frozenset(range(10_000)) - frozenset(chosen.hunks)
    without = part_of(before, after, rest, shadow.objects)
    if without is None:
        raise InvalidInput(f"{last.path} has no hunks that could be chosen.", field="changes")
    # One row that is only the chosen hunks: from the file without them to the file with them.
    return [replace(last, before=without)]
