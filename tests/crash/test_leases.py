"""Leases between processes: frozen workers, busy workers, and the order in which many orphans are taken."""

import asyncio
import os
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from msgspec.structs import replace

from holdfast.core.ids import ChatId
from tests.crash.handle import Handle
from tests.crash.judge import judge
from tests.crash.points import Point
from tests.crash.scripts import call, message, new_tag, slowly
from tests.crash.stage import QUICK, Stage, a_stage

pytestmark = [pytest.mark.heavy, pytest.mark.timeout(900)]


@asynccontextmanager
async def a_pair(
    directory: Path, url: str, lease_seconds: float
) -> AsyncGenerator[tuple[Stage, Handle, Handle]]:
    """An owner that works and a replica that does not yet. Clients talk to the replica."""
    settings = replace(QUICK, lease_seconds=lease_seconds)
    async with a_stage(directory, url, settings) as stage:
        owner = await stage.start()
        replica = await stage.start(working=False)
        yield stage, owner, replica


async def lease_number(stage: Stage, chat_id: ChatId) -> int:
    return (await stage.dump(chat_id)).view.chat.lease_number


@pytest.mark.parametrize("script", [slowly(2), call("stamp", after=2)], ids=["stream", "tool"])
async def test_f02_a_live_replica_takes_over(postgres_url: str, tmp_path: Path, script: str) -> None:
    lease_seconds = 3.0
    async with a_pair(tmp_path, postgres_url, lease_seconds) as (stage, owner, replica):
        tag = new_tag()
        chat_id = await stage.create(message(script, tag=tag))
        await stage.until(lambda: stage.asked_of(tag) > 0)
        await replica.ask("work")
        await stage.kill(owner)
        async with asyncio.timeout((lease_seconds + 5) * 4):
            while await lease_number(stage, chat_id) < 2:  # noqa: ASYNC110 - it moves in the database
                await asyncio.sleep(0.1)
        await stage.settle()
        assert await judge(stage) == []
        await stage.leave()


async def test_f14_a_short_freeze_changes_nothing(postgres_url: str, tmp_path: Path) -> None:
    lease_seconds = 12.0
    async with a_pair(tmp_path, postgres_url, lease_seconds) as (stage, owner, replica):
        for _ in range(5):
            lost = (await owner.counts()).leases_lost
            chat_id = await stage.create(message(call("pay", after=lease_seconds)))
            await stage.until(lambda chat_id=chat_id: stage.effects_of(chat_id) == 1)
            await replica.ask("work")
            frozen_seconds = await freeze(owner, lease_seconds / 2)
            await stage.settle()
            # The last renewal may be a third of the lease old when it begins.
            if frozen_seconds < lease_seconds * 2 / 3:
                break
            await replica.leave()
            replica = await stage.start(working=False)
        else:
            pytest.skip("the machine is too busy to freeze a process for half a lease and no longer")
        assert await lease_number(stage, chat_id) == 1
        assert (await owner.counts()).leases_lost == lost
        (recorded,) = (await stage.dump(chat_id)).calls
        assert (recorded.outcome, recorded.run) == ("succeeded", 1)
        assert await judge(stage) == []
        await stage.leave()


async def freeze(victim: Handle, seconds: float) -> float:
    """For how long it really was."""
    began_at = time.monotonic()
    victim.freeze()
    await asyncio.sleep(seconds)
    victim.thaw()
    return time.monotonic() - began_at


