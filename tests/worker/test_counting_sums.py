"""Whatever happens to answers, the steps sum up to what the provider says it was asked for."""

import random

import pytest
from msgspec.structs import replace

from holdfast.chats.commands import BeginAttempt, Fence, Interrupt
from holdfast.core.ids import ChatId
from holdfast.core.usage import Usage
from holdfast.providers.backoff import RetryRule
from holdfast.store.usage_totals import spent
from holdfast.worker.settings import WorkerSettings
from tests.providers.replies import Drop, Status, fails, say
from tests.worker.dead import commit
from tests.worker.engine import OWNER, Engine

SETTINGS = WorkerSettings(retry=RetryRule(first_seconds=0.01, most_seconds=0.02))
# The format that reports the input at the beginning of its answer, so every request it began counts exactly.
MODEL = "claude"
INPUT, OUTPUT = 1000, 7
USED = {"input": INPUT, "output": OUTPUT}
SLOWLY = "one two three four five six seven eight nine ten " * 40
KINDS = ("whole", "dropped", "refused", "interrupted", "handed over", "killed")


async def begun_by_the_dead(engine: Engine, chat: ChatId) -> None:
    """The next turn is taken by a worker that dies in the middle of its first attempt."""
    await engine.stop()
    await engine.send(chat, "Again", model=MODEL)
    worker_id = await engine.store.register_worker("doomed", 60.0)
    (view,) = await engine.store.acquire(worker_id, limit=1, agents_limit=1)
    await commit(engine, chat, Fence(lease_number=view.chat.lease_number), BeginAttempt())
    await engine.store.retire(worker_id)


@pytest.mark.parametrize("seed", range(4))
async def test_the_sum_over_all_steps(engine: Engine, seed: int) -> None:
    chance = random.Random(seed)
    engine.start(SETTINGS)
    chat = await engine.create("say: Hello.", model=MODEL)
    await engine.idle(chat)
    first = sum((step.usage for step in await engine.steps(chat)), Usage())
    begun = whole = killed = 0
    # Each at least once, in an order of its own.
    for kind in chance.sample(KINDS, len(KINDS)):
        match kind:
            case "whole":
                engine.server.queue(say("Good.", usage=USED))
            case "dropped":
                engine.server.queue(replace(fails(Drop(0.6)), usage=USED), say("Good.", usage=USED))
                begun += 1
            case "refused":
                engine.server.queue(fails(Status(503)), say("Good.", usage=USED))
            case "killed":
                killed += 1
                await begun_by_the_dead(engine, chat)
                engine.server.queue(say("Good.", usage=USED))
                engine.start(SETTINGS)
                await engine.idle(chat)
                begun, whole = begun + 1, whole + 1
                continue
            case _:
                engine.server.queue(say(SLOWLY, delay_seconds=0.02, piece=8, usage=USED))
                begun += 1
                if kind == "handed over":
                    engine.server.queue(say("Good.", usage=USED))
        async with engine.watch(chat) as live:
            await engine.send(chat, "Again", model=MODEL)
            if kind in ("interrupted", "handed over"):
                await live.until(lambda live: len(live.text) > 30)
            if kind == "interrupted":
                await engine.do(chat, Interrupt())
            elif kind == "handed over":
                await engine.stop()
                engine.start(SETTINGS)
            await engine.idle(chat)
        if kind != "interrupted":
            begun, whole = begun + 1, whole + 1
    steps = await engine.steps(chat)
    total = sum((step.usage for step in steps), Usage())
    # Of an attempt whose worker died nobody knows more than what it was sent.
    lost = [step.usage for step in steps if step.usage.input and not step.usage.output]
    assert len(lost) == killed
    assert all(usage.estimated for usage in lost)
    assert total.input - first.input - sum(usage.input for usage in lost) == INPUT * begun
    # What was cut had no report of its output: what came is counted at least.
    reported = sum((step.usage for step in steps if not step.usage.estimated), Usage())
    assert total.output - first.output >= OUTPUT * whole
    assert reported.output <= total.output
    lines = await engine.store.read(spent(OWNER, "chat", since_micros=0, limit=10))
    shown = (await engine.chat(chat)).usage
    assert [line.usage.total for line in lines] == [total.total] == [shown.total]
