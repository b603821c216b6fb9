"""Runs whose process is killed: at random, and at every write to the journal. The result is that of an
undisturbed run, and no agent that had finished is asked again."""

import asyncio
import random
import sqlite3
import sys
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Literal, cast

import msgspec
import pytest

from tests.providers.answering import Asked
from tests.providers.replies import Hang, Reply, say
from tests.providers.server import ProviderServer
from tests.runs.stage import COST, js, prompt_of
from tests.runs.victim import Order, Told
from tests.worker.engine import eventually

ROOT = Path(__file__).parents[2]
SECONDS = 240.0

# Forty agents: twelve at once, eight through two stages, a race and what follows from it, a loop that the
# budget ends.
MANY = js(
    "const numbers = n => [...Array(n).keys()]\n"
    "phase('Together')\n"
    "const together = await parallel(numbers(12).map(n => () => agent(`together ${n}`, {label: `t${n}`})))\n"
    "phase('Stages')\n"
    "const stages = await pipeline(numbers(8), n => agent(`first ${n}`), a => agent(`second of ${a}`))\n"
    "phase('Race')\n"
    "const left = agent('left'), right = agent('right')\n"
    "const winner = await Promise.race([left, right])\n"
    "const after = await agent(`after ${winner}`)\n"
    "const both = [await left, await right]\n"
    "phase('Loop')\n"
    "const loop = []\n"
    "while (budget.remaining() > 0) loop.push(await agent(`loop ${loop.length}, spent ${budget.spent()}`))\n"
    "log(`${loop.length} rounds`)\n"
    "return {together, stages, winner, after, both, loop, spent: budget.spent()}"
)
MANY_BUDGET = 40 * COST
FEW = js(
    "const [a, b] = await parallel([() => agent('a'), () => agent('b')])\n"
    "log(a)\n"
    "return [await agent(`${a} ${b}`), budget.spent()]"
)


class Provider:
    """Answers every prompt in brackets. `left` hears nothing before somebody went on without it."""

    def __init__(self, server: ProviderServer) -> None:
        self.server = server
        # Prompts that get no answer for now.
        self.held: set[str] = set()
        server.answer = self._answer

    @property
    def url(self) -> str:
        return self.server.base_url("compatible")

    @property
    def prompts(self) -> list[str]:
        return [prompt_of(asked) for asked in self.server.log]

    def _answer(self, asked: Asked) -> Reply:
        prompt = prompt_of(asked)
        if prompt in self.held or (prompt == "left" and "after <right>" not in self.prompts):
            return Reply(fault=Hang())
        pause = random.uniform(0, 0.03)
        return say(f"<{prompt}>", usage={"input": 5, "output": COST}, first_delay_seconds=pause)


@pytest.fixture
async def provider() -> AsyncIterator[Provider]:
    async with ProviderServer() as server:
        yield Provider(server)


class Victims:
    """One process after the other on the same database."""

    def __init__(self, order: Order, module: str = "tests.runs.victim") -> None:
        self.order = order
        self._module = module
        self._processes: list[asyncio.subprocess.Process] = []

    async def start(self, **more: object) -> asyncio.subprocess.Process:
        order = msgspec.json.encode(msgspec.structs.replace(self.order, **more)).decode()
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", self._module, order),
            cwd=ROOT,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
        )
        self._processes.append(process)
        return process

    async def told(self, process: asyncio.subprocess.Process) -> Told | None:
        """The end of the run; None: the process died before."""
        assert process.stdout
        async with asyncio.timeout(SECONDS):
            line = await process.stdout.readline()
        return msgspec.json.decode(line, type=Told) if line else None

    async def end(self) -> None:
        for process in self._processes:
            if process.returncode is None:
                process.kill()
            await process.wait()
            if process.stdin:
                process.stdin.close()

    async def killed(self, process: asyncio.subprocess.Process) -> None:
        if process.returncode is None:
            process.kill()
        await process.wait()


def order(provider: Provider, tmp_path: Path, script: str, **more: object) -> Order:
    data = tmp_path / f"data{random.getrandbits(32)}"
    data.mkdir(mode=0o700)
    order = Order(url=f"sqlite:{data / 'holdfast.db'}", data=str(data), provider=provider.url, script=script)
    return msgspec.structs.replace(order, **more)


