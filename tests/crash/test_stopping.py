"""A process that is asked to stop: chats without a running call get another owner at once, a call gets its
grace period, and one that does not end in time is recorded with its output so far."""

import asyncio
import time
from pathlib import Path

import pytest
from msgspec.structs import replace

from holdfast.core.ids import ChatId
from holdfast.core.parts import ToolResult
from tests.crash.judge import judge
from tests.crash.scripts import call, message, new_tag
from tests.crash.stage import QUICK, Stage, a_stage
from tests.providers.answering import Asked
from tests.providers.replies import Hang, Reply, fails

pytestmark = [pytest.mark.heavy, pytest.mark.timeout(600)]


async def owned_anew(stage: Stage, chat_id: ChatId) -> None:
    while (await stage.dump(chat_id)).view.chat.lease_number < 2:  # noqa: ASYNC110 - it moves in the database
        await asyncio.sleep(0.05)


async def result(stage: Stage, chat_id: ChatId) -> ToolResult:
    parts = [part for entry in (await stage.dump(chat_id)).messages for part in entry.parts]
    (found,) = [part for part in parts if isinstance(part, ToolResult)]
    return found


async def test_f03_sigterm_while_the_provider_hangs_and_tools_run(postgres_url: str, tmp_path: Path) -> None:
    settings = replace(QUICK, lease_seconds=15.0, grace_seconds=20.0)
    async with a_stage(tmp_path, postgres_url, settings) as stage:
        tag, summaries = new_tag(), stage.provider.answer
        hangs = True

        def answer(asked: Asked) -> Reply | None:
            if hangs and f"[{tag}]".encode() in asked.raw:
                return fails(Hang())
            return summaries(asked) if summaries else None

        stage.provider.answer = answer
        owner = await stage.start()
        speaks = await stage.create(message(tag=tag))
        short = await stage.create(message(call("pay", gate="after")))
        long = await stage.create(message(call("drip", after=600)))
        await stage.until(lambda: stage.asked_of(f"[{tag}]") > 0 and len(stage.ledger.effects()) == 2)
        await stage.start()
        hangs = False

        owner.terminate()
        stopped_at = time.monotonic()
        await owned_anew(stage, speaks)
        assert time.monotonic() - stopped_at < 2 * 4
        # Calls have their time, and their owner keeps its lease for it.
        assert owner.alive
        assert (await stage.dump(long)).view.chat.lease_number == 1
        stage.open_gate()
        assert await owner.gone() == 0, owner.log()
        await stage.settle()
        ended, cut = await result(stage, short), await result(stage, long)
        assert ended.outcome == "succeeded"
        assert cut.outcome == "cancelled"
        assert str(cut.output).startswith("so far: ")
        assert [len(stage.ledger.effects(tool)) for tool in ("pay", "drip")] == [1, 1]
        # The request that was broken off is made once more.
        stage.kills.append("SIGTERM")
        assert await judge(stage) == []
        await stage.leave()
