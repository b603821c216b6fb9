"""No chat and no run can crash the server again and again: it is set aside, and everything else continues."""

import asyncio
import json
import signal
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from holdfast.store.crashes import MOST_FAULTS, MOST_KILLS
from tests.server.mortal import DIE
from tests.server.process import ServeProcess

pytestmark = pytest.mark.heavy

CONFIG = "[worker]\nlease_seconds = 3\n"
CALL = f'call: todo {{"items": [{{"text": "{DIE}"}}]}}\nsay: done'
SCRIPT = f"export const meta = {{name: 'fatal', description: '{DIE}'}}\nreturn await agent('say: hello')"
DEATHS = {"fault": (MOST_FAULTS, -signal.SIGSEGV), "kill": (MOST_KILLS, -signal.SIGKILL)}


def mortal(
    tmp_path: Path, engine: str, how: str, request: pytest.FixtureRequest, config: str = CONFIG
) -> ServeProcess:
    url: str | None = request.getfixturevalue("postgres_url") if engine == "postgres" else None
    return ServeProcess(
        tmp_path,
        database=url,
        config=config,
        environ={"MORTAL": how, "PYTHONPATH": str(Path(__file__).parents[2])},
        program=(sys.executable, "-m", "tests.server.mortal"),
    )


async def until(look: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(60):
        while not await look():  # noqa: ASYNC110
            await asyncio.sleep(0.05)


async def dies(server: ServeProcess, how: str) -> None:
    """As often as it may, of the same duty."""
    deaths, status = DEATHS[how]
    assert await server.ended() == status
    for _ in range(deaths - 1):
        await server.begin()
        assert await server.ended() == status
    await server.start()


# The other pairs of engine and death are slow: on each engine and in each way the server dies in `make test`.
@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    "engine, how",
    [
        ("sqlite", "fault"),
        ("postgres", "kill"),
        pytest.param("sqlite", "kill", marks=pytest.mark.slow),
        pytest.param("postgres", "fault", marks=pytest.mark.slow),
    ],
)
async def test_a_chat_that_ends_the_server_is_set_aside(
    engine: str, how: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    async with mortal(tmp_path, engine, how, request) as server:
        await server.start()
        other = (await server.admin.start_chat("pace: 0.05\nsay slowly: " + "word " * 40))["id"]
        chat_id = (await server.admin.start_chat(CALL))["id"]
        await dies(server, how)

        async def in_error() -> bool:
            return (await server.admin.chat(chat_id))["status"] == "error"

        async def goes_on() -> bool:
            return (await server.admin.chat(other))["status"] == "idle"

        await until(in_error)
        failure = (await server.admin.chat(chat_id))["last_error"]
        assert failure["kind"] == "set_aside"
        assert "died repeatedly while it worked on this chat" in failure["message"]
        await until(goes_on)
        assert (await server.admin.messages(other))[-1]["parts"][0]["text"].startswith("word word")
        # The call has a result, so a person can go on with the chat.
        assert (
            await server.admin.post(f"chats/{chat_id}/messages", {"content": "say: still here"})
        ).status == 201
        await until(lambda: _idle(server, chat_id))
        assert (server.data / "last-crash.txt").exists() == (how == "fault")


async def _idle(server: ServeProcess, chat_id: str) -> bool:
    return (await server.admin.chat(chat_id))["status"] == "idle"


@pytest.mark.timeout(300)
@pytest.mark.parametrize("engine", ["postgres", pytest.param("sqlite", marks=pytest.mark.slow)])
async def test_a_run_that_ends_the_server_is_set_aside(
    engine: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    async with mortal(tmp_path, engine, "fault", request) as server:
        await server.start()
        body = {"script": SCRIPT, "language": "javascript"}
        run_id = (await server.admin.post("workflow-runs", body)).json["id"]
        await dies(server, "fault")

        async def over() -> bool:
            return (await server.admin.get(f"workflow-runs/{run_id}")).json["status"] == "failed"

        await until(over)
        error: dict[str, Any] = (await server.admin.get(f"workflow-runs/{run_id}")).json["error"]
        assert "died repeatedly while it worked on this run" in error["message"]


@pytest.mark.timeout(300)
async def test_a_server_that_others_kill_sets_nothing_aside(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """However often: the chat waits for its model, and does nothing that could end a process."""
    async with mortal(tmp_path, "sqlite", "kill", request) as server:
        await server.start()
        chat_id = (await server.admin.start_chat("wait: 60\nsay: done"))["id"]
        for _ in range(MOST_KILLS + 2):
            await until(lambda: _runs(server, chat_id))
            server.kill()
            await server.ended()
            await server.start()
        assert (await server.admin.chat(chat_id))["status"] == "running"
        assert json.dumps(await server.admin.chat(chat_id)).count("set_aside") == 0


async def _runs(server: ServeProcess, chat_id: str) -> bool:
    return (await server.admin.chat(chat_id))["status"] == "running"
