"""Checkpoints: what a call changed in its workspace, found by a scan before and after it, whichever program
wrote: a file tool, a command, or an unrelated process. An error here never fails the call."""

import asyncio
from collections import OrderedDict
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Protocol
from weakref import WeakValueDictionary

import structlog
from msgspec.structs import replace

from holdfast.changes.listing import difference
from holdfast.changes.open_calls import OpenCalls
from holdfast.changes.shadow import PathDifference, Shadow
from holdfast.core.calls import CallMoment
from holdfast.core.changes import ChangeState, Checkpoint, CheckpointKind, FileChange
from holdfast.core.clock import Clock
from holdfast.core.errors import HoldfastError
from holdfast.core.events import Hint
from holdfast.core.ids import CallId, ChatId, Ids, UserId, WorkspaceId
from holdfast.store import changes
from holdfast.store.hints import present
from holdfast.store.interface import Store
from holdfast.store.query import Query, Rows
from holdfast.workspaces.blocking import blocking, finishing
from holdfast.workspaces.files.diffs import DIFF_CHARACTERS
from holdfast.workspaces.files.file_root import Root
from holdfast.workspaces.places.chat_directory import Workspaces

log = structlog.get_logger(__name__)

# How many workspaces have their last scan in memory.
_HELD = 8
# The most changes recorded for one call: a command may unpack an archive.
MOST_CHANGES = 5000


class CallPlace(Protocol):
    @property
    def chat_id(self) -> ChatId: ...
    @property
    def owner_id(self) -> UserId: ...
    @property
    def workspace_id(self) -> WorkspaceId | None: ...


