"""The store: the one place of truth. Only transitions change execution state, each in one transaction;
everything else reads.

An engine must provide the methods of `Store`. It can use `rows` and `chat_rows` (how rows map to data),
`views` and `facts` (what a decision looks at), `hints` (what follows a commit), `settings_rules` (how
settings are written), `search_words` (what is searched), `integrity` (what is checked), `migrations`, and the
queries in one module per noun. It must ensure:

* A change is written completely or not at all, guarded by `before`. Rows are written in this order: the
  chat's row (which is the guard), removal, messages, queue, inbox, calls, full outputs, steps, turns,
  deliveries, others.
* A created chat gets `settings`, `labels` and the words of its title in the same transaction; its `depth` is
  its parent's plus one; a missing parent is a refusal (`not_found`).
* Deleting removes everything belonging to the chats in `deleted`, and the deliveries that wait for them;
  deliveries they made for others stay.
* Whenever `history_version` moves, the chat is left for `index_pending` to find.
* Hints are published on the event loop, after the commit and before the caller is answered.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, Literal, Protocol, TypeAlias, TypedDict, TypeVar, Unpack, overload

from holdfast.chats.change import Change, Refusal
from holdfast.chats.commands import CallFence, Command, Fence
from holdfast.chats.view import View
from holdfast.core.chats import ClientTool, ProviderTool, Settings, TitleSource
from holdfast.core.events import BusEvent
from holdfast.core.ids import ChatId, MessageId, UserId, WorkerId, WorkspaceId
from holdfast.core.shapes import Json
from holdfast.core.usage import Budget
from holdfast.store.chats import LISTED_ONLY, Only
from holdfast.store.outbox import EventOutbox
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
    """Committed, or there was nothing to do (`change.is_empty`). `view` is the chat's new state, None if
    deleted."""

    change: Change

    @property
    def view(self) -> View | None:
        return self.change.after


@dataclass(frozen=True, slots=True)
class Replayed:
    """The same request was made before under this idempotency key: the answer it got then."""

    status: int
    body: bytes


# No slots: with them Python 3.11 cannot call an alias like `Once`.
@dataclass(frozen=True)
class OnceOf(Generic[A]):
    """An idempotency key. `respond` makes the answer that is stored in the transaction, from its result. It
    may be called on any thread, and again if the transaction has to be repeated."""

    user_id: UserId
    method: str
    path: str
    key: str
    # Digest of the request's body: the same key with another body is refused.
    fingerprint: str
    respond: Callable[[A], tuple[int, bytes]]


Once: TypeAlias = OnceOf[Applied]


# A chat to be created; the first command is its creation.
NewChat: TypeAlias = tuple[ChatId, Sequence[Command]]


class Choices(TypedDict, total=False):
    """Settings to change; omitted ones stay as they are."""

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
    provider_tools: tuple[ProviderTool, ...] | None
    debug: bool
    web: bool


@dataclass(frozen=True, slots=True)
class Hit:
    """A chat found by a search: by its newest message that has the words, or by its title (None)."""

    chat_id: ChatId
    message_id: MessageId | None


@dataclass(frozen=True, slots=True)
class SearchPage:
    hits: tuple[Hit, ...]
    next_cursor: str | None


class Store(Protocol):
    @property
    def engine(self) -> Literal["sqlite", "postgres"]: ...

    @property
    def outbox(self) -> EventOutbox:
        """Which events of changes are kept for hooks."""
        ...

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
        made on it and only guarded by its version. If the guard misses, the decision is made again on the
        current state.

        A command on behalf of another chat's call passes `on_behalf`: it is refused (`stale`) unless that
        call is still running at the moment of the commit.
        """
        ...

    async def acquire(
        self,
        worker_id: WorkerId,
        *,
        limit: int,
        agents_limit: int,
        skip_owners: Collection[UserId] = (),
    ) -> list[View]:
        """Leases chats that are running or interrupting and have no live lease to this worker: at most
        `limit` top-level chats and `agents_limit` sub-agents and agents of runs, longest waiting first.
        Interrupting chats are taken regardless of limits and owners: ending needs no capacity."""
        ...

    # --- settings ---

    async def update_settings(self, chat_id: ChatId, **choices: Unpack[Choices]) -> Settings | None:
        """Never moves `version`. A generated title does not replace one written by a person. None: no such
        chat."""
        ...

    async def update_settings_once(
        self, chat_id: ChatId, once: OnceOf[Settings], **choices: Unpack[Choices]
    ) -> Settings | Refusal | Replayed | None:
        """The same under an idempotency key, which is stored even if there is nothing to change."""
        ...

    # --- everything that is not execution state ---

    async def write(self, query: Query[A], *, on_behalf: CallFence | None = None) -> A:
        """Runs all statements of the query in one serializable transaction: what one of them read still holds
        when it is committed. If `read` raises, nothing is written.

        A write may be executed twice if the answer to a commit is lost, so the statements must allow that:
        ids and times are made before, and an insert is followed by a look at the row with that id. The
        query's hints are published after the commit. With `on_behalf` it raises WrongState unless that call
        is still running at the moment of the commit.
        """
        ...

    async def write_and_create(
        self, query: Query[A], chats: Sequence[NewChat]
    ) -> tuple[A, list[Applied | Refusal]]:
        """Like `write`, and also creates chats: only if the query was written, and in the same commit where
        that is faster."""
        ...

    async def write_once(self, query: Query[A], once: OnceOf[A]) -> A | Refusal | Replayed:
        """The same under an idempotency key."""
        ...

    # --- workers ---

    async def register_worker(self, name: str, lease_seconds: float) -> WorkerId: ...

    def renew(self, worker_id: WorkerId, lease_seconds: float) -> bool:
        """Blocking, for its own thread; uses its own connection. False: the worker is no longer registered,
        or its lease has expired, and it must stop working. Raises TryAgain if the database cannot be
        reached."""
        ...

    async def bury_absent(self, worker_id: WorkerId, lease_seconds: float) -> bool:
        """Ends the leases of other workers whose process is known to be dead before they expire. True: there
        was one, and what it owned is free. `lease_seconds` is the same for all workers."""
        ...

    async def retire(self, worker_id: WorkerId) -> None:
        """The worker has stopped: everything it still owns is free at once."""
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
        """All in one snapshot."""
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
        """Chats of this owner that have all the words (the last may be a prefix) in their title or in one
        message: titles first, then by the newest matching message. A page may be shorter than `limit`."""
        ...

    async def search_chat(
        self, chat_id: ChatId, text: str, *, limit: int = 50, cursor: str | None = None
    ) -> SearchPage:
        """Messages of one chat, newest first."""
        ...

    # --- upkeep ---

    async def index_pending(self, limit: int = 200) -> int:
        """Adds at most `limit` messages to the search index and returns how many it added. 0: it is up to
        date."""
        ...

    async def discard_expired(self) -> None:
        """Deletes idempotency keys older than a day, expired one-time tokens and sessions, and workers that
        are long gone."""
        ...

    async def backup(self, path: Path) -> None:
        """A copy of the whole database as of one moment, while everything continues to run."""
        ...

    async def check(self) -> list[str]:
        """What is wrong with the database, in sentences; empty if nothing is."""
        ...

    async def close(self) -> None: ...
