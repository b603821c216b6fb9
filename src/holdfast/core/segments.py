"""The shape of a request: the ordered list of segments that it is made of. A step stores what changed since
the request before; whoever reads puts the whole together again."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Literal

from msgspec.structs import replace

from holdfast.core.ids import MessageId
from holdfast.core.shapes import Record

SegmentKind = Literal["system", "tools", "instructions", "skills", "memory", "summary", "message", "files"]


class Segment(Record, frozen=True, kw_only=True):
    """`tokens` is an estimate; `scaled` brings the estimates of a request to what its provider counted."""

    kind: SegmentKind
    label: str
    hash: str
    tokens: int
    # The message of history that it stands in.
    message_id: MessageId | None = None


Segments = tuple[Segment, ...]


class SegmentChange(Record, frozen=True, kw_only=True):
    """A request as the difference to the one before: its first `kept` segments, then these."""

    kept: int
    added: Segments


def difference(before: Sequence[Segment], after: Sequence[Segment]) -> SegmentChange:
    kept = unchanged(before, after)
    return SegmentChange(kept=kept, added=tuple(after[kept:]))


def unchanged(before: Sequence[Segment], after: Sequence[Segment]) -> int:
    """How many segments both begin with."""
    count = 0
    for one, other in zip(before, after, strict=False):
        if (one.kind, one.hash) != (other.kind, other.hash):
            break
        count += 1
    return count


def applied(before: Sequence[Segment], change: SegmentChange) -> Segments:
    return (*before[: change.kept], *change.added)


def rebuilt(changes: Iterable[SegmentChange]) -> Segments:
    """The last of these requests; the first change keeps nothing."""
    segments: Segments = ()
    for change in changes:
        segments = applied(segments, change)
    return segments


def estimated_tokens(segments: Iterable[Segment]) -> int:
    return sum(segment.tokens for segment in segments)


def scaled(segments: Sequence[Segment], counted: int | None) -> Segments:
    """The same, so that the tokens add up to what the provider counted. The rounding error goes to the
    largest."""
    estimated = estimated_tokens(segments)
    if not counted or not estimated:
        return tuple(segments)
    tokens = [segment.tokens * counted // estimated for segment in segments]
    largest = max(range(len(tokens)), key=tokens.__getitem__)
    tokens[largest] += counted - sum(tokens)
    return tuple(replace(segment, tokens=count) for segment, count in zip(segments, tokens, strict=True))


MissReason = Literal[
    "first_request",
    "model_changed",
    "system_changed",
    "tools_changed",
    "instructions_changed",
    "history_changed",
    "expired",
    "below_minimum",
    "provider",
]


class StepCache(Record, frozen=True, kw_only=True):
    """What a provider's cache did for a request. `reason` says why it did less than it could; `expires_at` is
    when what it holds now is forgotten, as far as the provider says."""

    read: int
    write: int
    fresh: int
    hit_rate: float | None
    reason: MissReason | None = None
    # Which segment changed, or how long ago the prefix was last used.
    detail: str | None = None
    message_id: MessageId | None = None
    lifetime_seconds: int | None = None
    expires_at: datetime | None = None
