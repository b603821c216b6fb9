"""Acts on files: undo, rewind, apply, reject. An act is in the database before its first file is written,
and whoever finds it half done brings it to its end. What could not be written is named, and the changes it is
about stay as they were."""

from collections.abc import Mapping, Sequence
from contextlib import suppress

import structlog
from msgspec.structs import replace

from holdfast.changes.checkpoints import DRAFT, Checkpoints, is_draft
from holdfast.changes.drafts import Drafts
from holdfast.changes.entries import WantedState
from holdfast.changes.placing import put_all, state_at
from holdfast.changes.shadow import Shadow
from holdfast.chats.change import Refusal
from holdfast.chats.commands import Notify, Rewind
from holdfast.core.changes import ChangeOperation, ChangeState, PathConflict, SettledChange
from holdfast.core.errors import HoldfastError, WrongState
from holdfast.core.ids import ChatId, UserId, WorkspaceId
from holdfast.core.shapes import Record
from holdfast.store import changes, messages
from holdfast.store.interface import Applied, Store
from holdfast.workspaces.blocking import finishing
from holdfast.workspaces.files.file_root import Root
from holdfast.workspaces.files.git_guard import Guard
from holdfast.workspaces.places.chat_directory import NO_CHAT, Workspaces

log = structlog.get_logger(__name__)

# An act that was begun and not ended for so long was left by a server that died.
LEFT_OVER_MICROS = 30 * 1_000_000
_NAMED = 20
JUST_NOW = "it was changed at this very moment"


class ChangePlace(Record, frozen=True, kw_only=True):
    """Where a chat works."""

    chat_id: ChatId
    owner_id: UserId
    workspace_id: WorkspaceId | None


class PerformedAct(Record, frozen=True, kw_only=True):
    operation: ChangeOperation
    # What could not be written, and why.
    unwritten: tuple[PathConflict, ...]


