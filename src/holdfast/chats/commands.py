"""Everything that can be asked of a chat, as data. Commands given together are decided in order and committed
as one: a worker says "the call is finished, start the next" in a single transaction."""

from datetime import datetime
from typing import ClassVar, Literal

from holdfast.chats.view import CompactionRequest
from holdfast.core.calls import Approval, Awaited, Effect, Reach, Scope, Trait, Verdict
from holdfast.core.chats import BUILD, Settings, Status, Writes
from holdfast.core.failures import Failure
from holdfast.core.ids import CallId, ChatId, MessageId, QueueItemId, StepId, UserId, WorkerId
from holdfast.core.messages import Busy, Message, Role, Visibility
from holdfast.core.origins import PERSON, Origin
from holdfast.core.parts import Notice, Outcome, Parts
from holdfast.core.segments import SegmentChange, StepCache
from holdfast.core.shapes import Json, Record
from holdfast.core.steps import StepKind, TurnOutcome
from holdfast.core.usage import Usage


class Fence(Record, frozen=True, kw_only=True):
    """What must still be true for a worker's commit to be accepted; None: not checked."""

    lease_number: int
    history_version: int | None = None
    status: Status | None = None
    attempt: int | None = None


class CallFence(Record, frozen=True, kw_only=True):
    """The run of a call on whose behalf something else is written: a sub-agent, a message to it, a grant. The
    write is accepted only while that run continues under that lease."""

    chat_id: ChatId
    lease_number: int
    call_id: CallId
    run: int


class _Command(Record, frozen=True, kw_only=True):
    kind: ClassVar[str]


class TurnCommand(_Command, frozen=True, kw_only=True):
    """One that starts a turn, now or when its message's time comes."""

    # The span of another program that asked for it (W3C traceparent).
    trace_parent: str | None = None


# --- Asked by people (and programs for them) ---


class Create(TurnCommand, frozen=True, kw_only=True):
    kind = "create"
    owner_id: UserId
    settings: Settings
    parts: Parts
    model: str | None = None
    effort: str | None = None
    origin: Origin = PERSON
    # Only for a sub-agent: the root of the family it joins.
    root_id: ChatId | None = None
    mode: str = BUILD
    writes: Writes = "direct"


class Fork(_Command, frozen=True, kw_only=True):
    """A new idle chat with the source's history up to a message (None: all of it)."""

    kind = "fork"
    owner_id: UserId
    source_id: ChatId
    settings: Settings
    up_to: MessageId | None = None
    mode: str = BUILD
    writes: Writes = "direct"


class Import(_Command, frozen=True, kw_only=True):
    """A new idle chat with a history from a file. Only the contents of the messages are used: they get new
    ids, a new chat and new revisions. The texts were cleaned where the file was read."""

    kind = "import"
    owner_id: UserId
    settings: Settings
    messages: tuple[Message, ...]


class Send(TurnCommand, frozen=True, kw_only=True):
    kind = "send"
    parts: Parts
    busy: Busy = "queue"
    model: str | None = None
    effort: str | None = None
    created_by: UserId
    # How many messages may wait (`limits.queue`).
    queue_limit: int = 20


class ItemCommand(_Command, frozen=True, kw_only=True):
    """A command on one item of the queue."""

    item_id: QueueItemId


class Promote(ItemCommand, frozen=True, kw_only=True):
    """Send now."""

    kind = "promote"


class MoveQueued(ItemCommand, frozen=True, kw_only=True):
    kind = "move_queued"
    position: int


class EditQueued(ItemCommand, frozen=True, kw_only=True):
    kind = "edit_queued"
    parts: Parts
    hold_token: str | None = None


class HoldQueued(ItemCommand, frozen=True, kw_only=True):
    """Takes a hold, or renews one with its token."""

    kind = "hold_queued"
    hold_token: str | None = None


class ReleaseQueued(ItemCommand, frozen=True, kw_only=True):
    kind = "release_queued"
    hold_token: str | None = None


class DeleteQueued(ItemCommand, frozen=True, kw_only=True):
    kind = "delete_queued"


class Interrupt(_Command, frozen=True, kw_only=True):
    kind = "interrupt"


class Stop(_Command, frozen=True, kw_only=True):
    """Interrupt, and start nothing from the queue: how a parent stops a child."""

    kind = "stop"


class CallResult(Record, frozen=True, kw_only=True):
    call_id: CallId
    output: Json
    is_error: bool = False


class SubmitResults(_Command, frozen=True, kw_only=True):
    """Answers to client tools, questions and plans; some or all."""

    kind = "submit_results"
    results: tuple[CallResult, ...]


