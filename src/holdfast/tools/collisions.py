"""Tells chats that work in the same files about each other. An edit is stored with its place. Chats that
edited the same place at about the same time are told, and so are chats that are working with a text that has
changed. Nothing is blocked by it, and no edit is lost."""

import asyncio
from collections.abc import Iterable

import structlog

from holdfast.chats.commands import Notify
from holdfast.core.clock import Clock
from holdfast.core.collisions import FileEdit, Severity, severity
from holdfast.core.errors import HoldfastError
from holdfast.core.ids import ChatId, EditId, Ids
from holdfast.store import chats, collisions
from holdfast.store.interface import Store
from holdfast.tools.contract import ToolContext
from holdfast.workspaces.files.chat_files import Touched
from holdfast.workspaces.files.file_root import Root
from holdfast.workspaces.files.paths import join, shown
from holdfast.workspaces.files.read_state import SeenFiles
from holdfast.workspaces.places.chat_directory import Workspaces

log = structlog.get_logger(__name__)

SOURCE = "collision"
_BUSY = ("running", "interrupting", "requires_action")
_HOW: dict[Severity, str] = {
    "same_lines": "the same lines",
    "near_lines": "lines next to yours",
    "same_file": "other lines of it",
}


class Colliding:
    def __init__(self, store: Store, workspaces: Workspaces, seen: SeenFiles, clock: Clock, ids: Ids) -> None:
        self._store = store
        self._workspaces = workspaces
        self._seen = seen
        self._clock = clock
        self._ids = ids

    async def note(self, context: ToolContext, root: Root, touched: Iterable[Touched]) -> tuple[str, ...]:
        """What the editing chat is to be told."""
        told: list[str] = []
        try:
            origin = await self._workspaces.origin_of(context)
            if origin is not None:
                for one in touched:
                    told += await self._note(context, root, origin, one)
        except HoldfastError as error:
            log.warning("edit not noted", chat_id=context.chat_id, reason=error.text)
        except asyncio.CancelledError:
            # The write was made, and that is what the call must report.
            log.info("edit not noted", chat_id=context.chat_id, reason="cancelled")
        return tuple(told)

    async def _note(self, context: ToolContext, root: Root, origin: str, touched: Touched) -> list[str]:
        path = shown(join(touched.parts))
        now = self._clock.now()
        mine = FileEdit(
            id=EditId(self._ids.uuid7(now)),
            owner_id=context.owner_id,
            chat_id=context.chat_id,
            place=join((origin, *touched.parts)),
            path=path,
            edited_at=now,
            lines=touched.lines,
        )
        others: dict[ChatId, tuple[FileEdit, Severity]] = {}
        for other in await self._store.write(collisions.add(mine)):
            others.setdefault(other.chat_id, (other, severity(mine.lines, other.lines)))
        for other, found in others.values():
            await self._store.write(collisions.collide(mine, other, found))
            await self._tell(other.chat_id, f"{other.id}:{found}", _changed(mine, other, found))
        await self._tell_readers(context, root, touched, mine, others)
        return [
            f"Chat {other.chat_id} also changed {path}, {_HOW[found]}, at {other.edited_at:%H:%M} UTC."
            for other, found in others.values()
        ]

    async def _tell_readers(
        self, context: ToolContext, root: Root, touched: Touched, mine: FileEdit, told: Iterable[ChatId]
    ) -> None:
        """Working chats that have read the file and not changed it."""
        stale = self._seen.stale(root, touched.parts, touched.fingerprint) - {context.chat_id, *told}
        if not stale:
            return
        for chat in await self._store.read(chats.chats(tuple(stale))):
            if chat.status in _BUSY:
                what = "deleted" if touched.fingerprint is None else "changed"
                text = f"Chat {mine.chat_id} has {what} {mine.path} since you read it. Read it again first."
                await self._tell(chat.id, f"{mine.id}:stale", text)

    async def _tell(self, chat_id: ChatId, key: str, text: str) -> None:
        # A refusal means that the chat is gone, or cannot be told: the event in its feed says the same.
        await self._store.transition(chat_id, Notify(source=SOURCE, key=f"{SOURCE}:{key}", text=text))


def _changed(mine: FileEdit, other: FileEdit, found: Severity) -> str:
    return (
        f"Chat {mine.chat_id} changed {other.path} after you did: {_HOW[found]}. What you read of "
        "it may be out of date. Read it again before you change it."
    )