class Acts:
    def __init__(
        self, store: Store, workspaces: Workspaces, checkpoints: Checkpoints, drafts: Drafts
    ) -> None:
        self._store = store
        self._workspaces = workspaces
        self._checkpoints = checkpoints
        self._drafts = drafts

    async def perform(
        self, operation: ChangeOperation, root: Root, guard: Guard, shadow: Shadow
    ) -> PerformedAct:
        """WrongState: the conversation cannot be rewound now, and nothing was done."""
        await self._store.write(changes.begin(operation))
        if operation.rewinds is not None:
            match await self._store.transition(operation.chat_id, Rewind(message_id=operation.rewinds)):
                case Refusal(text=text):
                    await self._store.write(changes.drop(operation.id))
                    raise WrongState(text)
                case Applied(change=change):
                    version = None if change.after is None else change.after.chat.history_version
                    operation = _rewound(operation, version)
                case _:
                    pass
        return await self._write(root, guard, operation, shadow)

    async def _write(
        self, root: Root, guard: Guard, operation: ChangeOperation, shadow: Shadow
    ) -> PerformedAct:
        """Writes each file that is still as it was when the act was decided. A file that somebody has changed
        since is left alone."""
        objects = shadow.objects

        def write() -> dict[str, str]:
            failed: dict[str, str] = {}
            with root.open() as tree, tree.locked():
                wanted: dict[str, WantedState] = {}
                for each in operation.files:
                    try:
                        now = state_at(tree, each.path, objects)
                    except HoldfastError as error:
                        failed[each.path] = error.text
                        continue
                    if now == each.after:
                        continue
                    if now == each.before:
                        wanted[each.path] = WantedState(state=each.after)
                    else:
                        failed[each.path] = JUST_NOW
                failed |= put_all(tree, wanted, objects.get, guard)
            with suppress(HoldfastError):  # there is too much to look at
                shadow.look(root)
            return failed

        failed = await finishing(write)
        for path, reason in failed.items():
            log.warning("change not written", path=path, reason=reason)
        done = without(operation, failed)
        await self._tell(done)
        await self._store.write(self._checkpoints.told(changes.end(done), done.chat_id))
        # What was written here is nobody's change when the next call looks.
        await finishing(shadow.keep)
        return PerformedAct(
            operation=done,
            unwritten=tuple(PathConflict(path=path, reason=why) for path, why in sorted(failed.items())),
        )

    async def _tell(self, operation: ChangeOperation) -> None:
        """The agent hears of it with its next turn; once, however often the act is begun again."""
        paths = [each.path for each in operation.files]
        if operation.notice is None or operation.notice_to is None or not paths:
            return
        more = f" and {len(paths) - _NAMED} more" if len(paths) > _NAMED else ""
        named = f"{', '.join(paths[:_NAMED])}{more}"
        text = f"{operation.notice}: {named}. Read them again before you rely on what they held."
        notice = Notify(source="changes", key=f"changes:{operation.id}", text=text, wake=False)
        await self._store.transition(operation.notice_to, notice)

    # --- what a dead server left ---

    async def finish_left_over(self, after_micros: int = LEFT_OVER_MICROS) -> int:
        """Acts that a server began and did not end; how many were brought to their end."""
        count = 0
        for operation in await self._store.read(changes.left_over(after_micros)):
            try:
                count += await self._finish(operation)
            except HoldfastError as error:
                log.warning("act on changes not ended", chat_id=operation.chat_id, reason=error.text)
        return count

    async def _finish(self, operation: ChangeOperation) -> bool:
        root, guard = await self._place_again(operation)
        async with self._checkpoints.alone(operation.place) as shadow:
            if not await self._store.read(changes.is_under_way(operation.id)):
                return False  # whoever began it was only slow
            found = await self._conversation(operation)
            if found is None:
                await self._store.write(changes.drop(operation.id))
                return False
            await self._write(root, guard, found, shadow)
        return True

    async def _conversation(self, operation: ChangeOperation) -> ChangeOperation | None:
        """Rewinds the conversation, if that is part of the act. None: the conversation has gone on, so the
        act is dropped before any file is written."""
        if operation.rewinds is None:
            return operation
        message = await self._store.read(messages.message(operation.chat_id, operation.rewinds))
        if message is None:
            return None
        if message.removed:
            return _rewound(operation, message.revision)
        match await self._store.transition(operation.chat_id, Rewind(message_id=operation.rewinds)):
            case Applied(change=change) if change.after is not None:
                return _rewound(operation, change.after.chat.history_version)
            case _:
                return None

    async def _place_again(self, operation: ChangeOperation) -> tuple[Root, Guard]:
        place = operation.place
        if is_draft(place):
            root = self._drafts.place(ChatId(place.removeprefix(DRAFT)))
            return root, Guard(root.path)
        where = place_again(place, operation.chat_id, operation.owner_id)
        return await self._workspaces.root_of(where), await self._workspaces.guard_of(where)


def place_again(place: str, chat_id: ChatId, owner_id: UserId) -> ChangePlace:
    """The directory of this name, which is no draft."""
    scratch = place.startswith("scratch-")
    return ChangePlace(
        chat_id=chat_id if scratch else NO_CHAT,
        owner_id=owner_id,
        workspace_id=None if scratch else WorkspaceId(place),
    )


def _rewound(operation: ChangeOperation, version: int | None) -> ChangeOperation:
    return replace(operation, checkpoint=replace(operation.checkpoint, rewound_at=version))


def without(operation: ChangeOperation, paths: Mapping[str, str] | Sequence[str]) -> ChangeOperation:
    """The act without these files. Changes that were to be applied to them become conflicts."""
    if not paths:
        return operation
    settled = [one for one in operation.settled if one.path not in paths]
    if operation.kind == "apply":
        conflict: ChangeState = "conflict"
        settled += [
            SettledChange(id=row.id, state=conflict, path=row.path)
            for row in operation.rows
            if row.path in paths
        ]
    return replace(
        operation,
        files=tuple(each for each in operation.files if each.path not in paths),
        rows=tuple(row for row in operation.rows if row.path not in paths),
        settled=tuple(settled),
    )
