"""A server that is killed while a workflow of a chat begins, works or ends: the chat is told of each start
and each end exactly once."""

import asyncio
import random
from pathlib import Path

import pytest

from tests.api.test_chat_runs import finished_chat, told_in
from tests.api.test_runs import start
from tests.server.process import ServeProcess

pytestmark = [pytest.mark.heavy, pytest.mark.timeout(300)]

CONFIG = "[worker]\nlease_seconds = 3\n"
SCRIPT = """\
meta = {"name": "two", "description": "Two agents"}
first = await agent("pace: 0.05\\nsay slowly: " + "word " * 8)
return [first, await agent("say: second")]
"""


@pytest.mark.parametrize("engine", ["sqlite", "postgres"])
async def test_a_chat_is_told_once_whenever_the_server_dies(
    engine: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    url: str | None = request.getfixturevalue("postgres_url") if engine == "postgres" else None
    # By hand, so that a failure can be repeated.
    chance = random.Random(15)
    async with ServeProcess(tmp_path, database=url, config=CONFIG) as server:
        await server.start()
        chat_id = await finished_chat(server.admin)
        runs: list[str] = []
        for _ in range(3):
            run = await start(server.admin, script=SCRIPT, language="python", chat_id=chat_id)
            runs.append(run["id"])
            await asyncio.sleep(chance.uniform(0.0, 1.5))
            server.kill()
            await server.start()
        for run_id in runs:
            await _both(server, chat_id, run_id)
        # Nothing comes after: a second look at every one of them tells nothing new.
        server.kill()
        await server.start()
        await notices_of(server, chat_id, runs)


async def _both(server: ServeProcess, chat_id: str, run_id: str) -> None:
    async with asyncio.timeout(120):
        while True:
            told = [
                one["data"]["event"]
                for one in told_in(await server.admin.messages(chat_id))
                if one["data"]["run_id"] == run_id
            ]
            if len(told) >= 2:
                break
            await asyncio.sleep(0.1)
    assert told == ["started", "ended"]


async def notices_of(server: ServeProcess, chat_id: str, runs: list[str]) -> None:
    run = await start(server.admin, script=SCRIPT, language="python", chat_id=chat_id)
    await _both(server, chat_id, run["id"])
    told = told_in(await server.admin.messages(chat_id))
    assert sorted((one["data"]["run_id"], one["data"]["event"]) for one in told) == sorted(
        (run_id, event) for run_id in [*runs, run["id"]] for event in ("started", "ended")
    )
    ends = [one["data"] for one in told if one["data"]["event"] == "ended"]
    assert {end["status"] for end in ends} == {"succeeded"}
