"""What an agent made in a worktree of its own comes into the workspace that the worktree was made from: files
only, merged with what is there now, as one act that can be taken back. Branches stay as they are."""

from holdfast.changes.acts import Acts, ChangePlace, PerformedAct
from holdfast.changes.checkpoints import Checkpoints, place_of
from holdfast.changes.entries import MergeConflict, carried
from holdfast.changes.objects import Objects
from holdfast.changes.placing import state_at
from holdfast.changes.reversing import kept
from holdfast.changes.shadow import PathDifference
from holdfast.core.changes import ChangeOperation, FileState, PathConflict, PlacedFile
from holdfast.core.errors import HoldfastError, WrongState
from holdfast.core.ids import UserId
from holdfast.core.shapes import Record
from holdfast.core.workspaces import Workspace
from holdfast.store.interface import Store
from holdfast.workspaces.blocking import blocking, finishing
from holdfast.workspaces.commands.walled_programs import Walled
from holdfast.workspaces.files.file_root import Root, Tree
from holdfast.workspaces.git.repositories import repository_of
from holdfast.workspaces.git.tree_changes import CommittedFile, changed_since
from holdfast.workspaces.places.chat_directory import NO_CHAT, Workspaces


class MergedWorktree(Record, frozen=True, kw_only=True):
    """`checkpoint_id` takes it back, in the chat that the worktree was made for."""

    paths: tuple[str, ...]
    conflicts: tuple[PathConflict, ...]
    checkpoint_id: str


class WorktreeMerge:
    def __init__(
        self, store: Store, acts: Acts, workspaces: Workspaces, checkpoints: Checkpoints, walled: Walled
    ) -> None:
        self._store = store
        self._acts = acts
        self._workspaces = workspaces
        self._checkpoints = checkpoints
        self._walled = walled

    async def merge(self, worktree: Workspace, target: Workspace, by: UserId) -> MergedWorktree:
        made = worktree.worktree
        assert made is not None
        if await self._store.view(made.chat_id) is None:
            raise WrongState(
                "The chat of this worktree was deleted. Commit in it, and merge its branch "
                f"({made.branch}) with git."
            )
        theirs = self._workspaces.root(worktree)
        repository = await blocking(lambda: repository_of(worktree, self._workspaces.roots))
        changed = await changed_since(self._walled, theirs, repository, made.base)
        where = ChangePlace(chat_id=NO_CHAT, owner_id=target.owner_id, workspace_id=target.id)
        root, guard = await self._workspaces.root_of(where), await self._workspaces.guard_of(where)
        async with self._checkpoints.alone(place_of(where)) as shadow:
            files, conflicts = await finishing(lambda: _decided(changed, theirs, root, shadow.objects))
            checkpoint = self._checkpoints.checkpoint(made.chat_id, place_of(where), "apply", 0)
            rows = await finishing(
                lambda: tuple(
                    self._checkpoints.row(
                        checkpoint,
                        PathDifference(path=each.path, before=each.before, after=each.after),
                        shadow,
                    )
                    for each in files
                )
            )
            operation = ChangeOperation(
                id=self._checkpoints.new_id(),
                chat_id=made.chat_id,
                owner_id=target.owner_id,
                place=checkpoint.place,
                kind="apply",
                files=files,
                checkpoint=checkpoint,
                rows=rows,
                decided_by=by,
                decided_at=checkpoint.created_at,
                notice="The user merged these files of your worktree into the workspace",
                notice_to=made.chat_id,
            )
            done: PerformedAct = await self._acts.perform(operation, root, guard, shadow)
        return MergedWorktree(
            paths=tuple(
                each.path
                for each in done.operation.files
                if each.after is None or each.after.kind != "directory"
            ),
            conflicts=(*conflicts, *done.unwritten),
            checkpoint_id=checkpoint.id,
        )


def _decided(
    changed: tuple[CommittedFile, ...], theirs: Root, ours: Root, objects: Objects
) -> tuple[tuple[PlacedFile, ...], tuple[PathConflict, ...]]:
    files: list[PlacedFile] = []
    conflicts: list[PathConflict] = []
    with theirs.open() as worktree, ours.open() as workspace:
        for each in changed:
            try:
                after = state_at(worktree, each.path, objects)
                now = state_at(workspace, each.path, objects)
            except HoldfastError as error:
                conflicts.append(PathConflict(path=each.path, reason=error.text))
                continue
            wanted = carried(now, _committed(each, now, after, objects), after, objects.get)
            if isinstance(wanted, MergeConflict):
                conflicts.append(PathConflict(path=each.path, reason=wanted.reason))
            elif wanted is not None:
                files.append(PlacedFile(path=each.path, before=now, after=kept(wanted, objects)))
        files += _directories(files, worktree, workspace, objects)
    return tuple(files), tuple(conflicts)


def _directories(
    files: list[PlacedFile], worktree: Tree, workspace: Tree, objects: Objects
) -> list[PlacedFile]:
    """Those that have to be made on the way, so that taking it back removes them too."""
    wanted = {
        "/".join(parts[:depth])
        for each in files
        if each.after is not None and (parts := each.path.split("/"))
        for depth in range(1, len(parts))
    }
    return [
        PlacedFile(path=path, before=None, after=state_at(worktree, path, objects))
        for path in sorted(wanted)
        if state_at(workspace, path, objects) is None
    ]


def _committed(
    each: CommittedFile, now: FileState | None, after: FileState | None, objects: Objects
) -> FileState | None:
    """What the commit has there. Of modes it knows only whether a file may be executed: the other bits are
    those of the workspace."""
    if each.data is None:
        return None
    blob = objects.put(each.data)
    if each.is_link:
        return FileState(kind="link", mode=0, blob=blob)
    for state in (now, after):
        if state is not None and state.kind == "file" and bool(state.mode & 0o100) == each.is_executable:
            return FileState(kind="file", mode=state.mode, blob=blob)
    return FileState(kind="file", mode=0o755 if each.is_executable else 0o644, blob=blob)
