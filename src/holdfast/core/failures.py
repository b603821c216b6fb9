"""Failures: why a turn or an attempt did not succeed, as shown to people and clients."""

from datetime import datetime

from msgspec import UNSET, UnsetType

from holdfast.core.shapes import Record
from holdfast.core.usage import Usage


class Failure(Record, frozen=True, kw_only=True):
    kind: str
    message: str
    detail: str | None = None
    provider: str | None = None
    status_code: int | None = None
    retryable: bool = False


class ModelLimits(Record, frozen=True, kw_only=True):
    """What a failed attempt says about its model. `room` is the space left for an answer to this request
    only; the others hold for every request."""

    max_output: int | None = None
    context_limit: int | None = None
    room: int | None = None
    tools: bool = True


class Retry(Failure, frozen=True, kw_only=True):
    """A failed attempt that will be retried at `next_at`."""

    attempt: int
    delay_ms: int
    next_at: datetime
    # What the attempts before have cost: counted with the step when it ends.
    spent: Usage | UnsetType = UNSET
