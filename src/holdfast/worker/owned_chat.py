"""A chat while this worker owns it: its newest view and history, and the only way its runner commits. Every
commit names the lease and what it was based on; one that is out of date ends the task and changes nothing."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

import structlog

from holdfast.chats.change import Change, Refusal, TurnEnd
from holdfast.chats.commands import Command, Fence
from holdfast.chats.view import View
from holdfast.core.errors import Bug, TryAgain
from holdfast.core.events import BusEvent, Hint
from holdfast.core.ids import ChatId
from holdfast.core.messages import Message, entries_of
from holdfast.core.shapes import Record
from holdfast.duties.lease import LeaseRenewal
from holdfast.duties.persistence import persist
from holdfast.store.interface import Applied, Store
from holdfast.store.messages import prompt
from holdfast.store.query import Query
from holdfast.telemetry.metrics import Metrics
from holdfast.worker.history import History
from holdfast.worker.live import LiveText

log = structlog.get_logger(__name__)

T = TypeVar("T")

PREPARE_SECONDS = (0.2, 0.4, 0.8)


class Stale(Exception):
    """The chat moved on without us: the work in progress no longer counts."""


class NotOurs(Exception):
    """The chat has another owner, or none, or was deleted."""


class Texts(Record, frozen=True, kw_only=True):
    """What a chat is about: the user's first message, and the last answer."""

    first: str | None = None
    last: str | None = None


class OwnedChat:
    def __init__(
        self,
        store: Store,
        lease: LeaseRenewal,
        view: View,
        publish: Callable[[BusEvent], None],
        metrics: Metrics,
    ) -> None:
        self.store = store
        self.metrics = metrics
        self.lease = lease
        self.view = view
        self.chat_id: ChatId = view.chat.id
        self.live = LiveText(self.chat_id, publish)
        self._lease_number = view.chat.lease_number
        self._history: History | None = None
        self._committing = 0
        self._newest_hint: Hint | None = None
        # The turn that our last commit ended, unless it failed. The runner takes it from here.
        self.turn_ended: int | None = None
        # Called when somebody else changed the chat so that what is being done no longer fits.
        self.when_moved: Callable[[], None] = _nobody_minds
        # Called for each turn that a commit of ours ended.
        self.when_turn_ended: Callable[[TurnEnd], None] = _nobody_minds_end

    # --- state ---

    @property
    def owned(self) -> bool:
        lease = self.view.chat.lease
        return lease is not None and lease.number == self._lease_number

    async def history(self) -> History:
        version = self.view.chat.history_version
        if self._history is None or self._history.version != version:
            self._history = History(version, await self.read(prompt(self.chat_id)))
        return self._history

    def know(self, messages: Iterable[Message]) -> None:
        """Sets the whole history of a chat that was just created here, so that it is not read."""
        self._history = History(self.view.chat.history_version, entries_of(messages))

    async def read(self, query: Query[T]) -> T:
        return await self.persist(lambda: self.store.read(query))

    @property
    def known_texts(self) -> Texts:
        history = self._history
        return Texts() if history is None else Texts(first=history.first_text, last=history.last_text)

    async def reload(self) -> None:
        """After somebody else changed the chat, or a commit of ours has an unknown result."""
        # Hints received so far are covered by what is read now.
        self._newest_hint = None
        view = await self.persist(lambda: self.store.view(self.chat_id))
        if view is None:
            raise NotOurs("the chat is deleted")
        self.view = view
        if not self.owned:
            raise NotOurs("the chat has another owner, or none")

    def fence(self) -> Fence:
        chat = self.view.chat
        return Fence(
            lease_number=self._lease_number,
            history_version=chat.history_version,
            status=chat.status,
            attempt=chat.attempt,
        )

    async def ready(self) -> None:
        """Called directly before every effect: nobody else can own the chat, and as far as we know nobody has
        changed it."""
        if not await self.lease.until_fresh():
            raise NotOurs("the lease could not be kept")
        if self._is_outdated():
            raise Stale("the chat has moved on")

    # --- commits ---

    async def commit(self, *commands: Command) -> Change:
        """Commits the commands as one version, if nothing the worker relies on has changed."""
        fence = self.fence()
        change = await self._commit(fence, commands)
        if change.removed_from is not None:
            self._history = None
        elif self._history is not None and self._history.version == fence.history_version:
            # The fence held, so history was what we thought it was.
            self._history.extend(self.view.chat.history_version, entries_of(change.messages))
        return change

    async def record(self, *commands: Command) -> Change:
        """The end of a call: only the lease must still be ours."""
        return await self._commit(Fence(lease_number=self._lease_number), commands)

    async def _commit(self, fence: Fence, commands: tuple[Command, ...]) -> Change:
        self._committing += 1
        try:
            result = await self.persist(
                lambda: self.store.transition(self.chat_id, *commands, fence=fence, view=self.view)
            )
        finally:
            self._committing -= 1
        if isinstance(result, Refusal):
            if result.code == "stale":
                self.metrics.stale.inc()
                raise Stale(result.text)
            raise Bug(f"{', '.join(command.kind for command in commands)} was refused: {result.text}")
        if not isinstance(result, Applied) or result.view is None:
            raise NotOurs("the chat is deleted")
        self.view = result.view
        for end in result.change.turns_ended:
            if end.outcome != "failed":
                self.turn_ended = end.number
            self.when_turn_ended(end)
        self.metrics.committed(result.change)
        self._look()
        return result.change

    async def persist(self, ask: Callable[[], Awaitable[T]]) -> T:
        """While the database is unavailable the work waits for it, as long as nobody else can own the
        chat."""
        return await persist(ask, self._give_up)

    def _give_up(self, error: TryAgain) -> None:
        if self.lease.over:
            raise NotOurs("the lease could not be kept") from error

    async def prepare(self, ask: Callable[[], Awaitable[T]]) -> T:
        """Retries preparing what a step needs besides the database: the system may refuse it at one moment
        (no free descriptor, a disk that does not answer) and grant it at the next."""
        for seconds in PREPARE_SECONDS:
            try:
                return await self.persist(ask)
            except OSError as error:
                log.warning("a step could not be prepared", chat_id=self.chat_id, reason=str(error))
                await asyncio.sleep(seconds)
        return await self.persist(ask)

    @property
    def committing(self) -> bool:
        return self._committing > 0

    # --- changes by others ---

    def hear(self, hint: Hint) -> None:
        """A change that may be somebody else's. While we commit it may be our own, or one that came just
        after: it is judged when the commit is over."""
        if self._newest_hint is None or hint.version > self._newest_hint.version:
            self._newest_hint = hint
        if not self.committing:
            self._look()

    def _look(self) -> None:
        if self._is_outdated():
            self.when_moved()

    def _is_outdated(self) -> bool:
        hint, chat = self._newest_hint, self.view.chat
        if hint is None or hint.version <= chat.version:
            return False
        return (hint.status, hint.history_version) != (chat.status, chat.history_version)


def _nobody_minds() -> None:
    pass


def _nobody_minds_end(_: TurnEnd) -> None:
    pass
