"""Review: pending changes of a draft are applied to the workspace, or undone in the draft, by file or hunk.
Applying merges with the current files of the workspace and is written like every other operation:
recorded first, completely or not at all."""

from collections.abc import Sequence

from msgspec.structs import replace

from holdfast.changes.checkpoints import Checkpoints
from holdfast.changes.entries import Contents, MergeConflict, carried
from holdfast.changes.listing import difference, hash_of
from holdfast.changes.objects import Objects
from holdfast.changes.reversing import kept, part_of
from holdfast.core.changes import ChangeState, Checkpoint, FileChange, FileState, PathConflict, PlacedFile
from holdfast.core.errors import InvalidInput, NotFound, WrongState
from holdfast.core.ids import UserId
from holdfast.core.shapes import Record
from holdfast.workspaces.files.diffs import DIFF_CHARACTERS

WAITING: tuple[ChangeState, ...] = ("pending", "conflict")


class PickedChange(Record, frozen=True, kw_only=True):
    """A pending change, or some of its hunks."""

    row: FileChange
    hunks: frozenset[int] | None = None


class DecidedReview(Record, frozen=True, kw_only=True):
    """What to write, and the rows as they are afterwards."""

    files: tuple[PlacedFile, ...]
    rows: tuple[FileChange, ...]
    conflicts: tuple[PathConflict, ...]


def picked(
    rows: Sequence[FileChange],
    *,
    everything: bool,
    paths: Sequence[str],
    changes: Sequence[tuple[str, tuple[int, ...] | None, str | None]],
    turn: int | None,
    contents: Contents,
) -> list[PickedChange]:
    """The selected changes, with the directories that they need. Raises WrongState if a change looks
    different by now."""
    waiting = [row for row in rows if row.state in WAITING]
    if everything:
        return [PickedChange(row=row) for row in waiting]
    if turn is not None:
        return [PickedChange(row=row) for row in waiting if row.turn == turn]
    by_id = {row.id: row for row in waiting}
    found: list[PickedChange] = [PickedChange(row=row) for row in waiting if row.path in paths]
    for row_id, hunks, diff_hash in changes:
        row = by_id.get(row_id)
        if row is None:
            raise NotFound("There is no such change, or it was decided already.")
        shown = difference(row.path, row.before, row.after, contents)
        if diff_hash is not None and hash_of(shown.diff) != diff_hash:
            raise WrongState(f"{row.path} looks different by now. Look at the change again, then decide.")
        found.append(PickedChange(row=row, hunks=None if hunks is None else frozenset(hunks)))
    return [*_directories(found, waiting), *found]


def _directories(found: Sequence[PickedChange], waiting: Sequence[FileChange]) -> list[PickedChange]:
    """The new directories above the selected changes."""
    chosen = [each.row.path for each in found]
    known = {each.row.id for each in found}
    return [
        PickedChange(row=row)
        for row in waiting
        if row.id not in known
        and row.after is not None
        and row.after.kind == "directory"
        and any(path.startswith(f"{row.path}/") for path in chosen)
    ]


class ReviewDecision:
    """Blocking. `draft` and `workspace` are the contents kept for each; `by` is who decides."""

    def __init__(
        self,
        checkpoints: Checkpoints,
        checkpoint: Checkpoint,
        draft: Objects,
        workspace: Objects,
        by: UserId | None,
    ) -> None:
        self._checkpoints = checkpoints
        self._checkpoint = checkpoint
        self._draft = draft
        self._workspace = workspace
        self._by = by
        self._files: list[PlacedFile] = []
        self._rows: list[FileChange] = []
        self._conflicts: list[PathConflict] = []

    def contents(self, name: str) -> bytes | None:
        found = self._draft.get(name)
        return self._workspace.get(name) if found is None else found

    def leave(self, each: PickedChange, reason: str) -> None:
        """What stands there is nothing that could be written over."""
        self._conflicts.append(PathConflict(path=each.row.path, reason=reason))
        self._rows.append(replace(each.row, state="conflict"))

    def apply(self, each: PickedChange, now: FileState | None) -> None:
        """Applies to the current files of the workspace."""
        row = each.row
        wanted_state = self._part(each)
        wanted = carried(now, row.before, wanted_state, self.contents)
        if isinstance(wanted, MergeConflict):
            if not _is_directory(row):
                self._conflicts.append(PathConflict(path=row.path, reason=wanted.reason))
                self._rows.append(replace(row, state="conflict"))
            return
        after = now if wanted is None else self._brought_over(kept(wanted, self._workspace))
        if now is not None:
            self._brought_over(now)
        if wanted is not None:
            self._files.append(PlacedFile(path=row.path, before=now, after=after))
        # From now on the row describes the change to the workspace, so that it can be undone there.
        done = replace(
            row,
            place=self._checkpoint.place,
            checkpoint_id=self._checkpoint.id,
            before=now,
            after=after,
            state="applied",
        )
        if each.hunks is None:
            self._rows.append(self._settled(done))
            return
        self._rows.append(self._settled(replace(done, id=self._checkpoints.new_id())))
        self._rows.append(self._shown(replace(row, before=wanted_state)))

    def reject(self, each: PickedChange, now: FileState | None) -> None:
        """Undoes in the current files of the draft."""
        row = each.row
        rest = None
        if each.hunks is not None:
            others = frozenset(range(10_000)) - each.hunks
            rest = self._part(PickedChange(row=row, hunks=others))
        target = row.before if each.hunks is None else rest
        wanted = carried(now, row.after, target, self.contents)
        if isinstance(wanted, MergeConflict):
            self._conflicts.append(PathConflict(path=row.path, reason=wanted.reason))
            return
        if wanted is not None:
            self._files.append(PlacedFile(path=row.path, before=now, after=kept(wanted, self._draft)))
        if each.hunks is None:
            self._rows.append(self._settled(replace(row, state="rejected")))
            return
        taken = replace(row, id=self._checkpoints.new_id(), before=rest, state="rejected")
        self._rows.append(self._settled(taken))
        self._rows.append(self._shown(replace(row, after=rest)))

    def decided(self) -> DecidedReview:
        return DecidedReview(
            files=tuple(self._files), rows=tuple(self._rows), conflicts=tuple(self._conflicts)
        )

    def _part(self, each: PickedChange) -> FileState | None:
        row = each.row
        if each.hunks is None:
            return row.after
        part = part_of(row.before, row.after, each.hunks, self._draft)
        if part is None:
            raise InvalidInput(f"{row.path} has no hunks that could be chosen.", field="changes")
        return part

    def _brought_over(self, state: FileState | None) -> FileState | None:
        """Keeps the content for the workspace too."""
        if state is not None and state.blob and (data := self.contents(state.blob)) is not None:
            self._workspace.put(data)
        return state

    def _settled(self, row: FileChange) -> FileChange:
        return self._shown(replace(row, decided_by=self._by, decided_at=self._checkpoint.created_at))

    def _shown(self, row: FileChange) -> FileChange:
        shown = difference(row.path, row.before, row.after, self.contents)
        return replace(
            row,
            additions=shown.additions,
            deletions=shown.deletions,
            diff=shown.diff[:DIFF_CHARACTERS],
        )


def _is_directory(row: FileChange) -> bool:
    return all(state is None or state.kind == "directory" for state in (row.before, row.after))
