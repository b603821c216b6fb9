"""How a worker handles hints: lost, duplicated, late, out of order, or plainly false. They may delay work;
they never end the right work, and never start anything twice."""

import asyncio
import random
from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from holdfast.chats.commands import Command, Decide, Delete, Edit, FinishTurn, Interrupt
from holdfast.core.events import BusEvent, Reread
from holdfast.core.ids import ChatId
from holdfast.core.parts import Text
from holdfast.store.hints import OWNED
from tests.providers.replies import say
from tests.worker.engine import OWNER, PATIENCE_SECONDS, SETTINGS, Engine, eventually
from tests.worker.toolbox import Toolbox

SLOWLY = "One two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen."


class Disorder:
    """Gives each hint three times, and with it some that are long out of date."""

    def __init__(self, publish: Callable[[BusEvent], None], seed: int) -> None:
        self.earlier: list[BusEvent] = []
        self._publish = publish
        self._chance = random.Random(seed)

    def give(self, hint: BusEvent) -> None:
        self.earlier.append(hint)
        again = [hint] * 3 + self._chance.choices(self.earlier, k=3)
        self._chance.shuffle(again)
        for one in again:
            self._publish(one)


@pytest.mark.parametrize("seed", range(3))
async def test_hints_doubled_late_and_in_the_wrong_order(engine: Engine, tools: Toolbox, seed: int) -> None:
    disorder = Disorder(engine.bus.publish, seed)
    engine.hints.forward = disorder.give
    engine.start()
    chat = await engine.create("call: patient\nsay: Never.")
    await eventually(lambda: tools.ledger == [""])
    await engine.do(chat, Interrupt())
    await engine.idle(chat)
    asked = len(engine.asked)
    # All that was ever said is said once more while the next turns work.
    await engine.send(chat, 'call: patient {"name": "b"}\nsay: Then.')
    await eventually(lambda: tools.ledger == ["", "b"])
    for hint in reversed(disorder.earlier):
        engine.bus.publish(hint)
    tools.go("b").set()
    await engine.idle(chat)
    engine.server.queue(say(SLOWLY, delay_seconds=0.01))
    await engine.send(chat, "Count")
    async with engine.watch(chat) as live:
        await live.until(lambda live: bool(live.text))
        for hint in disorder.earlier:
            engine.bus.publish(hint)
        await engine.idle(chat)
    assert [text for _, text in await engine.texts(chat)][-3:] == ["Then.", "Count", SLOWLY]
    assert tools.ledger == ["", "b"]
    assert len(engine.asked) == asked + 3


def alarm_once(engine: Engine, monkeypatch: pytest.MonkeyPatch, when: Callable[[], bool]) -> None:
    """The worker is told that its chat is not its own, ends its calls, and finds that it is."""
    read, alarms = engine.store.read, 0

    async def alarming(*queries: Any) -> Any:
        nonlocal alarms
        if queries[0].statements[0][0] == OWNED and when() and not alarms:
            alarms += 1
            return ()
        return await read(*queries)

    monkeypatch.setattr(engine.store, "read", alarming)


async def test_a_false_alarm_repeats_nothing_that_must_not_be_repeated(
    engine: Engine, tools: Toolbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    alarm_once(engine, monkeypatch, lambda: len(tools.ledger) == 2)
    engine.start()
    chat = await engine.create('calls: patient {"name": "a"}; patient_read {"name": "b"}\nsay: Done.')
    await eventually(lambda: len(tools.ledger) == 3)
    tools.go("b").set()
    await engine.idle(chat)
    assert sorted(tools.ledger) == ["a", "b", "b"]
    assert [result.outcome for result in await engine.results(chat)] == ["uncertain", "succeeded"]


async def test_a_false_alarm_asks_what_became_of_a_call_where_that_is_the_policy(
    engine: Engine, tools: Toolbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    alarm_once(engine, monkeypatch, lambda: len(tools.ledger) == 1)
    engine.start(replace(SETTINGS, ask_when_uncertain=True))
    chat = await engine.create('call: patient {"name": "a"}\nsay: Done.')
    await engine.waits(chat)
    (asked,) = await engine.asked_for(chat)
    assert (asked.kind, asked.name) == ("uncertain", "patient")
    decision = Decide(call_id=asked.call_id, verdict="done", user_id=OWNER, output="I saw it.")
    await engine.do(chat, decision)
    await engine.idle(chat)
    assert tools.ledger == ["a"]
    assert [result.output for result in await engine.results(chat)] == ["I saw it."]


async def test_an_interrupt_whose_hint_is_lost(engine_everywhere: Engine, tools: Toolbox) -> None:
    engine = engine_everywhere
    engine.start()
    chat = await engine.create("call: patient")
    await eventually(lambda: bool(tools.ledger))
    engine.hints.lost = True
    await engine.do(chat, Interrupt())
    await engine.idle(chat)
    assert tools.cancelled == [""]


async def test_all_hints_are_lost(engine: Engine, tools: Toolbox) -> None:
    engine.hints.lost = True
    worker = engine.start()
    chat = await engine.create("call: patient\nsay: Done.")
    await eventually(lambda: bool(tools.ledger))
    edited = (await engine.history(chat))[0].id
    parts = (Text(text='call: add {"a": 1, "b": 2}\nsay: Better.'),)
    await engine.do(chat, Edit(message_id=edited, parts=parts, created_by=OWNER))
    await engine.idle(chat)
    assert (await engine.texts(chat))[-1] == ("assistant", "Better.")
    await engine.send(chat, "call: patient")
    await eventually(lambda: len(tools.ledger) == 2)
    await engine.do(chat, Delete())
    await eventually(lambda: worker.held == 0)


async def test_read_again_ends_no_work_that_still_fits(engine: Engine) -> None:
    """A bus that was away for a while says so; a model that speaks is not interrupted for that."""
    engine.server.queue(say(SLOWLY, delay_seconds=0.01))
    engine.start()
    chat = await engine.create("Count")
    async with engine.watch(chat) as live:
        await live.until(lambda live: bool(live.text))
        for _ in range(3):
            engine.bus.publish(Reread(reason="connected"))
        await engine.idle(chat)
    assert (await engine.texts(chat))[-1] == ("assistant", SLOWLY)
    assert len(engine.asked) == 1


async def test_a_look_around_while_the_turn_is_being_ended_ends_no_work(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The chat is given back, the worker has not heard of it yet and finds that it owns it no more."""
    read, transition, looked = engine.store.read, engine.store.transition, asyncio.Event()

    async def looking(*queries: Any) -> Any:
        found = await read(*queries)
        if queries[0].statements[0][0] == OWNED and not found:
            asyncio.get_running_loop().call_soon(looked.set)
        return found

    async def ending(chat_id: ChatId, *commands: Command, **more: Any) -> Any:
        result = await transition(chat_id, *commands, **more)
        if any(isinstance(command, FinishTurn) for command in commands):
            looked.clear()
            engine.bus.publish(Reread(reason="connected"))
            await looked.wait()
        return result

    monkeypatch.setattr(engine.store, "read", looking)
    monkeypatch.setattr(engine.store, "transition", ending)
    engine.start()
    chat = await engine.create("Name me\nsay: Done.")
    await engine.idle(chat)
    # What follows a turn's end is done.
    async with asyncio.timeout(PATIENCE_SECONDS):
        while (await engine.chat(chat)).title != "Name me":  # noqa: ASYNC110 - no hint tells of it for sure
            await asyncio.sleep(0.01)
