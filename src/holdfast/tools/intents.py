"""Edits of several files that are made completely or not at all, even if the server is killed: what an edit
is about to do is in the database before the first file is changed. The next run of the call completes it; if
there is none (the chat was interrupted or deleted), `finish_left_over` does."""

from collections.abc import Sequence

import structlog

from holdfast.chats.commands import Notify
from holdfast.core.edit_intents import EditIntent, IntendedEdit
from holdfast.core.errors import CallOver, HoldfastError, TryAgain, WrongState
from holdfast.store import edit_intents
from holdfast.store.interface import Store
from holdfast.tools.contract import ToolContext
from holdfast.workspaces.blocking import finishing
from holdfast.workspaces.files.chat_files import ChatFiles, FileOutcome, Planned
from holdfast.workspaces.files.edits import PassageEdit
from holdfast.workspaces.files.read_state import SeenFiles
from holdfast.workspaces.places.chat_directory import Workspaces

log = structlog.get_logger(__name__)

# Another call may edit the same files between planning and writing.
_ATTEMPTS = 5
# Files that cannot be reached from here may be reached by another replica, for this long.
GIVEN_UP_MICROS = 7 * 24 * 3600 * 1_000_000


class EditIntents:
    def __init__(self, store: Store) -> None:
        self._store = store

    async def edit(
        self, context: ToolContext, files: ChatFiles, edits: Sequence[tuple[str, PassageEdit]]
    ) -> FileOutcome:
        before = await self._store.read(edit_intents.of_call(context.chat_id, context.call_id))
        if before is not None:
            return await self._resume(context, files, before)
        for attempt in range(1, _ATTEMPTS + 1):
            planned = await finishing(lambda: files.plan(edits))
            begin = edit_intents.begin(_intent(context, planned, edits))
            await self._store.write(begin, on_behalf=context.fence)
            try:
                done = await finishing(lambda planned=planned: files.make(planned))
            except CallOver:
                # The current run of the call has its own intent, or finds this one.
                raise
            except WrongState:
                if attempt == _ATTEMPTS:
                    await self._drop(context)
                    raise
            except BaseException:
                # Nothing was changed, or all changes were undone.
                await self._drop(context)
                raise
            else:
                await self._made(context)
                return done
        raise WrongState("Others keep changing these files. Nothing was written.")

    async def _resume(self, context: ToolContext, files: ChatFiles, before: EditIntent) -> FileOutcome:
        if before.state == "made":
            # Only the report of it is missing.
            names = ", ".join("/".join(each.parts) for each in before.files)
            return FileOutcome(text=f"Edited {names}. The server stopped after that; nothing was done twice.")
        try:
            done = await finishing(lambda: files.resume(before))
        except CallOver:
            raise
        except HoldfastError as error:
            text = f"The server stopped while this was running, and it could not be completed: {error.text}"
            return FileOutcome(text=f"{text} Look at the files before you continue.", outcome="uncertain")
        await self._made(context)
        return done

    async def _made(self, context: ToolContext) -> None:
        try:
            await self._store.write(
                edit_intents.made(context.chat_id, context.call_id), on_behalf=context.fence
            )
        except (TryAgain, WrongState) as error:
            # The files show it too.
            log.warning("edit not marked as made", chat_id=context.chat_id, reason=error.text)

    async def _drop(self, context: ToolContext) -> None:
        drop = edit_intents.drop(context.chat_id, context.call_id)
        try:
            await self._store.write(drop, on_behalf=context.fence)
        except (TryAgain, WrongState) as error:
            # Upkeep finds it, and sees that no file was changed.
            log.warning("edit intent not dropped", chat_id=context.chat_id, reason=error.text)


async def finish_left_over(
    store: Store, workspaces: Workspaces, after_micros: int = edit_intents.LEFT_OVER_MICROS
) -> int:
    """Edits that nobody will run again: those that were begun are completed, the others are dropped. Returns
    how many were settled."""
    old = {(one.chat_id, one.call_id) for one in await store.read(edit_intents.left_over(GIVEN_UP_MICROS))}
    settled = 0
    for intent in await store.read(edit_intents.left_over(after_micros)):
        if intent.state == "begun":
            try:
                root, guard = await workspaces.root_of(intent), await workspaces.guard_of(intent)
                files = ChatFiles(root, SeenFiles(), intent.chat_id, repeated=True, guard=guard)
                done = await finishing(lambda files=files, intent=intent: files.resume(intent, begin=False))
            except HoldfastError as error:
                if (intent.chat_id, intent.call_id) not in old:
                    log.warning("edit not brought to an end", chat_id=intent.chat_id, reason=error.text)
                    continue
            else:
                if done.outcome == "uncertain":
                    await store.transition(intent.chat_id, _notice(intent, done))
        await store.write(edit_intents.drop(intent.chat_id, intent.call_id))
        settled += 1
    return settled


def _notice(intent: EditIntent, done: FileOutcome) -> Notify:
    return Notify(
        source="edit_files",
        key=f"edit:{intent.call_id}",
        text=f"An earlier edit_files was interrupted. {done.text}",
        wake=False,
    )


def _intent(context: ToolContext, planned: Planned, edits: Sequence[tuple[str, PassageEdit]]) -> EditIntent:
    return EditIntent(
        chat_id=context.chat_id,
        call_id=context.call_id,
        owner_id=context.owner_id,
        workspace_id=context.workspace_id,
        files=planned.files,
        edits=tuple(
            IntendedEdit(path=path, old=edit.old, new=edit.new, all=edit.all) for path, edit in edits
        ),
    )
