"""Kills around messages: each is applied once, is in one place, and keeps its position."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from holdfast.core.ids import ChatId
from holdfast.core.messages import Busy
from holdfast.providers.backoff import RetryRule
from tests.crash.handle import Handle
from tests.crash.judge import judge
from tests.crash.orders import Dump
from tests.crash.points import Point
from tests.crash.scripts import call, message, new_tag, slowly, tag_of
from tests.crash.stage import QUICK, Stage, a_stage

pytestmark = [pytest.mark.heavy, pytest.mark.timeout(600)]


async def look(victim: Handle, chat_id: ChatId) -> Dump:
    """The chat as a victim sees it that does not work yet."""
    dumps = (await victim.ask("dump")).dumps
    return next(dump for dump in dumps if dump.chat.id == chat_id)


def places(dump: Dump, tag: str) -> tuple[int, int]:
    """How often a message is in history and in the queue."""
    said = [message for message in dump.messages if message.visibility != "model"]
    return (
        sum(tag_of(message.parts) == tag for message in said),
        sum(tag_of(item.parts) == tag for item in dump.view.queue),
    )


def said(dump: Dump) -> list[str]:
    """The tags of what users said, in order."""
    return [tag_of(entry.parts) for entry in dump.messages if entry.role == "user" and not entry.compaction]


@pytest.mark.parametrize(
    "when,busy", [("before", "queue"), ("inside", "queue"), ("after", "interrupt"), ("after", "steer")]
)
async def test_f05_a_message_asked_for_twice_is_there_once(stage: Stage, when: str, busy: Busy) -> None:
    victim = await stage.start()
    chat_id = await stage.create(message(call("look", gate="after")))
    await stage.until(lambda: stage.effects_of(chat_id) == 1)
    point, tag = Point(name=f"{when} send_{busy}"), new_tag()
    await victim.ask("arm", point)
    sending = stage.later(stage.send(chat_id, message(call("pay"), tag=tag), busy))
    await stage.dead(victim, point.words)

    successor = await stage.begin(working=False)
    await successor.ready()
    there = sum(places(await look(successor, chat_id), tag))
    assert there in {"before": (0,), "inside": (0, 1), "after": (1,)}[when]
    await stage.present(successor)
    answer = await sending
    assert answer.refusal is None
    assert answer.replayed == (there == 1)
    assert sum(places(await look(successor, chat_id), tag)) == 1
    stage.open_gate()
    await successor.ask("work")
    await stage.settle()
    assert await judge(stage) == []
    assert len(stage.ledger.effects("pay")) == 1
    await stage.leave()


@pytest.mark.parametrize("when", ["before", "inside", "after"])
async def test_f06_a_kill_inside_a_promotion_leaves_the_message_in_one_place(stage: Stage, when: str) -> None:
    point = Point(name=f"{when} finish_turn")
    victim = await stage.start()
    chat_id = await stage.create(message(call("look", gate="after")))
    tags = [new_tag() for _ in range(3)]
    for tag in tags:
        await stage.send(chat_id, message(call("pay"), tag=tag))
    await victim.ask("arm", point)
    stage.open_gate()
    await stage.dead(victim, point.words)

    successor = await stage.start(working=False)
    dump = await look(successor, chat_id)
    assert all(sum(places(dump, tag)) == 1 for tag in tags)
    entered = [places(dump, tag)[0] for tag in tags]
    assert entered in {"before": ([0, 0, 0],), "inside": ([0, 0, 0], [1, 0, 0]), "after": ([1, 0, 0],)}[when]
    await successor.ask("work")
    await stage.settle()
    assert await judge(stage) == []
    assert said(await stage.dump(chat_id))[1:] == tags
    await stage.leave()


async def test_f07_messages_behind_an_interrupted_turn_are_delivered_in_order(stage: Stage) -> None:
    point = Point(name="before finish_interrupt")
    victim = await stage.start()
    chat_id = await stage.create(message(slowly(20)))
    tags = [new_tag() for _ in range(3)]
    for tag in tags:
        await stage.send(chat_id, message(tag=tag))
    await victim.ask("arm", point)
    await stage.interrupt(chat_id)
    await stage.dead(victim, point.words)
    await stage.start()
    await stage.settle()
    assert await judge(stage) == []
    dump = await stage.dump(chat_id)
    assert said(dump)[1:] == tags
    assert [turn.outcome for turn in dump.turns] == ["interrupted", "finished", "finished", "finished"]
    await stage.leave()


@pytest.mark.parametrize("failure", ["auth", "timeout"])
async def test_f07_messages_behind_a_failed_turn_are_kept(
    database: str, tmp_path: Path, failure: str
) -> None:
    settings = replace(QUICK, retry=RetryRule(attempts=1))
    async with a_stage(tmp_path, database, settings) as stage:
        point = Point(name="after fail_turn")
        victim = await stage.start()
        chat_id = await stage.create(message(call("look", gate="after"), f"fail: {failure}"))
        tags = [new_tag() for _ in range(4)]
        for tag in tags[:3]:
            await stage.send(chat_id, message(tag=tag))
        await victim.ask("arm", point)
        stage.open_gate()
        await stage.dead(victim, point.words)

        successor = await stage.start()
        dump = await look(successor, chat_id)
        assert dump.chat.status == "error"
        assert [tag_of(item.parts) for item in dump.view.queue] == tags[:3]
        # The next message goes behind them, and lets them go.
        await stage.send(chat_id, message(tag=tags[3]))
        await stage.settle()
        assert await judge(stage, scripted_failures=frozenset({failure})) == []
        assert said(await stage.dump(chat_id))[1:] == tags
        await stage.leave()
