"""The store: where the truth is. Only transitions change execution state, each in one transaction; everything
else reads.

What an engine must provide: the methods of `Store`. What it is given: `rows` and `chat_rows` (what a row
holds), `views` and `facts` (what a decision looks at), `hints` (what a commit is followed by), `choices`
(how settings are written), `words` (what is searched), `damage` (what is checked), `migrations`, and the
queries in one module per noun. What it must see to:

* A change is written whole or not at all, guarded by `before`. Rows go in this order: the chat's row (which
  is the guard), removal, messages, queue, inbox, calls, full outputs, steps, turns, deliveries, others.
* A created chat gets `settings`, `labels` and its title's words in the same transaction; its `depth` is its
  parent's plus one; a parent that is gone is a refusal (`not_found`).
* Deleting removes everything of the chats in `deleted` and the deliveries that wait for them; those they made
  for others stay.
* Whatever moves `history_version` leaves the chat to be found by `index_pending`.
* Hints are published on the event loop, after the commit and before the caller is answered."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, Literal, Protocol, TypeAlias, TypedDict, TypeVar, Unpack, overload

from holdfast.chats.change import Change, Refusal
from holdfast.chats.commands import CallFence, Command, Fence
from holdfast.chats.view import View
from holdfast.core.chats import ClientTool, Settings, TitleSource
from holdfast.core.events import BusEvent
from holdfast.core.ids import ChatId, MessageId, UserId, WorkerId, WorkspaceId
from holdfast.core.shapes import Json
from holdfast.core.usage import Budget
from holdfast.store.chats import LISTED_ONLY, Only
from holdfast.store.query import Query

Publish = Callable[[BusEvent], None]

A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")
D = TypeVar("D")
E = TypeVar("E")
F = TypeVar("F")


@dataclass(frozen=True, slots=True)
class Applied:
    """Committed, or nothing to do (`change.is_empty`). `view` is the chat from now on, None if deleted."""

    change: Change

    @property
    def view(self) -> View | None:
        return self.change.after


@dataclass(frozen=True, slots=True)
class Replayed:
    """The same was asked before under this idempotency key: the answer it got then."""

    status: int
    body: bytes


# Without slots: with them Python 3.11 cannot call an alias like `Once`.
@dataclass(frozen=True)
class OnceOf(Generic[A]):
    """An idempotency key. `respond` makes the answer that is stored with the transaction, from what came of
    it; it may be called on any thread, and again if the transaction has to be repeated."""

    user_id: UserId
    method: str
    path: str
    key: str
    # Of the request's body: the same key with another one is refused.
    fingerprint: str
    respond: Callable[[A], tuple[int, bytes]]


Once: TypeAlias = OnceOf[Applied]


# A chat that is to be made, by commands of which the first is its creation.
NewChat: TypeAlias = tuple[ChatId, Sequence[Command]]


class Choices(TypedDict, total=False):
    """What may be chosen anew for a chat; what is left out stays."""

    title: str
    title_source: TitleSource
    summary: str
    model: str | None
    effort: str | None
    workspace_id: WorkspaceId | None
    agent: str | None
    instructions: str | None
    client_tools: tuple[ClientTool, ...]
    tools: Json
    labels: tuple[str, ...]
    pinned: bool
    budget: Budget | None
    max_steps: int | None


@dataclass(frozen=True, slots=True)
class Hit:
    """A chat that was found: by the newest of its messages that has the words, or by its title (None)."""

    chat_id: ChatId
    message_id: MessageId | None


@dataclass(frozen=True, slots=True)
class SearchPage:
    hits: tuple[Hit, ...]
    next_cursor: str | None


class Store(Protocol):
    @property
    def engine(self) -> Literal["sqlite", "postgres"]: ...

    # --- execution state ---

    async def transition(
        self,
        chat_id: ChatId,
        *commands: Command,
        fence: Fence | None = None,
        view: View | None = None,
        once: Once | None = None,
        on_behalf: CallFence | None = None,
    ) -> Applied | Refusal | Replayed:
        """Decides and applies the commands as one version. An owner passes its `view`: the decision is then
        made on it and only guarded by its version; if that misses, it is made again on the present state.

        What a call of another chat asks for passes `on_behalf`: it is refused (`stale`) unless that call
        goes on at the moment of the commit."""
        ...

    async def acquire(
        self,
        worker_id: WorkerId,
        *,
        limit: int,
        agents_limit: int,
        skip_owners: Collection[UserId] = (),
    ) -> list[View]:
        """Chats that are running or interrupting and have no live lease, now leased to this worker: at most
        `limit` top-level ones and `agents_limit` sub-agents and agents of runs, longest waiting first. Those
        that are interrupting are taken without regard to limits and owners: ending needs no capacity."""
        ...

    # --- what people chose ---

    async def update_settings(self, chat_id: ChatId, **choices: Unpack[Choices]) -> Settings | None:
        """Never moves `version`. A generated title does not replace one that a person wrote. None: no such
        chat."""
        ...

    async def update_settings_once(
        self, chat_id: ChatId, once: OnceOf[Settings], **choices: Unpack[Choices]
    ) -> Settings | Refusal | Replayed | None:
        """The same under an idempotency key, which is kept even when there is nothing to change."""
        ...

    # --- everything that is not execution state ---

    async def write(self, query: Query[A], *, on_behalf: CallFence | None = None) -> A:
        """All statements of the query in one transaction, as if nobody else wrote at that moment: what one of
        them looked at still holds when it is committed. If `read` raises, nothing is kept.

        It may be done twice when the answer to a commit is lost, so the statements must bear that: ids and
        moments are made before, an insert is followed by a look at what is there under that id. The query's
        hints are published after the commit. With `on_behalf` it raises WrongState unless that call goes on
        at the moment of the commit."""
        ...

    async def write_and_create(
        self, query: Query[A], chats: Sequence[NewChat]
    ) -> tuple[A, list[Applied | Refusal]]:
        """As `write`, and chats that this makes known: they are made only if it was written, in the same
        commit where that is quicker."""
        ...

    async def write_once(self, query: Query[A], once: OnceOf[A]) -> A | Refusal | Replayed:
        """The same under an idempotency key."""
        ...

    # --- workers ---

    async def register_worker(self, name: str, lease_seconds: float) -> WorkerId: ...

    def renew(self, worker_id: WorkerId, lease_seconds: float) -> bool:
        """Blocking, for a thread of its own; uses a connection of its own. False: the worker is not
        registered any more, or its lease has run out, and it must stop its work. Raises TryAgain when the
        database cannot be asked."""
        ...

    async def bury_absent(self, worker_id: WorkerId, lease_seconds: float) -> bool:
        """Ends the leases of other workers whose process is known to be gone before they run out; True: there
        was one, and what it owned is free. `lease_seconds` is everybody's."""
        ...

    async def retire(self, worker_id: WorkerId) -> None:
        """The worker has stopped: whatever it still owns is free at once."""
        ...

    # --- reads ---

    async def view(self, chat_id: ChatId) -> View | None: ...

    @overload
    async def read(self, a: Query[A], /) -> A: ...
    @overload
    async def read(self, a: Query[A], b: Query[B], /) -> tuple[A, B]: ...
    @overload
    async def read(self, a: Query[A], b: Query[B], c: Query[C], /) -> tuple[A, B, C]: ...
    @overload
    async def read(self, a: Query[A], b: Query[B], c: Query[C], d: Query[D], /) -> tuple[A, B, C, D]: ...
    @overload
    async def read(
        self, a: Query[A], b: Query[B], c: Query[C], d: Query[D], e: Query[E], /
    ) -> tuple[A, B, C, D, E]: ...
    @overload
    async def read(
        self, a: Query[A], b: Query[B], c: Query[C], d: Query[D], e: Query[E], f: Query[F], /
    ) -> tuple[A, B, C, D, E, F]:
        """All of it in one snapshot."""
        ...

    async def search(
        self,
        owner_id: UserId,
        text: str,
        *,
        only: Only = LISTED_ONLY,
        limit: int = 50,
        cursor: str | None = None,
    ) -> SearchPage:
        """Chats of this owner that have all the words (the last one may be a beginning) in their title or in
        one message: titles first, then by the newest message found. A page may be shorter than `limit`."""
        ...

    async def search_chat(
        self, chat_id: ChatId, text: str, *, limit: int = 50, cursor: str | None = None
    ) -> SearchPage:
        """Messages of one chat, the newest first."""
        ...

    # --- upkeep ---

    async def index_pending(self, limit: int = 200) -> int:
        """Brings at most `limit` messages into the search index; how many it was. 0: it is up to date."""
        ...

    async def discard_expired(self) -> None:
        """Forgets idempotency keys older than a day, one-time tokens and sessions that have expired, and
        workers that are long gone."""
        ...

    async def backup(self, path: Path) -> None:
        """A copy of the whole database as of one moment, while everything goes on."""
        ...

    async def check(self) -> list[str]:
        """What is wrong with the database, in sentences; empty if nothing is."""
        ...

    async def close(self) -> None: ...