@pytest.mark.parametrize("late", ["commit_step", "finish_call"])
async def test_f15_who_was_frozen_too_long_can_do_nothing_more(
    postgres_url: str, tmp_path: Path, late: str
) -> None:
    """It freezes with a process of its own running in one chat and a commit about to be made in another."""
    lease_seconds = 3.0
    async with a_pair(tmp_path, postgres_url, lease_seconds) as (stage, owner, replica):
        script = call("breed", after=600), call("look", after=5 * lease_seconds)
        breeding = await stage.create(message(*script))
        await stage.until(lambda: stage.effects_of(breeding, "breed") == 1)
        child = int(stage.ledger.effects("breed")[0].receipt)
        await owner.ask("arm", Point(name=f"before {late}", ends_in="freeze"))
        other = await stage.create(message(call("stamp") if late == "finish_call" else slowly(0.2)))
        # The replica would take the other chat itself if it were quicker.
        await stage.until(lambda: owner.is_frozen)
        frozen_at = time.monotonic()
        await replica.ask("work")
        await stage.until(lambda: stage.effects_of(breeding, "look") > 0)
        await stage.until_chat(other, lambda chat: chat.status == "idle")
        await asyncio.sleep(max(0.0, frozen_at + 5 * lease_seconds - time.monotonic()))
        assert is_alive(child)
        before = (await stage.dump(other)).chat.version

        owner.thaw()
        await stage.until(lambda: not is_alive(child), 5 * 4)
        await stage.until(lambda: stage.ledger.leases_lost() > 0)
        async with asyncio.timeout(60):
            while not (counts := await owner.counts()).refused:  # noqa: ASYNC110 - counted over there
                await asyncio.sleep(0.1)
        assert counts.leases_lost > 0
        await stage.settle()
        assert await judge(stage) == []
        assert [line.pid for line in stage.ledger.effects("breed")] == [owner.pid]
        assert (await stage.dump(other)).chat.version == before, "the late commit counted"
        await stage.leave()


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize("tool", ["spin", "spin_on_loop"])
async def test_f16_a_tool_that_blocks_does_not_cost_the_lease(
    database: str, tmp_path: Path, tool: str
) -> None:
    """In a thread nobody else even notices; on the loop everything waits, and the lease is kept."""
    lease_seconds = 5.0
    settings = replace(QUICK, lease_seconds=lease_seconds)
    async with a_stage(tmp_path, database, settings) as stage:
        victim = await stage.start()
        chat_id = await stage.create(message(f'call: {tool} {{"seconds": {lease_seconds * 1.5}}}'))
        await stage.until(lambda: stage.effects_of(chat_id, tool) == 1)
        if tool == "spin":
            other = await stage.create(message(call("look")))
            await stage.until_chat(other, lambda chat: chat.status == "idle")
            assert (await stage.chats())[chat_id].status == "running", "it held the others up"
        await stage.settle()
        assert (await victim.counts()).leases_lost == 0
        assert await lease_number(stage, chat_id) == 1
        (recorded,) = (await stage.dump(chat_id)).calls
        assert (recorded.outcome, recorded.run) == ("succeeded", 1)
        assert await judge(stage) == []
        await stage.leave()


async def test_f18_orphans_are_each_taken_once(postgres_url: str, tmp_path: Path) -> None:
    """Two replicas begin at the same moment with the chats of one that died."""
    count = 100
    settings = replace(QUICK, lease_seconds=10.0, max_chats=200, max_per_user=200)
    async with a_stage(tmp_path, postgres_url, settings) as stage:
        victim = await stage.start()
        texts = [message(call("pay"), call("stamp", before=1)) for _ in range(count)]
        await asyncio.gather(*(stage.create(text) for text in texts))
        await stage.until(lambda: len(stage.ledger.effects("pay")) > count // 2)
        await stage.kill(victim)
        dead_at = time.monotonic()
        replicas = [await stage.start(working=False) for _ in range(2)]
        orphans = {
            chat_id: dump.view.chat
            for chat_id, dump in (await stage.dumps()).items()
            if dump.chat.status == "running"
        }
        assert orphans
        await asyncio.sleep(max(0.0, dead_at + settings.lease_seconds - time.monotonic()))
        await asyncio.gather(*(replica.ask("work") for replica in replicas))
        await stage.settle()
        assert await judge(stage) == []
        dumps = await stage.dumps()
        if not any([(await replica.counts()).leases_lost for replica in replicas]):
            taken = {
                chat_id: dumps[chat_id].view.chat.lease_number - chat.lease_number
                for chat_id, chat in orphans.items()
            }
            assert set(taken.values()) == {1}

        await stage.leave_victims()
        replicas = [await stage.start() for _ in range(2)]
        await asyncio.sleep(3)
        again = await stage.dumps()
        assert {chat_id: dump.chat.version for chat_id, dump in again.items()} == {
            chat_id: dump.chat.version for chat_id, dump in dumps.items()
        }
        await stage.leave()
