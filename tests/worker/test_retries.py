"""Failed attempts: what is retried, how long the wait is, and what is reported if nothing helps."""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from msgspec.structs import replace

from holdfast.core.failures import Retry
from holdfast.providers.backoff import RetryRule
from holdfast.providers.configs import ModelConfig
from holdfast.worker.settings import WorkerSettings
from tests.providers.replies import (
    Drop,
    ErrorEvent,
    Fault,
    Garbage,
    Hang,
    NoEnd,
    Page,
    Status,
    fails,
    say,
)
from tests.worker.dead import leave_waiting_for_a_retry
from tests.worker.engine import Engine, model, providers

FORMATS = pytest.mark.parametrize("name", ["default", "claude"])


# Tried again


@FORMATS
async def test_a_stream_that_breaks_after_40_percent(engine_everywhere: Engine, name: str) -> None:
    engine = engine_everywhere
    engine.server.queue(fails(Drop(0.4), "It never arrives whole. " * 20), say("The whole answer."))
    chat = await engine.create("Hello", model=name)
    async with engine.watch(chat) as live:
        engine.start()
        await engine.idle(chat)
        # Two episodes: what belongs to the first was withdrawn.
        attempts = [event.episode.attempt for event in live.events]
        assert sorted(set(attempts)) == [1, 2]
        assert attempts == sorted(attempts)
    assert await engine.texts(chat) == [("user", "Hello"), ("assistant", "The whole answer.")]
    (step,) = await engine.steps(chat)
    assert step.attempts == 2
    assert [failure.kind for failure in step.failures] == ["transport"]
    assert len(engine.asked) == 2
    assert b'holdfast_failed_attempts_total{kind="transport"} 1.0' in engine.metrics.exposition()


RETRIED: list[tuple[str, Fault, str]] = [
    ("429", Status(429), "rate_limit"),
    ("529", Status(529), "overloaded"),
    ("500", Status(500), "server"),
    ("502 page", Status(502, "<html>Bad gateway</html>", {"Content-Type": "text/html"}), "server"),
    ("504", Status(504), "timeout"),
    ("reset at once", Drop(0, reset=True), "transport"),
    ("reset midway", Drop(0.5, reset=True), "transport"),
    ("no terminal event", NoEnd(), "transport"),
    ("error in the stream", ErrorEvent(), "overloaded"),
    ("not JSON", Garbage(), "server"),
]


@FORMATS
@pytest.mark.parametrize("fault, kind", [case[1:] for case in RETRIED], ids=[case[0] for case in RETRIED])
async def test_what_may_pass_is_tried_again_once_per_failure(
    engine: Engine, name: str, fault: Fault, kind: str
) -> None:
    engine.server.queue(fails(fault), fails(fault), say("At last."))
    engine.start()
    chat = await engine.create("Hello", model=name)
    await engine.idle(chat)
    assert (await engine.texts(chat))[-1] == ("assistant", "At last.")
    (step,) = await engine.steps(chat)
    assert [failure.kind for failure in step.failures] == [kind, kind]
    assert step.attempts == 3
    # One retry layer: nobody below tried again by itself.
    assert len(engine.asked) == 3


@pytest.mark.parametrize("after_headers", [False, True])
async def test_silence_is_a_failed_attempt(engine: Engine, after_headers: bool) -> None:
    async with providers(engine.server, silence_seconds=0.3) as models:
        engine.providers = models
        engine.server.queue(fails(Hang(after_headers)), say("At last."))
        engine.start()
        chat = await engine.create("Hello")
        await engine.idle(chat)
        (step,) = await engine.steps(chat)
        assert [failure.kind for failure in step.failures] == ["timeout"]
        await engine.stop()


async def test_nobody_answers(engine: Engine) -> None:
    await engine.server.stop()
    engine.start(WorkerSettings(retry=RetryRule(first_seconds=0.001, attempts=3)))
    chat = await engine.create("Hello")
    error = (await engine.failed(chat)).chat.last_error
    assert error is not None
    assert (error.kind, error.retryable) == ("transport", True)
    assert "Is the server running?" in error.message
    (step,) = await engine.steps(chat)
    assert (step.attempts, step.outcome, len(step.failures)) == (3, "failed", 3)


# How long


def date(seconds: float) -> str:
    """A moment as HTTP writes it."""
    return format_datetime(datetime.now(UTC) + timedelta(seconds=seconds), usegmt=True)


@pytest.mark.parametrize(
    "written, delay_ms",
    [
        ("7", 7000),
        ("in fifty minutes", 60_000),
        ("a minute ago", 1000),
        ("soon", 1000),
        ("-5", 1000),
        ("0.2", 1000),
        (str(10**9), 60_000),
        ("nan", 1000),
    ],
)
async def test_retry_after_is_heeded_within_reason(engine: Engine, written: str, delay_ms: int) -> None:
    dates = {"in fifty minutes": date(3000), "a minute ago": date(-60)}
    engine.server.queue(fails(Status(429, headers={"Retry-After": dates.get(written, written)})))
    engine.start(WorkerSettings(retry=RetryRule()))
    chat = await engine.create("Hello")
    view = await engine.until(chat, lambda view: view.chat.retry is not None)
    retry = view.chat.retry
    assert isinstance(retry, Retry)
    assert retry.delay_ms == delay_ms
    assert retry.next_at - view.chat.updated_at == timedelta(milliseconds=delay_ms)
    assert (retry.kind, retry.attempt, retry.status_code) == ("rate_limit", 1, 429)
    assert (await engine.chat(chat)).retry == retry


