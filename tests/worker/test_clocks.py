"""The wall clock is set while work is in progress: nothing is lost, and no duration is negative."""

import asyncio
from datetime import timedelta

import pytest
from msgspec.structs import replace

from holdfast.core.clock import Stopwatch
from holdfast.core.ids import ChatId
from holdfast.core.spans import Span
from holdfast.store.steps import traced
from holdfast.telemetry.spans import spans
from tests.worker.dead import leave_running, new_call
from tests.worker.engine import SETTINGS, Engine, ShiftedClock, eventually
from tests.worker.toolbox import Toolbox

HOUR = 3600.0
YEAR = 365 * 24 * HOUR
# Renewed often; a busy machine may be late by two thirds of it.
LEASE_SECONDS = 6.0


async def spans_of(engine: Engine, chat_id: ChatId) -> tuple[Span, ...]:
    found = await engine.store.read(traced(chat_id, 0, 1000))
    return spans(chat_id, found.turns, found.steps, found.calls, found.messages)


@pytest.mark.parametrize("seconds", [20.0, HOUR, 10 * YEAR, -20.0, -HOUR])
async def test_a_jump_costs_neither_the_lease_nor_a_call(
    engine: Engine, tools: Toolbox, seconds: float
) -> None:
    asked = 'reason: Hm.\ncall: patient {"name": "a"}\nsay: Done.'
    chat = await engine.create(asked)
    engine.start(replace(SETTINGS, lease_seconds=LEASE_SECONDS))
    await eventually(lambda: tools.ledger == ["a"])
    engine.clock.jumped += timedelta(seconds=seconds)
    # Another chat is run meanwhile: the worker takes and renews as ever.
    await engine.idle(await engine.create("say: Hello."))
    tools.go("a").set()
    await engine.idle(chat)
    assert tools.ledger == ["a"]
    assert tools.cancelled == []
    assert b"holdfast_leases_lost_total 0.0" in engine.metrics.exposition()
    found = await spans_of(engine, chat)
    assert {span.kind for span in found} == {"turn", "step", "model_call", "tool_call"}
    for span in found:
        # Seen from beginning to end by one process, and by the clock that was not set.
        assert span.duration_ms is not None
        assert 0 <= span.duration_ms < 1000 * HOUR / 2
        assert not span.estimated
    (result,) = await engine.results(chat)
    assert result.started_at is not None
    assert result.finished_at is not None
    assert result.started_at < result.finished_at


@pytest.mark.heavy
async def test_replicas_whose_clocks_differ(postgres_url: str, engine_on_postgres: Engine) -> None:
    """A worker that died an hour ahead of the one that takes over."""
    engine = engine_on_postgres
    engine.clock.jumped = timedelta(hours=1)
    chat = await leave_running(engine, "say: Done.", new_call("write", name="a"))
    engine.clock.jumped = timedelta()
    engine.start()
    await engine.idle(chat)
    found = {span.kind: span for span in await spans_of(engine, chat)}
    assert all(span.duration_ms is not None and span.duration_ms >= 0 for span in found.values())
    assert found["tool_call"].outcome == "uncertain"
    assert found["tool_call"].estimated


async def test_a_stopwatch_is_not_moved_by_the_wall() -> None:
    clock = ShiftedClock()
    watch = Stopwatch(clock)
    clock.jumped = timedelta(hours=-1)
    await asyncio.sleep(0.001)
    assert watch.started_at < watch.now() < watch.started_at + timedelta(minutes=30)
    assert 0 < watch.seconds < HOUR / 2
