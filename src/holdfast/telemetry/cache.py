"""Why a provider's cache served less of a request than it could have: a pure function over the request and
the one before it."""

from datetime import datetime, timedelta

from holdfast.core.ids import MessageId
from holdfast.core.segments import MissReason, Segment, SegmentKind, Segments, StepCache, unchanged
from holdfast.core.shapes import Record
from holdfast.core.usage import Usage
from holdfast.providers.cache_rules import CacheRule

# A cache that serves less than this share of the request before did not do what it could: providers round
# down to blocks, and the newest messages may not be kept yet.
SERVED = 0.5


class SentRequest(Record, frozen=True, kw_only=True):
    """A request that was answered: to which model, what it was made of, how large it was, when it ended."""

    model: str | None
    segments: Segments
    input: int
    at: datetime


class Miss(Record, frozen=True, kw_only=True):
    reason: MissReason
    detail: str | None = None
    message_id: MessageId | None = None


def cache_of(
    before: SentRequest | None, now: SentRequest, usage: Usage, rule: CacheRule, *, started_at: datetime
) -> StepCache:
    """`usage` is what the provider counted for this request."""
    fresh = max(usage.input - usage.cache_read - usage.cache_write, 0)
    miss = miss_of(before, now, usage, rule, started_at=started_at)
    kept = rule.lifetime_seconds is not None and (
        usage.cache_read + usage.cache_write > 0 or now.input >= rule.minimum_tokens
    )
    lifetime = rule.lifetime_seconds if kept else None
    return StepCache(
        read=usage.cache_read,
        write=usage.cache_write,
        fresh=fresh,
        hit_rate=hit_rate(usage),
        reason=None if miss is None else miss.reason,
        detail=None if miss is None else miss.detail,
        message_id=None if miss is None else miss.message_id,
        lifetime_seconds=lifetime,
        expires_at=None if lifetime is None else now.at + timedelta(seconds=lifetime),
    )


def hit_rate(usage: Usage) -> float | None:
    return round(usage.cache_read / usage.input, 4) if usage.input else None


def miss_of(
    before: SentRequest | None, now: SentRequest, usage: Usage, rule: CacheRule, *, started_at: datetime
) -> Miss | None:
    """None: the cache did what could be expected of it, or nothing is known."""
    if not usage.input or usage.estimated:
        return None
    if before is None:
        return Miss(reason="first_request") if usage.cache_read < SERVED * usage.input else None
    if usage.cache_read and usage.cache_read >= SERVED * min(before.input, usage.input):
        return None
    if before.model != now.model:
        return Miss(reason="model_changed", detail=f"{before.model} to {now.model}")
    kept = unchanged(before.segments, now.segments)
    if kept < len(before.segments):
        return _changed(before.segments[kept])
    if max(before.input, usage.input) < rule.minimum_tokens or before.input < rule.minimum_tokens:
        return Miss(reason="below_minimum", detail=f"{rule.minimum_tokens} tokens are the least")
    idle = (started_at - before.at).total_seconds()
    if rule.lifetime_seconds is not None and idle > rule.lifetime_seconds:
        return Miss(reason="expired", detail=f"{round(idle)} s without a request")
    return Miss(reason="provider")


_REASONS: dict[SegmentKind, MissReason] = {
    "system": "system_changed",
    "tools": "tools_changed",
    "instructions": "instructions_changed",
    "skills": "instructions_changed",
    "memory": "instructions_changed",
    "summary": "history_changed",
    "message": "history_changed",
    "files": "history_changed",
}


def _changed(segment: Segment) -> Miss:
    """What stood here before does not any more."""
    return Miss(reason=_REASONS[segment.kind], detail=segment.label, message_id=segment.message_id)