def test_waits_double_up_to_a_minute() -> None:
    rule = RetryRule()
    assert [rule.delay_seconds(attempt) for attempt in range(1, 9)] == [1, 2, 4, 8, 16, 32, 60, 60]
    assert rule.delay_seconds(24) == 60
    assert rule.delay_seconds(25) is None
    assert WorkerSettings().retry == rule


async def test_the_notice_is_gone_with_the_next_attempt(engine: Engine) -> None:
    engine.server.queue(fails(Status(500)), say("At last."))
    engine.start()
    chat = await engine.create("Hello")
    view = await engine.idle(chat)
    assert view.chat.retry is None
    assert view.chat.retry_version > 0


async def test_after_25_attempts_it_fails(engine_everywhere: Engine) -> None:
    engine = engine_everywhere
    engine.server.answer = lambda _: fails(Status(529))
    engine.start(WorkerSettings(retry=RetryRule(first_seconds=0.0001, most_seconds=0.001)))
    chat = await engine.create("Hello")
    error = (await engine.failed(chat)).chat.last_error
    assert error is not None
    assert error.kind == "overloaded"
    assert len(engine.asked) == 25
    (step,) = await engine.steps(chat)
    assert step.attempts == 25
    # The chat can be used: a person may try again.
    engine.server.answer = None
    await engine.send(chat, "say: Better now.")
    await engine.idle(chat)
    assert (await engine.texts(chat))[-1] == ("assistant", "Better now.")


async def test_a_new_owner_waits_out_what_the_old_one_began(engine_everywhere: Engine) -> None:
    engine = engine_everywhere
    chat = await leave_waiting_for_a_retry(engine, "say: At last.", attempts=3, delay_ms=700)
    before = await engine.store.view(chat)
    assert before is not None
    assert before.chat.retry is not None
    engine.start()
    await engine.idle(chat)
    (asked,) = engine.asked
    assert asked.at >= before.chat.retry.next_at.timestamp()
    # It goes on counting where the old one was.
    (step,) = await engine.steps(chat)
    assert step.attempts == 4


async def test_a_new_owner_does_not_begin_the_count_anew(engine: Engine) -> None:
    engine.server.answer = lambda _: fails(Status(529))
    chat = await leave_waiting_for_a_retry(engine, "Hello", attempts=22, delay_ms=1)
    engine.start()
    await engine.failed(chat)
    assert len(engine.asked) == 3


# Not tried again


FILTERED = '{"error":{"type":"invalid_request_error","code":"content_filter","message":"no"}}'
UNKNOWN_MODEL = '{"error":{"code":"model_not_found","message":"no such model"}}'

HOPELESS: list[tuple[str, Fault, str, str]] = [
    ("key", Status(401), "auth", "Set a valid one in api_key"),
    ("forbidden", Status(403), "auth", "refused the key"),
    ("credit", Status(402), "usage_limit", "Top it up"),
    ("content", Status(400, FILTERED), "content_filter", "Change the message or the model"),
    ("model", Status(404, UNKNOWN_MODEL), "config", "Change `model` in its config"),
    ("page", Page(), "config", "is not a model server"),
    ("elsewhere", Status(301, "", {"Location": "http://x"}), "config", "sends us elsewhere"),
    ("request", Status(400), "config", "refused the request"),
]


@pytest.mark.parametrize(
    "fault, kind, advice", [case[1:] for case in HOPELESS], ids=[case[0] for case in HOPELESS]
)
async def test_what_will_not_pass_fails_at_once_and_says_what_to_change(
    engine: Engine, fault: Fault, kind: str, advice: str
) -> None:
    engine.server.queue(fails(fault))
    engine.start()
    chat = await engine.create("Hello")
    error = (await engine.failed(chat)).chat.last_error
    assert error is not None
    assert error.kind == kind
    assert advice in error.message
    assert not error.retryable
    assert len(engine.asked) == 1
    (step,) = await engine.steps(chat)
    assert (step.outcome, step.attempts) == ("failed", 1)


async def test_a_key_that_is_nowhere(engine: Engine) -> None:
    setup = engine.providers.setup
    keyless = replace(setup.providers["here"], api_key="env:NOWHERE")
    engine.providers.replace(replace(setup, providers={**setup.providers, "here": keyless}))
    engine.start()
    chat = await engine.create("Hello")
    error = (await engine.failed(chat)).chat.last_error
    assert error is not None
    assert error.kind == "auth"
    assert "NOWHERE is not set" in error.message
    assert engine.asked == []


@pytest.mark.parametrize(
    "models, kind, advice",
    [
        ((), "config", "holdfast model discover"),
        ((model(enabled=False),), "disabled", "choose another"),
    ],
)
async def test_no_model_that_can_be_called(
    engine: Engine, models: tuple[ModelConfig, ...], kind: str, advice: str
) -> None:
    engine.configure(*models)
    engine.start()
    chat = await engine.create("Hello")
    error = (await engine.failed(chat)).chat.last_error
    assert error is not None
    assert (error.kind, error.retryable) == (kind, False)
    assert advice in error.message
    assert engine.asked == []


async def test_a_model_that_was_deleted_is_replaced_by_the_default(engine: Engine) -> None:
    engine.start()
    chat = await engine.create("Hello", model="gone")
    await engine.idle(chat)
    assert [asked.model for asked in engine.asked] == ["test-model"]
    assert (await engine.history(chat))[-1].model == "default"


async def test_the_queue_is_kept_when_a_turn_fails(engine: Engine) -> None:
    engine.server.queue(fails(Status(401)))
    chat = await engine.create("Hello")
    await engine.send(chat, "say: Second.")
    engine.start()
    view = await engine.failed(chat)
    assert len(view.queue) == 1