def finished(order: Order) -> set[str]:
    """The prompts of agents that have finished, as the database says."""
    connection = sqlite3.connect(order.url.removeprefix("sqlite:"))
    try:
        rows = connection.execute(
            "SELECT m.parts FROM chats c JOIN messages m ON m.chat_id = c.id AND m.role = 'user' "
            "WHERE c.run_id IS NOT NULL AND c.status = 'idle'"
        ).fetchall()
    except sqlite3.OperationalError:  # it was not even made
        return set()
    finally:
        connection.close()
    return {msgspec.json.decode(parts)[0]["text"] for (parts,) in rows}


class Judge:
    """What had finished at each death must not be asked for afterwards."""

    def __init__(self, provider: Provider) -> None:
        self._provider = provider
        self._deaths: list[tuple[int, set[str]]] = []

    def note(self, order: Order) -> None:
        self._deaths.append((len(self._provider.prompts), finished(order)))

    def check(self) -> None:
        for asked_before, done in self._deaths:
            again = [prompt for prompt in self._provider.prompts[asked_before:] if prompt in done]
            assert not again, f"asked again although finished: {again}"


async def undisturbed(provider: Provider, tmp_path: Path, script: str, **more: object) -> Told:
    victims = Victims(order(provider, tmp_path, script, **more))
    try:
        told = await victims.told(await victims.start())
    finally:
        await victims.end()
    assert told is not None
    assert told.status == "succeeded", told.error
    provider.server.log.clear()
    return told


async def kill_at_random(provider: Provider, tmp_path: Path, kills: int) -> None:
    expected = await undisturbed(provider, tmp_path, MANY, budget=MANY_BUDGET)
    assert len(cast(dict[str, Any], expected.result)["loop"]) == 40 - 12 - 16 - 3
    left = kills
    while left:
        victims, judge = Victims(order(provider, tmp_path, MANY, budget=MANY_BUDGET)), Judge(provider)
        provider.server.log.clear()
        told: Told | None = None
        try:
            while told is None:
                process = await victims.start()
                if not left:
                    told = await victims.told(process)
                    break
                ending = asyncio.create_task(victims.told(process))
                # From before its first commit to after its last one.
                await asyncio.wait({ending}, timeout=random.uniform(0.6, 3.0))
                if ending.done():
                    told = ending.result()
                else:
                    await victims.killed(process)
                    await ending
                    left -= 1
                    judge.note(victims.order)
        finally:
            await victims.end()
        assert told is not None
        assert (told.status, told.error) == ("succeeded", None)
        assert told.result == expected.result
        judge.check()


@pytest.mark.heavy
@pytest.mark.timeout(600)
async def test_a_run_of_forty_agents_survives_five_kills(provider: Provider, tmp_path: Path) -> None:
    await kill_at_random(provider, tmp_path, 5)


@pytest.mark.slow
@pytest.mark.timeout(3600)
async def test_a_run_of_forty_agents_survives_fifty_kills(provider: Provider, tmp_path: Path) -> None:
    await kill_at_random(provider, tmp_path, 50)


@pytest.mark.heavy
@pytest.mark.timeout(900)
@pytest.mark.parametrize("when", ["before", "after"])
async def test_a_kill_at_every_write_to_the_journal(
    provider: Provider, tmp_path: Path, when: Literal["before", "after"]
) -> None:
    expected = await undisturbed(provider, tmp_path, FEW)
    assert expected.result == ["<<a> <b>>", 3 * COST]
    for number in range(1, expected.writes + 1):
        provider.server.log.clear()
        victims, judge = Victims(order(provider, tmp_path, FEW)), Judge(provider)
        try:
            first = await victims.told(await victims.start(die_at=number, when=when))
            if first is None:
                judge.note(victims.order)
                first = await victims.told(await victims.start())
        finally:
            await victims.end()
        assert first is not None
        assert first.result == expected.result, number
        judge.check()
        assert max(Counter(provider.prompts).values()) <= 2


@pytest.mark.heavy
@pytest.mark.timeout(600)
async def test_another_replica_takes_over(provider: Provider, tmp_path: Path, postgres_url: str) -> None:
    victims = Victims(order(provider, tmp_path, FEW, url=postgres_url, lease_seconds=3.0))
    provider.held.add("b")
    try:
        owner = await victims.start()
        await eventually(lambda: {"a", "b"} <= set(provider.prompts))
        other = await victims.start()
        await victims.killed(owner)
        provider.held.clear()
        told = await victims.told(other)
    finally:
        await victims.end()
    assert told is not None
    assert told.result == ["<<a> <b>>", 3 * COST]