class Decide(_Command, frozen=True, kw_only=True):
    """A person's verdict on a call that waits for approval or whose outcome is unknown."""

    kind = "decide"
    call_id: CallId
    verdict: Verdict
    user_id: UserId
    scope: Scope = "once"
    # Of a call that reaches a host: a word for the whole chat counts for that host.
    host: str | None = None
    note: str | None = None
    output: Json = None


class Compact(TurnCommand, frozen=True, kw_only=True):
    kind = "compact"


class RetryTurn(TurnCommand, frozen=True, kw_only=True):
    kind = "retry"


class Edit(TurnCommand, frozen=True, kw_only=True):
    """A new text for a user message: history from there on is removed and the turn runs again."""

    kind = "edit"
    message_id: MessageId
    parts: Parts
    model: str | None = None
    effort: str | None = None
    created_by: UserId


class Rewind(_Command, frozen=True, kw_only=True):
    """Back to before a user message: history from there on is removed, and the chat rests."""

    kind = "rewind"
    message_id: MessageId


class Restore(_Command, frozen=True, kw_only=True):
    """Takes a rewind back: what it removed is in history again, as new messages."""

    kind = "restore"
    # The version that the rewind gave the chat.
    rewound_at: int


class SetMode(_Command, frozen=True, kw_only=True):
    """What the agent may do from now on, and where its writes go; None: as before. It counts for every call
    that has not begun."""

    kind = "set_mode"
    mode: str | None = None
    writes: Writes | None = None


class Archive(_Command, frozen=True, kw_only=True):
    kind = "archive"


class Unarchive(_Command, frozen=True, kw_only=True):
    kind = "unarchive"


class Reconcile(_Command, frozen=True, kw_only=True):
    kind = "reconcile"


class Delete(_Command, frozen=True, kw_only=True):
    kind = "delete"


# --- Asked by the server itself ---


class LapseHolds(_Command, frozen=True, kw_only=True):
    kind = "lapse_holds"


class ExpireCalls(_Command, frozen=True, kw_only=True):
    kind = "expire_calls"


class DeliveryKey(Record, frozen=True, kw_only=True):
    child_id: ChatId
    turn: int

    @property
    def notice_key(self) -> str:
        """The key of the notice that delivers it."""
        return f"agent:{self.child_id}:{self.turn}"


class Notify(_Command, frozen=True, kw_only=True):
    """Something the model should know, once per key. With `delivery` it delivers a child's end. One that
    does not wake a chat at rest waits for its next turn, or enters its history now (`enter`)."""

    kind = "notify"
    source: str
    key: str
    text: str
    data: Json = None
    wake: bool = False
    enter: bool = False
    delivery: DeliveryKey | None = None


# --- Asked by the worker that owns the chat ---


class Acquire(_Command, frozen=True, kw_only=True):
    kind = "acquire"
    worker_id: WorkerId
    expires_at: datetime


class Release(_Command, frozen=True, kw_only=True):
    """`unbegun`: calls that are marked as started but that, as the owner knows, never began."""

    kind = "release"
    unbegun: tuple[CallId, ...] = ()


class NewMessage(Record, frozen=True, kw_only=True):
    role: Role
    parts: Parts
    visibility: Visibility = "both"
    model: str | None = None
    effort: str | None = None
    usage: Usage | None = None
    interrupted: bool = False
    compaction: bool = False


class BeginAttempt(_Command, frozen=True, kw_only=True):
    """The commit before a model call: waiting results enter history, then `messages` (instructions, a nudge),
    then steers and notices (unless the call is a compaction), then the attempt is counted."""

    kind = "begin_attempt"
    messages: tuple[NewMessage, ...] = ()
    admit: bool = True


class NoteRetry(_Command, frozen=True, kw_only=True):
    kind = "note_retry"
    failure: Failure
    delay_ms: int
    # What the attempts at this step have cost so far.
    spent: Usage = Usage()


class RequestCompaction(_Command, frozen=True, kw_only=True):
    kind = "request_compaction"
    request: CompactionRequest = "overflow"


class NewCall(Record, frozen=True, kw_only=True):
    """A tool call of the step's message. With `outcome` it already has an answer (unknown tool, refused by a
    rule)."""

    call_id: CallId
    name: str
    effect: Effect = "unsafe"
    reach: Reach = "none"
    traits: tuple[Trait, ...] = ()
    # Where the tool came from and as what it was configured; None: it is built in.
    source: str | None = None
    on_uncertain: Literal["tell", "ask"] = "tell"
    waits_for: Awaited | None = None
    deadline_seconds: float | None = None
    approval: Approval | None = None
    outcome: Outcome | None = None
    output: Json = None
    # As a hook changed it; None: as the model asked.
    input: Json = None


