"""The debug record: what was asked of a provider, what it answered, and each HTTP request that this took. It
is kept only where somebody switched it on, and holds no secret."""

from datetime import datetime
from typing import Literal

from holdfast.core.failures import Failure
from holdfast.core.ids import ChatId, DebugRunId, MessageId
from holdfast.core.shapes import Json, Record
from holdfast.core.usage import Usage

DebugKind = Literal["chat_turn", "title", "summary", "compaction"]
DebugStatus = Literal["in_progress", "interrupted", "error", "completed"]
# stream: shown while it came.  generate: only the whole answer was wanted.
DebugOperation = Literal["stream", "generate"]
ExchangeStatus = Literal["completed", "failed"]
DebugMode = Literal["off", "allow", "on"]

# A status is only followed by an equal or a later one.
STATUSES: tuple[DebugStatus, ...] = ("in_progress", "interrupted", "error", "completed")


def may_follow(before: DebugStatus, after: DebugStatus) -> bool:
    return STATUSES.index(after) >= STATUSES.index(before)


class DebugAttempt(Record, frozen=True, kw_only=True):
    """One HTTP request and its answer. The duration includes reading the answer."""

    number: int
    status: ExchangeStatus
    method: str
    url: str
    request_headers: dict[str, str]
    request_body: str | None
    response_headers: dict[str, str]
    response_body: str | None
    status_code: int | None
    error: str | None
    started_at: datetime
    finished_at: datetime
    duration_ms: int


class DebugStep(Record, frozen=True, kw_only=True):
    """One operation of a model, however many attempts it took."""

    id: str
    number: int
    operation: DebugOperation
    status: DebugStatus
    request: Json
    response: Json
    usage: Usage | None
    error: Failure | None
    history_message_id: MessageId | None
    started_at: datetime
    finished_at: datetime | None
    attempts: tuple[DebugAttempt, ...] = ()


class DebugSummary(Record, frozen=True, kw_only=True):
    first_message: str
    steps: int
    usage: Usage
    has_error: bool
    label: str


class DebugRun(Record, frozen=True, kw_only=True):
    """What a turn, a title, a summary or a compaction asked of models. `message_id` is the message that the
    turn began with, `history_message_id` the newest one when the record began."""

    id: DebugRunId
    chat_id: ChatId
    kind: DebugKind
    status: DebugStatus
    turn: int
    message_id: MessageId | None
    history_message_id: MessageId | None
    provider: str | None
    model: str | None
    started_at: datetime
    finished_at: datetime | None
    summary: DebugSummary


class DebugRunDetail(DebugRun, frozen=True, kw_only=True):
    """With its steps, from the one that was asked for on. `next_step`: there are more, from this one on."""

    steps: tuple[DebugStep, ...]
    next_step: int | None = None
