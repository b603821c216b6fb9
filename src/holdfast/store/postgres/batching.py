"""Batches writes. Everything that waits at the same moment goes together: owners' changes in one statement,
other commands in two; while one batch is in flight the next one gathers. No two changes of one chat are ever
in flight at once."""

import asyncio
import time
from collections.abc import Coroutine, Iterable, Sequence
from typing import Any

from holdfast.chats.change import Change
from holdfast.core.errors import StoreClosed
from holdfast.core.ids import ChatId
from holdfast.store.postgres.change_writer import Carrier, Owned
from holdfast.store.postgres.command_batch import Group
from holdfast.store.postgres.command_requests import CommandRequest

# While one statement is in flight the next is prepared; more lanes would only make the statements smaller.
LANES = 2
WORTH_SPLITTING = 16
MOST_TOGETHER = 256
CLOSE_SECONDS = 10.0
# A chat that somebody else wrote at the same moment is likely to be written by them again.
CONTENDED_SECONDS = 5.0
MOST_CONTENDED = 1000


class Combiner:
    def __init__(self, carrier: Carrier) -> None:
        self._carrier = carrier
        self._owned: dict[ChatId, Owned] = {}
        self._asked: dict[ChatId, list[CommandRequest]] = {}
        # Chats with something in flight.
        self._busy: set[ChatId] = set()
        # Chats that another replica writes too, and until when that is remembered.
        self._contended: dict[ChatId, float] = {}
        self._owned_on_their_way = 0
        self._asked_on_their_way = 0
        self._departing = False
        self._closing = False
        self._tasks: set[asyncio.Task[None]] = set()

    def own(self, asked: CommandRequest, change: Change) -> None:
        """An owner's change, decided on its view. If two come at once, the second is decided again after the
        first."""
        if asked.chat_id in self._owned or asked.chat_id in self._asked:
            self.ask(asked)
            return
        self._refuse_if_closing()
        self._owned[asked.chat_id] = asked, change
        self._depart_soon()

    def ask(self, asked: CommandRequest) -> None:
        """Commands to be decided on the state at that time."""
        self._refuse_if_closing()
        if asked.is_wide:
            self._start(self._insist_alone(asked))
        else:
            self._asked.setdefault(asked.chat_id, []).append(asked)
            self._depart_soon()

    async def close(self) -> None:
        """Finishes what is waiting, within a time limit."""
        self._closing = True
        end = time.monotonic() + CLOSE_SECONDS
        while (self._tasks or self._owned or self._asked) and time.monotonic() < end:
            if self._tasks:
                await asyncio.wait(self._tasks, timeout=end - time.monotonic())
            else:
                await asyncio.sleep(0)  # what waits is about to be sent
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)
        waiting = [asked for asked, _ in self._owned.values()]
        waiting += [asked for group in self._asked.values() for asked in group]
        for asked in waiting:
            asked.fail(StoreClosed("The store is shutting down."))

    def _refuse_if_closing(self) -> None:
        if self._closing:
            raise StoreClosed("The store is shutting down.")

    # --- sending ---

    def _depart_soon(self) -> None:
        """Not at once: tasks woken by the last commit are about to add to the next batch."""
        if not self._departing:
            self._departing = True
            asyncio.get_running_loop().call_soon(self._depart)

    def _depart(self) -> None:
        self._departing = False
        while self._owned and self._owned_on_their_way < LANES:
            owned = self._take_owned()
            if not owned:
                break
            self._owned_on_their_way += 1
            self._start(self._carry_owned(owned))
        while self._asked and self._asked_on_their_way < LANES:
            group = self._take_asked()
            if not group:
                break
            self._asked_on_their_way += 1
            self._start(self._carry_asked(group))

    def _take_owned(self) -> list[Owned]:
        taken = [entry for chat_id, entry in self._owned.items() if chat_id not in self._busy]
        if len(taken) >= WORTH_SPLITTING:
            # Each free lane gets its share: while the database writes one, the next is decided.
            taken = taken[: -(-len(taken) // (LANES - self._owned_on_their_way))]
        taken = taken[:MOST_TOGETHER]
        for asked, _ in taken:
            del self._owned[asked.chat_id]
            self._busy.add(asked.chat_id)
        return taken

    def _take_asked(self) -> Group:
        free = [chat_id for chat_id in self._asked if chat_id not in self._busy]
        group: dict[ChatId, list[CommandRequest]] = {}
        count = 0
        for chat_id in free:
            if count >= MOST_TOGETHER:
                break
            waiting = self._asked.pop(chat_id)
            group[chat_id] = waiting[:MOST_TOGETHER]
            count += len(group[chat_id])
            if waiting[MOST_TOGETHER:]:
                self._asked[chat_id] = waiting[MOST_TOGETHER:]
            self._busy.add(chat_id)
        return group

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work, name="store")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # --- in flight ---

    async def _carry_owned(self, owned: list[Owned]) -> None:
        everybody = [asked for asked, _ in owned]
        try:
            while owned:
                again, owned = await self._carrier.write_owned(owned)
                # Somebody else moved the chat: decide again, before what came later.
                self._put_back(again)
        except BaseException as error:  # whatever it is, everybody who waits must get an answer
            _fail(everybody, error)
            raise
        finally:
            self._owned_on_their_way -= 1
            self._arrived(asked.chat_id for asked in everybody)

    async def _carry_asked(self, group: Group) -> None:
        """The conflict is with another replica: these commands, and for a while all others of that chat, are
        decided under its row lock."""
        everybody = [asked for waiting in group.values() for asked in waiting]
        waiting: dict[ChatId, list[CommandRequest]] = {}
        try:
            now = time.monotonic()
            contended = {chat_id for chat_id in group if self._contended.get(chat_id, 0.0) > now}
            blocked = [asked for asked in everybody if asked.chat_id in contended]
            free = {chat_id: asked for chat_id, asked in group.items() if chat_id not in contended}
            if free:
                left = await self._carrier.attempt(free)
                self._put_back(left.later)
                blocked += left.blocked
                if left.contended:
                    self._remember_contended({asked.chat_id for asked in left.blocked})
            for asked in blocked:
                waiting.setdefault(asked.chat_id, []).append(asked)
            for chat_id, asked in waiting.items():
                self._start(self._wait_for(chat_id, asked))
        except BaseException as error:
            _fail(everybody, error)
            raise
        finally:
            self._asked_on_their_way -= 1
            self._arrived(chat_id for chat_id in group if chat_id not in waiting)

    async def _wait_for(self, chat_id: ChatId, group: Sequence[CommandRequest]) -> None:
        """Under the row lock, however long somebody else holds it. The chat counts as in flight until
        then."""
        try:
            while len(group) > 1:
                left = await self._carrier.attempt_locked({chat_id: group})
                if len(left.later) == len(group) or left.blocked:
                    break
                group = left.later
            for asked in group:
                if not asked.answer.done():
                    await self._carrier.insist(asked)
        except BaseException as error:
            _fail(group, error)
            raise
        finally:
            self._arrived((chat_id,))

    async def _insist_alone(self, asked: CommandRequest) -> None:
        try:
            await self._carrier.insist(asked)
        except BaseException as error:
            _fail((asked,), error)
            raise

    def _put_back(self, group: Sequence[CommandRequest]) -> None:
        """Back to the front, in their old order."""
        for asked in reversed(group):
            self._asked.setdefault(asked.chat_id, []).insert(0, asked)

    def _arrived(self, chat_ids: Iterable[ChatId]) -> None:
        self._busy.difference_update(chat_ids)
        self._depart_soon()

    def _remember_contended(self, chat_ids: Iterable[ChatId]) -> None:
        now = time.monotonic()
        if len(self._contended) >= MOST_CONTENDED:
            self._contended = {one: until for one, until in self._contended.items() if until > now}
        self._contended.update(dict.fromkeys(chat_ids, now + CONTENDED_SECONDS))


def _fail(group: Iterable[CommandRequest], error: BaseException) -> None:
    told = StoreClosed("The store is shutting down.") if isinstance(error, asyncio.CancelledError) else error
    for asked in group:
        asked.fail(told)
