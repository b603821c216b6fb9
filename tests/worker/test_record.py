"""The record of a turn: its trace is read from rows that exist anyway."""

from collections import Counter

import msgspec
import pytest

from holdfast.chats.commands import Compact, Interrupt
from holdfast.core.ids import ChatId
from holdfast.core.parts import Reasoning
from holdfast.core.shapes import Json
from holdfast.core.spans import Span
from holdfast.store.calls import calls_of_turns
from holdfast.store.messages import page
from holdfast.store.steps import steps_of_turns, turns
from holdfast.telemetry.spans import spans, under_way
from tests.providers.replies import Reply, Say, Status, Think, fails, say
from tests.worker.engine import Engine
from tests.worker.toolbox import Toolbox


async def trace(engine: Engine, chat: ChatId) -> tuple[Span, ...]:
    return spans(
        chat,
        *await engine.store.read(
            turns(chat), steps_of_turns(chat, 0, 99), calls_of_turns(chat, 0, 99), page(chat, limit=999)
        ),
    )


async def test_the_trace_of_a_turn(engine_everywhere: Engine, tools: Toolbox) -> None:
    engine = engine_everywhere
    engine.start()
    chat = await engine.create(
        'calls: add {"a": 1, "b": 2}; nope; broken\ncall: big {"size": 5000}\nsay: Done.'
    )
    await engine.idle(chat)
    found = await trace(engine, chat)
    assert Counter(span.kind for span in found) == {"turn": 1, "step": 3, "model_call": 3, "tool_call": 4}
    by_id = {span.id: span for span in found}
    assert len(by_id) == len(found)
    parents = {(span.kind, by_id[span.parent_id].kind if span.parent_id else None) for span in found}
    assert parents == {("turn", None), ("step", "turn"), ("model_call", "step"), ("tool_call", "step")}
    called = [span for span in found if span.kind == "tool_call"]
    assert sorted(f"{span.name} {span.outcome}" for span in called) == [
        "add succeeded",
        "big succeeded",
        "broken failed",
        "nope failed",
    ]
    big = next(span for span in called if span.name == "big")
    assert (big.truncated, big.output) == (True, "x" * 2000)
    # Everything lies within what it belongs to.
    for span in found:
        assert span.finished_at is not None
        if span.parent_id is not None and span.started_at is not None:
            began = by_id[span.parent_id].started_at
            assert began is not None
            assert began <= span.started_at


async def test_failed_attempts_and_summaries_are_in_it(engine: Engine) -> None:
    engine.server.queue(fails(Status(529)), say("Hello."), say("In short."))
    engine.start()
    chat = await engine.create("Hello")
    await engine.idle(chat)
    await engine.do(chat, Compact())
    await engine.idle(chat)
    found = await trace(engine, chat)
    (model_call,) = [span for span in found if span.kind == "model_call"]
    assert model_call.input == {"attempts": 2, "failures": ["overloaded"]}
    (compaction,) = [span for span in found if span.kind == "compaction"]
    assert compaction.parent_id == "turn-2"
    assert msgspec.convert(compaction.output, dict[str, Json])["summary"] == "In short."
    assert compaction.usage is not None
    assert compaction.usage.output > 0


@pytest.mark.heavy
async def test_a_step_is_on_the_bus_while_it_is_made(engine: Engine) -> None:
    """With the ids it has afterwards, and with what it used so far."""
    engine.server.queue(say("Word after word after word. " * 4, delay_seconds=0.15, piece=8))
    engine.start()
    async with engine.watch(chat := await engine.create("Hello", model="claude")) as live:
        await live.until(lambda live: len(live.steps) >= 3)
        last = live.steps[-1]
        await engine.idle(chat)
    stored = {span.id: span for span in await trace(engine, chat)}
    for begun in under_way(last):
        ended = stored[begun.id]
        assert (begun.parent_id, begun.kind, begun.name) == (ended.parent_id, ended.kind, ended.name)
        assert (begun.started_at, begun.outcome, begun.finished_at) == (ended.started_at, None, None)
    assert [span.kind for span in under_way(last)] == ["step", "model_call"]
    used = last.usage
    # Claude says at once what it read, and only at the end what it wrote.
    assert used.input > 0
    assert used.output > 0
    assert used.tokens_per_second is not None
    assert used.cost_usd_micros > 0
    assert last.episode == live.events[-1].episode


async def test_a_summary_is_on_the_bus_while_it_is_made(engine: Engine) -> None:
    engine.server.queue(say("Hello."), say("In short."))
    engine.start()
    chat = await engine.create("Hello")
    await engine.idle(chat)
    async with engine.watch(chat) as live:
        await engine.do(chat, Compact())
        await engine.idle(chat)
        (span,) = under_way(live.steps[0])
    assert (span.kind, span.parent_id, span.outcome) == ("compaction", "turn-2", None)


async def test_reasoning_is_dated(engine: Engine) -> None:
    engine.server.queue(Reply(content=(Think("Let me see."), Say("Three."))))
    engine.start()
    chat = await engine.create("Hello", model="claude")
    await engine.idle(chat)
    thought = (await engine.history(chat))[1].parts[0]
    assert isinstance(thought, Reasoning)
    assert thought.started_at is not None
    assert thought.finished_at is not None
    assert thought.started_at <= thought.finished_at


async def test_an_interrupted_step_says_when_it_began_to_speak_and_what_failed_before(engine: Engine) -> None:
    engine.server.queue(fails(Status(529)), say("One two three four five six seven.", delay_seconds=0.02))
    engine.start()
    chat = await engine.create("Hello")
    async with engine.watch(chat) as live:
        await live.until(lambda live: bool(live.text))
        await engine.do(chat, Interrupt())
        await engine.idle(chat)
    (step,) = await engine.steps(chat)
    assert step.outcome == "interrupted"
    assert step.first_part_at is not None
    assert [failure.kind for failure in step.failures] == ["overloaded"]


async def test_money_and_tokens_add_up_over_the_steps(engine: Engine) -> None:
    engine.start()
    chat = await engine.create('repeat 2: call: add {"a": 1, "b": 2}\nsay: Done.', model="claude")
    await engine.idle(chat)
    steps = await engine.steps(chat)
    usage = (await engine.chat(chat)).usage
    assert usage.total == sum(step.usage.total for step in steps)
    assert usage.cost_usd_micros == sum(step.usage.cost_usd_micros for step in steps) > 0
    assert usage.context_used == steps[-1].usage.context_used
