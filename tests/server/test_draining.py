"""A stopping server: it says so, keeps answering for a while, and only then stops listening."""

import asyncio
import random
import signal
import socket
import time
from pathlib import Path

import aiohttp
import pytest

from tests.api.serving import Client
from tests.server.process import ServeProcess

DRAINING = {"HOLDFAST_SERVER_DRAIN_SECONDS": "2"}


@pytest.mark.heavy
async def test_it_answers_until_balancers_know(tmp_path: Path) -> None:
    async with ServeProcess(tmp_path, environ=DRAINING) as server, aiohttp.ClientSession() as session:
        await server.start()
        began = time.monotonic()
        server.signal(signal.SIGTERM)
        nobody, fresh = server.client(None), Client(session, server.address, server.admin.token)
        async with asyncio.timeout(60):
            while (told := await nobody.get("/readyz")).json != {"status": "stopping"}:
                assert told.status == 200
        assert told.status == 503
        # A balancer that asks twice a second may send requests until it has asked again.
        for client in (server.admin, fresh):
            answer = await client.get("chats")
            assert (answer.status, answer.headers["Connection"]) == (200, "close")
            assert (await client.post("chats", {"content": "say: hello"})).status == 201
        assert (await nobody.get("/healthz")).status == 200
        assert await server.ended() == 0
        assert time.monotonic() - began >= 2
        assert "Traceback" not in server.logged()


@pytest.mark.heavy
async def test_without_a_wait(tmp_path: Path) -> None:
    async with ServeProcess(tmp_path, environ={"HOLDFAST_SERVER_DRAIN_SECONDS": "0"}) as server:
        await server.start()
        server.signal(signal.SIGTERM)
        assert await server.ended() == 0


class Balancer:
    """Asks both servers twice a second, and sends requests to those that are ready."""

    def __init__(self, servers: list[ServeProcess]) -> None:
        self._servers = servers
        self._ready: list[ServeProcess] = []
        self.failures: list[str] = []
        self.answered = 0

    async def ask(self) -> None:
        while True:
            self._ready = [server for server in self._servers if await self._is_ready(server)]
            await asyncio.sleep(0.5)

    def has(self, server: ServeProcess) -> bool:
        return server in self._ready

    async def _is_ready(self, server: ServeProcess) -> bool:
        try:
            return (await server.client(None).get("/readyz")).status == 200
        except aiohttp.ClientError:
            return False

    async def send(self, seed: int) -> None:
        chance = random.Random(seed)
        while True:
            if self._ready:
                await self._one(chance.choice(self._ready), chance.random() < 0.5)
            await asyncio.sleep(0.02)

    async def _one(self, server: ServeProcess, write: bool) -> None:
        try:
            body = {"content": "say: hello"}
            answer = await (server.admin.post("chats", body) if write else server.admin.get("chats?limit=1"))
            if answer.status >= 500:
                self.failures.append(repr(answer))
        except (aiohttp.ClientError, OSError) as error:
            self.failures.append(repr(error))
        self.answered += 1


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


@pytest.mark.slow
async def test_a_hundred_restarts_behind_a_balancer(tmp_path: Path) -> None:
    servers: list[ServeProcess] = []
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        servers.append(ServeProcess(tmp_path / name, environ=DRAINING, port=free_port()))
    async with servers[0], servers[1]:
        for server in servers:
            await server.start()
        balancer = Balancer(servers)
        tasks = [asyncio.create_task(balancer.ask())]
        tasks += [asyncio.create_task(balancer.send(seed)) for seed in range(4)]
        for number in range(100):
            server = servers[number % 2]
            while not all(map(balancer.has, servers)):  # noqa: ASYNC110 - it asks now and then
                await asyncio.sleep(0.05)
            server.signal(signal.SIGTERM)
            assert await server.ended() == 0
            await server.start()
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
    assert balancer.answered > 1000
    assert balancer.failures == []
