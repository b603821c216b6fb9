"""Why a provider's cache missed: each reason by an example."""

from datetime import UTC, datetime, timedelta

import pytest
from msgspec.structs import replace

from holdfast.core.ids import MessageId
from holdfast.core.segments import Segment, SegmentKind, Segments
from holdfast.core.usage import Usage
from holdfast.providers.cache_rules import CacheRule, cache_rule
from holdfast.telemetry.cache import SentRequest, cache_of, miss_of

NOW = datetime(2026, 5, 6, tzinfo=UTC)
RULE = CacheRule(lifetime_seconds=300, minimum_tokens=1000)
MISS = Usage(input=5000, total=5000)


def segment(kind: SegmentKind, text: str) -> Segment:
    return Segment(kind=kind, label=text, hash=text, tokens=10, message_id=MessageId("m-" + text))


SEGMENTS: Segments = (
    segment("system", "base"),
    segment("tools", "tools (3)"),
    segment("instructions", "AGENTS.md"),
    segment("skills", "skills"),
    segment("message", "user: hello"),
)
BEFORE = SentRequest(model="m", segments=SEGMENTS, input=4000, at=NOW - timedelta(seconds=20))


MORE = (*SEGMENTS, segment("message", "new"))


def now(segments: Segments = MORE, model: str = "m") -> SentRequest:
    return SentRequest(model=model, segments=segments, input=5000, at=NOW)


def changed(number: int) -> Segments:
    return (*SEGMENTS[:number], replace(SEGMENTS[number], hash="other"), *SEGMENTS[number + 1 :])


@pytest.mark.parametrize(
    "before, after, rule, reason",
    [
        (None, now(), RULE, "first_request"),
        (BEFORE, now(model="other"), RULE, "model_changed"),
        (BEFORE, now(changed(0)), RULE, "system_changed"),
        (BEFORE, now(changed(1)), RULE, "tools_changed"),
        (BEFORE, now(changed(2)), RULE, "instructions_changed"),
        (BEFORE, now(changed(3)), RULE, "instructions_changed"),
        (BEFORE, now(changed(4)), RULE, "history_changed"),
        (BEFORE, now(SEGMENTS[:4]), RULE, "history_changed"),
        (replace(BEFORE, at=NOW - timedelta(hours=1)), now(), RULE, "expired"),
        (replace(BEFORE, input=500), now(), RULE, "below_minimum"),
        (BEFORE, now(), RULE, "provider"),
        # Nobody knows how long it keeps a prefix.
        (replace(BEFORE, at=NOW - timedelta(hours=1)), now(), CacheRule(), "provider"),
    ],
)
def test_the_reason(before: SentRequest | None, after: SentRequest, rule: CacheRule, reason: str) -> None:
    miss = miss_of(before, after, MISS, rule, started_at=NOW)
    assert miss is not None
    assert miss.reason == reason


def test_which_message_changed() -> None:
    miss = miss_of(BEFORE, now(changed(4)), MISS, RULE, started_at=NOW)
    assert miss is not None
    assert (miss.detail, miss.message_id) == ("user: hello", "m-user: hello")


@pytest.mark.parametrize(
    "before, usage",
    [
        (BEFORE, Usage(input=5000, cache_read=4000, total=5000)),
        (BEFORE, Usage(input=5000, cache_read=2048, total=5000)),
        (None, Usage(input=5000, cache_read=4000, total=5000)),
        (BEFORE, Usage()),
        (BEFORE, Usage(input=5000, total=5000, estimated=True)),
    ],
    ids=["served", "by blocks", "another chat's prefix", "nothing is known", "our own estimate"],
)
def test_no_reason(before: SentRequest | None, usage: Usage) -> None:
    assert miss_of(before, now(), usage, RULE, started_at=NOW) is None


def test_what_is_stored() -> None:
    usage = Usage(input=5000, cache_read=4000, cache_write=600, total=5000)
    cache = cache_of(BEFORE, now(), usage, RULE, started_at=NOW)
    assert (cache.read, cache.write, cache.fresh, cache.hit_rate) == (4000, 600, 400, 0.8)
    assert (cache.lifetime_seconds, cache.expires_at) == (300, NOW + timedelta(seconds=300))
    assert cache.reason is None


def test_a_provider_that_says_nothing_of_its_cache_has_no_countdown() -> None:
    assert cache_of(BEFORE, now(), MISS, cache_rule("ollama"), started_at=NOW).expires_at is None
