"""Everything that costs is a step: what was interrupted, given up or retried, and titles and summaries."""

import asyncio

from holdfast.chats.commands import BeginAttempt, Interrupt
from holdfast.core.ids import ChatId
from holdfast.core.segments import rebuilt, scaled
from holdfast.core.usage import Budget, Usage
from holdfast.providers.backoff import RetryRule
from holdfast.store.usage_totals import spent
from holdfast.worker.settings import WorkerSettings
from tests.providers.replies import Drop, Status, call, fails, say
from tests.worker.dead import commit, taken_by_the_doomed
from tests.worker.engine import OWNER, Engine, model

QUICK = RetryRule(first_seconds=0.01, most_seconds=0.02)
SLOWLY = "one two three four five six seven eight nine ten " * 20
USED = {"input": 120, "output": 7}


async def total(engine: Engine, chat: ChatId) -> Usage:
    """Of all steps, by the sum that `GET /usage` shows."""
    lines = await engine.store.read(spent(OWNER, "category", since_micros=0, limit=100))
    found = sum((line.usage for line in lines), Usage())
    shown = (await engine.chat(chat)).usage
    assert (found.input, found.output, found.total) == (shown.input, shown.output, shown.total)
    return found


async def test_an_interrupted_answer_is_estimated(engine_everywhere: Engine) -> None:
    engine = engine_everywhere
    engine.server.queue(say(SLOWLY, delay_seconds=0.02, piece=8))
    engine.start()
    chat = await engine.create("Count")
    async with engine.watch(chat) as live:
        await live.until(lambda live: len(live.text) > 40)
        await engine.do(chat, Interrupt())
        await engine.idle(chat)
    (step,) = await engine.steps(chat)
    said = len((await engine.texts(chat))[-1][1])
    assert step.usage.estimated
    assert step.usage.output == -(-said // 4)
    assert step.usage.input > 100
    assert (await total(engine, chat)).total == step.usage.input + step.usage.output


async def test_a_report_replaces_the_estimate(engine: Engine) -> None:
    engine.server.queue(say("Hello there.", usage=USED))
    engine.start()
    chat = await engine.create("Hello")
    await engine.idle(chat)
    (step,) = await engine.steps(chat)
    assert (step.usage.input, step.usage.output, step.usage.estimated) == (120, 7, False)


async def test_attempts_that_broke_are_paid_for(engine: Engine) -> None:
    engine.server.queue(fails(Drop(0.5)), say("At last.", usage=USED))
    engine.start(WorkerSettings(retry=QUICK))
    chat = await engine.create("Hello")
    await engine.idle(chat)
    (step,) = await engine.steps(chat)
    assert step.usage.estimated
    assert step.usage.input > 120
    assert step.usage.output > 7
    # How full the context is, the last one alone says.
    assert step.usage.context_used == 120
    assert (await total(engine, chat)).output == step.usage.output


async def test_an_attempt_that_was_refused_costs_nothing(engine: Engine) -> None:
    engine.server.queue(fails(Status(503)), say("At last.", usage=USED))
    engine.start(WorkerSettings(retry=QUICK))
    chat = await engine.create("Hello")
    await engine.idle(chat)
    assert (await total(engine, chat)).total == 127


async def test_titles_and_summaries_are_steps(engine_everywhere: Engine) -> None:
    engine = engine_everywhere
    engine.server.answer = lambda asked: say("A line", usage=USED) if not asked.body.get("tools") else None
    engine.start(WorkerSettings(title_model="default", retry=QUICK))
    chat = await engine.create("say: Hello.", budget=Budget(tokens=10**6))
    await engine.idle(chat)

    while len(await engine.steps(chat)) < 3:  # noqa: ASYNC110 - nobody is told of a step beside the turn
        await asyncio.sleep(0.02)
    kinds = [step.kind for step in await engine.steps(chat)]
    assert kinds == ["model", "title", "summary"]
    used = await total(engine, chat)
    budget = (await engine.chat(chat)).budget
    assert budget is not None
    assert budget.spent_tokens == used.total >= 254
    lines = await engine.store.read(spent(OWNER, "category", since_micros=0, limit=100))
    assert {line.key for line in lines} == {"chat", "title", "summary"}


async def test_every_step_knows_its_request(engine_everywhere: Engine) -> None:
    engine = engine_everywhere
    engine.configure(model(context_limit=100_000))
    engine.server.queue(
        call("add", {"a": 1, "b": 2}, usage={"input": 1000, "output": 5}),
        say("Three.", usage={"input": 1100, "output": 5, "cache_read": 900}),
    )
    engine.start()
    chat = await engine.create("Add")
    await engine.idle(chat)
    first, second = await engine.steps(chat)
    assert first.segments is not None
    assert second.segments is not None
    whole = rebuilt((first.segments, second.segments))
    assert whole[0].kind == "system"
    assert [segment.label for segment in whole if segment.kind == "message"] == [
        "user: Add",
        "assistant: add",
        "tool: add",
    ]
    assert sum(segment.tokens for segment in scaled(whole, 1100)) == 1100
    # The first request is stored whole, the second as what was added.
    assert (first.segments.kept, len(second.segments.added)) == (0, 2)
    assert first.cache is not None
    assert first.cache.reason == "first_request"
    assert second.cache is not None
    assert (second.cache.reason, second.cache.read) == (None, 900)
    # The next turn goes on from what is stored, whoever runs it.
    await engine.stop()
    engine.start()
    engine.server.queue(say("Yes.", usage={"input": 1200, "output": 5}))
    await engine.send(chat, "Sure?")
    await engine.idle(chat)
    third = (await engine.steps(chat))[-1]
    assert third.segments is not None
    assert third.segments.kept == len(whole)
    assert third.cache is not None
    assert third.cache.reason in ("provider", "below_minimum")


async def test_an_attempt_under_way_when_the_worker_stops(engine: Engine) -> None:
    engine.server.queue(say(SLOWLY, delay_seconds=0.02, piece=8), say("Done.", usage=USED))
    engine.start()
    chat = await engine.create("Count")
    async with engine.watch(chat) as live:
        await live.until(lambda live: len(live.text) > 40)
        await engine.stop()
    engine.start()
    await engine.idle(chat)
    # Counted once: the successor sees that its predecessor could still say it.
    given_up, done = await engine.steps(chat)
    assert (given_up.outcome, given_up.usage.estimated) == ("interrupted", True)
    assert given_up.usage.output > 0
    assert (done.usage.input, done.usage.output, done.attempts) == (120, 7, 2)


async def test_an_attempt_of_a_worker_that_died(engine: Engine) -> None:
    """Nobody knows how far it came: what it was sent counts."""
    chat, worker_id, fence = await taken_by_the_doomed(engine, "Count")
    await commit(engine, chat, fence, BeginAttempt())
    await engine.store.retire(worker_id)
    engine.server.queue(say("Done.", usage=USED))
    engine.start()
    await engine.idle(chat)
    lost, done = await engine.steps(chat)
    assert (lost.outcome, lost.usage.estimated, lost.usage.output) == ("interrupted", True, 0)
    assert lost.usage.input > 100
    assert (done.usage.input, done.usage.output) == (120, 7)