class Checkpoints:
    def __init__(self, store: Store, workspaces: Workspaces, data: Path, clock: Clock, ids: Ids) -> None:
        self._store = store
        self._workspaces = workspaces
        self._base = data / "shadow"
        self._clock = clock
        self._ids = ids
        self._shadows: OrderedDict[str, Shadow] = OrderedDict()
        self._open: dict[str, OpenCalls] = {}
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    # --- around a call ---

    async def before(self, at: CallMoment) -> None:
        """What others changed until now is not this call's; what open calls changed is theirs."""
        try:
            place, root = await self.place_of(at), await self._workspaces.root_of(at)
            async with self.alone(place) as shadow:
                calls = await blocking(lambda: self._calls(place))
                if not await self._note_for_owner(calls, place, root, shadow):
                    await blocking(lambda: self._absorb(shadow, root))
                await finishing(lambda: calls.begin(at))
        except (HoldfastError, OSError) as error:
            log.warning("workspace not looked at", chat_id=at.chat_id, reason=str(error))

    async def after(self, at: CallMoment) -> str:
        """Records what the call changed; returns the difference as text."""
        try:
            place, root = await self.place_of(at), await self._workspaces.root_of(at)
            async with self.alone(place) as shadow:
                diff = await self._noted(at, place, root, shadow)
                calls = await blocking(lambda: self._calls(place))
                diff = await blocking(lambda: calls.end(at, diff))
                self._forget_empty(place)
                return diff
        except (HoldfastError, OSError) as error:
            self.leave(at)
            log.warning("no checkpoint", chat_id=at.chat_id, call_id=at.call_id, reason=str(error))
            return ""

    def leave(self, at: CallMoment) -> None:
        """The call was interrupted. The next scan finds what it changed."""
        for calls in self._open.values():
            calls.leave(at)

    async def catch_up(self, at: CallPlace) -> None:
        """Records what interrupted calls changed, including calls of a server that died."""
        try:
            place = await self.place_of(at)
            async with self.alone(place) as shadow:
                calls = await blocking(lambda: self._calls(place))
                if calls.left is not None:
                    await self._note_for_owner(calls, place, await self._workspaces.root_of(at), shadow)
                self._forget_empty(place)
        except (HoldfastError, OSError) as error:
            log.warning("workspace not looked at", chat_id=at.chat_id, reason=str(error))

    async def _note_for_owner(self, calls: OpenCalls, place: str, root: Root, shadow: Shadow) -> bool:
        owner = calls.owner
        if owner is None or await self._store.view(owner.chat_id) is None:
            return False
        known = await self._store.read(changes.of_call(owner.chat_id, owner.call_id))
        diff = await self._noted(owner, place, root, shadow, known)
        await blocking(lambda: calls.noted(owner, diff))
        return True

    def _calls(self, place: str) -> OpenCalls:
        found = self._open.get(place)
        if found is None:
            found = self._open[place] = OpenCalls(self._base / place)
        return found

    def _forget_empty(self, place: str) -> None:
        if (calls := self._open.get(place)) is not None and calls.is_empty:
            del self._open[place]

    def _absorb(self, shadow: Shadow, root: Root) -> None:
        shadow.look(root)
        shadow.keep()

    async def _noted(
        self,
        at: CallMoment,
        place: str,
        root: Root,
        shadow: Shadow,
        known: Sequence[FileChange] = (),
    ) -> str:
        """`known` was noted before, by a server that died before its look counted as seen."""
        look = await blocking(lambda: shadow.look(root))
        seen = {(row.path, row.before, row.after) for row in known}
        differences = [each for each in look.differences if (each.path, each.before, each.after) not in seen]
        if not differences:
            await blocking(shadow.keep)
            return ""
        checkpoint = self.checkpoint(at.chat_id, place, "step", at.turn, at.step, at.call_id, look.skipped)
        found = differences[:MOST_CHANGES]
        waiting: dict[str, FileChange] = {}
        if is_draft(place):
            waiting = {row.path: row for row in await self._store.read(changes.waiting_at(place))}
        rows = await blocking(lambda: self._rows(checkpoint, found, shadow, waiting))
        await self._store.write(self.told(changes.note(checkpoint, rows), at.chat_id))
        # Only now: if the process dies earlier, the next scan finds the same changes again.
        await blocking(shadow.keep)
        return _together(rows)

    def _rows(
        self,
        checkpoint: Checkpoint,
        found: Sequence[PathDifference],
        shadow: Shadow,
        waiting: Mapping[str, FileChange],
    ) -> tuple[FileChange, ...]:
        if not is_draft(checkpoint.place):
            return tuple(self.row(checkpoint, each, shadow) for each in found)
        return tuple(self._pending(checkpoint, each, shadow, waiting.get(each.path)) for each in found)

    def _pending(
        self, checkpoint: Checkpoint, each: PathDifference, shadow: Shadow, before: FileChange | None
    ) -> FileChange:
        """A draft has one pending change per path, however often it was written."""
        if before is None:
            return replace(self.row(checkpoint, each, shadow), state="pending")
        whole = replace(each, before=before.before)
        row = self.row(checkpoint, whole, shadow)
        state: ChangeState = "reverted" if whole.before == whole.after else "pending"
        return replace(row, id=before.id, state=state)

    # --- what others use ---

    async def place_of(self, at: CallPlace) -> str:
        """The key of the directory that a chat's calls work in."""
        draft = await self._workspaces.draft_of(at)
        return place_of(at) if draft is None else draft_place(draft)

    def new_id(self) -> str:
        return self._ids.uuid7(self._clock.now())

    def checkpoint(
        self,
        chat_id: ChatId,
        place: str,
        kind: CheckpointKind,
        turn: int,
        step: int = 0,
        call_id: CallId | None = None,
        skipped: tuple[str, ...] = (),
    ) -> Checkpoint:
        now = self._clock.now()
        return Checkpoint(
            id=self._ids.uuid7(now),
            chat_id=chat_id,
            place=place,
            kind=kind,
            turn=turn,
            step=step,
            call_id=call_id,
            created_at=now,
            skipped=skipped,
        )

    def row(self, checkpoint: Checkpoint, each: PathDifference, shadow: Shadow) -> FileChange:
        shown = difference(each.path, each.before, each.after, shadow.objects.get)
        return FileChange(
            id=self._ids.uuid7(self._clock.now()),
            checkpoint_id=checkpoint.id,
            chat_id=checkpoint.chat_id,
            place=checkpoint.place,
            turn=checkpoint.turn,
            step=checkpoint.step,
            call_id=checkpoint.call_id,
            path=each.path,
            before=each.before,
            after=each.after,
            state="applied",
            created_at=checkpoint.created_at,
            additions=shown.additions,
            deletions=shown.deletions,
            diff=shown.diff[:DIFF_CHARACTERS],
        )

    def redrawn(self, row: FileChange, shadow: Shadow) -> FileChange:
        """With the difference that it shows by now."""
        shown = difference(row.path, row.before, row.after, shadow.objects.get)
        return replace(
            row,
            additions=shown.additions,
            deletions=shown.deletions,
            diff=shown.diff[:DIFF_CHARACTERS],
        )

    def told(self, write: Query[None], chat_id: ChatId) -> Query[None]:
        """Tells watchers of the chat to look again."""
        heard, count = present(chat_id), len(write.statements)

        def hints(results: Sequence[Rows]) -> list[Hint]:
            hint = heard.read(results[count:])
            return [] if hint is None else [hint]

        return Query((*write.statements, *heard.statements), lambda _: None, hints=hints)

    @asynccontextmanager
    async def alone(self, place: str) -> AsyncGenerator[Shadow]:
        """One scan of a directory at a time."""
        async with self._locks.setdefault(place, asyncio.Lock()):
            yield await blocking(lambda: self._shadow(place))

    def _shadow(self, place: str) -> Shadow:
        found = self._shadows.pop(place, None) or Shadow(self._base / place)
        self._shadows[place] = found
        while len(self._shadows) > _HELD:
            self._shadows.popitem(last=False)
        return found

    # --- upkeep ---

    async def sweep(self, keep_days: int, max_mib: int) -> None:
        """Removes what is too old, and the oldest where there is too much."""
        await self._store.write(changes.forget_old(keep_days))
        for directory in await blocking(lambda: sorted(self._base.iterdir()) if self._base.is_dir() else []):
            place = directory.name
            async with self.alone(place) as shadow:
                await self._sweep_place(place, shadow, max_mib * 2**20)

    async def _sweep_place(self, place: str, shadow: Shadow, most_bytes: int) -> None:
        while True:
            needed = await self._store.read(changes.blobs(place))
            await blocking(lambda needed=needed: shadow.objects.sweep({*needed, *shadow.needed()}))
            if await blocking(shadow.objects.size) <= most_bytes:
                return
            oldest = await self._store.read(changes.oldest(place, 50))
            if not oldest:
                return
            for checkpoint_id in oldest:
                await self._store.write(changes.forget(checkpoint_id))


def place_of(at: CallPlace) -> str:
    """The key of the directory that a chat works in."""
    return f"scratch-{at.chat_id}" if at.workspace_id is None else str(at.workspace_id)


DRAFT = "draft-"


def draft_place(chat_id: ChatId) -> str:
    return f"{DRAFT}{chat_id}"


def is_draft(place: str) -> bool:
    return place.startswith(DRAFT)


def _together(rows: Sequence[FileChange]) -> str:
    pieces: list[str] = []
    room = DIFF_CHARACTERS
    for row in rows:
        if len(row.diff) > room:
            pieces.append(f"[{len(rows) - len(pieces)} more files changed]\n")
            break
        pieces.append(row.diff)
        room -= len(row.diff)
    return "".join(pieces)
