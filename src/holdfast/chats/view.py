"""What a decision looks at: the execution state of one chat, as small as possible. It does not include the
history, so the cost of a step does not grow with it; the few other facts a command needs are looked up (see
`facts`)."""

from datetime import datetime
from typing import Literal

from holdfast.core.calls import Approval, Awaited, Effect, Reach, Trait
from holdfast.core.chats import BUILD, Status, Writes
from holdfast.core.failures import Failure, Retry
from holdfast.core.ids import CallId, ChatId, MessageId, NoticeId, QueueItemId, RunId, UserId, WorkerId
from holdfast.core.messages import Busy
from holdfast.core.origins import PERSON, Origin, is_agent, parent_call_of, parent_of, run_of
from holdfast.core.parts import Outcome, Parts
from holdfast.core.shapes import Json, Record
from holdfast.core.steps import TurnKind, TurnOutcome
from holdfast.core.usage import Usage

CompactionRequest = Literal["manual", "overflow"]

# pending: may start.  waiting: somebody must act.  started: running, or was when its worker died.
# finished: has an outcome that is not in history yet.  answered: its result is in history.
CallState = Literal["pending", "waiting", "started", "finished", "answered"]


class Lease(Record, frozen=True, kw_only=True):
    """A worker's ownership. `expires_at` is the worker's, as of when the view was read."""

    worker_id: WorkerId
    number: int
    expires_at: datetime


class Execution(Record, frozen=True, kw_only=True):
    """The chat's own row, without its settings."""

    id: ChatId
    owner_id: UserId
    origin: Origin = PERSON
    root_id: ChatId
    status: Status
    archived: bool = False
    version: int = 0
    history_version: int = 0
    queue_version: int = 0
    retry_version: int = 0
    attempt: int = 0
    lease: Lease | None = None
    # How many leases have been given; the number of the newest.
    lease_number: int = 0
    turn: int = 0
    turn_kind: TurnKind = "message"
    # Requested by the message that started the turn; None: the chat's own setting.
    turn_model: str | None = None
    turn_effort: str | None = None
    turn_steps: int = 0
    compaction: CompactionRequest | None = None
    # What the agent may do, and whether its writes wait for a person's review.
    mode: str = BUILD
    writes: Writes = "direct"
    last_error: Failure | None = None
    retry: Retry | None = None
    last_message_id: MessageId | None = None
    # The newest assistant message: what the parent is given when the turn ends.
    answer_id: MessageId | None = None
    message_count: int = 0
    usage: Usage = Usage()
    created_at: datetime
    updated_at: datetime
    # Moves only when a turn starts or ends; lists are sorted by it.
    active_at: datetime

    @property
    def parent_id(self) -> ChatId | None:
        return parent_of(self.origin)

    @property
    def parent_call_id(self) -> CallId | None:
        return parent_call_of(self.origin)

    @property
    def run_id(self) -> RunId | None:
        return run_of(self.origin)

    @property
    def is_agent(self) -> bool:
        return is_agent(self.origin)


class Queued(Record, frozen=True, kw_only=True):
    """A waiting user message. Items are ordered by `place`, whose values have no other meaning."""

    id: QueueItemId
    parts: Parts
    busy: Busy
    place: int
    hold_token: str | None = None
    hold_until: datetime | None = None
    model: str | None = None
    effort: str | None = None
    created_by: UserId
    created_at: datetime
    # The span that the turn is to be part of (W3C traceparent).
    trace_parent: str | None = None

    @property
    def held(self) -> bool:
        return self.hold_token is not None


class InboxNotice(Record, frozen=True, kw_only=True):
    """A notice that waits to enter history; `key` ensures that it enters only once."""

    id: NoticeId
    source: str
    key: str
    text: str
    data: Json = None
    wake: bool
    created_at: datetime


class Call(Record, frozen=True, kw_only=True):
    """One tool call of the newest step, and also its span. `run` counts how often it was started."""

    call_id: CallId
    message_id: MessageId
    turn: int
    position: int
    name: str
    effect: Effect = "unsafe"
    reach: Reach = "none"
    traits: tuple[Trait, ...] = ()
    # Where the tool came from and as what it was configured; None: it is built in.
    source: str | None = None
    on_uncertain: Literal["tell", "ask"] = "tell"
    state: CallState
    waits_for: Awaited | None = None
    deadline_seconds: float | None = None
    deadline_at: datetime | None = None
    run: int = 0
    lease_number: int | None = None
    # Until then the worker that last ran it may still be alive, so it must not be run again.
    fenced_until: datetime | None = None
    outcome: Outcome | None = None
    output: Json = None
    diff: str | None = None
    truncated: bool = False
    approval: Approval | None = None
    started_at: datetime | None = None
    finished_at: datetime | None = None
    # Its history was removed while it ran: the outcome is kept on this row only.
    abandoned: bool = False
    # The version of the chat that last wrote this row.
    revision: int = 0
    # The input as a hook changed it: what is approved, and what runs. None: as the model asked.
    input: Json = None


class Delivery(Record, frozen=True, kw_only=True):
    """The end of one turn of a child, to be delivered to its parent (or its run) exactly once."""

    child_id: ChatId
    turn: int
    parent_id: ChatId | None
    run_id: RunId | None
    outcome: TurnOutcome
    answer_id: MessageId | None
    failure: Failure | None
    created_at: datetime


class View(Record, frozen=True, kw_only=True):
    """`calls` are the open ones: not answered, or abandoned and still running."""

    chat: Execution
    queue: tuple[Queued, ...] = ()
    inbox: tuple[InboxNotice, ...] = ()
    calls: tuple[Call, ...] = ()