class JudgeCalls(_Command, frozen=True, kw_only=True):
    """What calls that waited for hooks are now: ready, waiting for somebody, or answered."""

    kind = "judge_calls"
    calls: tuple[NewCall, ...]


class BlockPrompt(_Command, frozen=True, kw_only=True):
    """A hook refused a user's message before any model saw it. It leaves history with what entered after it;
    `again` enters anew. If it started the turn, the turn is over."""

    kind = "block_prompt"
    message_id: MessageId
    notice: Notice
    again: tuple["NewMessage", ...] = ()
    ends_turn: bool = False


class NewStep(Record, frozen=True, kw_only=True):
    id: StepId | None = None
    kind: StepKind = "model"
    model: str | None = None
    provider: str | None = None
    response_id: str | None = None
    attempts: int = 1
    failures: tuple[Failure, ...] = ()
    usage: Usage = Usage()
    started_at: datetime
    first_part_at: datetime | None = None
    # Its duration by a clock that does not jump; None: nobody saw its start.
    seconds: float | None = None
    outcome: TurnOutcome = "finished"
    # Of the request, compared with the one of the step before.
    segments: SegmentChange | None = None
    cache: StepCache | None = None


class NoteStep(_Command, frozen=True, kw_only=True):
    """A model call that cost something and left nothing in history: an attempt that failed or was given up.
    `turn` is the one it was made for, which may be over."""

    kind = "note_step"
    turn: int
    step: NewStep


class CommitStep(_Command, frozen=True, kw_only=True):
    """The model's answer and the calls it asked for. A step that compacts completes a requested
    compaction."""

    kind = "commit_step"
    step: NewStep
    messages: tuple[NewMessage, ...]
    calls: tuple[NewCall, ...] = ()


class StartCalls(_Command, frozen=True, kw_only=True):
    kind = "start_calls"
    call_ids: tuple[CallId, ...]


class FinishCall(_Command, frozen=True, kw_only=True):
    """`full_output` is stored separately when the model's copy was cut; `consumes` lists the children's ends
    that the result reports."""

    kind = "finish_call"
    call_id: CallId
    run: int
    outcome: Outcome
    output: Json
    diff: str | None = None
    full_output: str | None = None
    consumes: tuple[DeliveryKey, ...] = ()
    # Its duration by a clock that does not jump; None: unknown.
    seconds: float | None = None


class RequireAction(_Command, frozen=True, kw_only=True):
    kind = "require_action"


class FinishTurn(_Command, frozen=True, kw_only=True):
    """`limit` says that a limit ended the turn: if the queue is not empty that is a failure, so that nothing
    continues."""

    kind = "finish_turn"
    notice: Notice | None = None
    limit: Failure | None = None


class FinishInterrupt(_Command, frozen=True, kw_only=True):
    """What was streamed before the interrupt, with its complete calls; none of them is run."""

    kind = "finish_interrupt"
    step: NewStep | None = None
    message: NewMessage | None = None
    calls: tuple[NewCall, ...] = ()


class FailTurn(_Command, frozen=True, kw_only=True):
    kind = "fail_turn"
    failure: Failure
    step: NewStep | None = None


PeopleCommand = (
    Create
    | Fork
    | Import
    | Send
    | Promote
    | MoveQueued
    | EditQueued
    | HoldQueued
    | ReleaseQueued
    | DeleteQueued
    | Interrupt
    | Stop
    | SubmitResults
    | Decide
    | Compact
    | RetryTurn
    | Edit
    | Rewind
    | Restore
    | SetMode
    | Archive
    | Unarchive
    | Reconcile
    | Delete
)
ServerCommand = LapseHolds | ExpireCalls | Notify
WorkerCommand = (
    Acquire
    | Release
    | BeginAttempt
    | NoteRetry
    | RequestCompaction
    | NoteStep
    | CommitStep
    | JudgeCalls
    | BlockPrompt
    | StartCalls
    | FinishCall
    | RequireAction
    | FinishTurn
    | FinishInterrupt
    | FailTurn
)
Command = PeopleCommand | ServerCommand | WorkerCommand


def name_of(command: Command) -> str:
    """The command's name in the table. `send` is three commands, one per `busy` mode."""
    return f"send_{command.busy}" if isinstance(command, Send) else command.kind
