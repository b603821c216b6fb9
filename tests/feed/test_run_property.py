"""Whatever happens to a run, to the bus and to the connections: at the end every watcher holds what the
database says, no line came twice, and nothing went back."""

import asyncio
import itertools
from collections.abc import Callable, Generator
from contextlib import AbstractAsyncContextManager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace as changed

from holdfast.core.clock import SystemClock
from holdfast.core.ids import RunId
from holdfast.core.run_shapes import run_shown
from holdfast.core.runs import CallKind, LineKind, Run, RunCall, RunLine, RunPhase
from holdfast.core.shapes import encode
from holdfast.core.usage import Usage
from holdfast.feed.hub import Hub
from holdfast.feed.limits import FeedLimits
from holdfast.store import journals, run_feed_reads, runs
from holdfast.store.journals import Ending, Entries
from tests.feed.run_client import RunClient
from tests.feed.stage import QUICK, Fate, Stage, replicated, staged
from tests.store.world import fresh_id, user

PATIENCE_SECONDS = 40.0
FATES: tuple[Fate, ...] = ("lost", "doubled", "late", "overflow", *itertools.repeat("arrives", 4))
TITLES = ("Argue", "Weigh", "Afterwards")
# So little that a single write is more than a page.
TINY = replace(QUICK, run_page=2, batch_bytes=300)


@dataclass(frozen=True)
class Life:
    # Of each write: calls that are made, calls that go on, lines that are said.
    writes: list[tuple[int, int, int]]
    choices: list[int]
    fates: list[Fate]
    # For each watcher, after how many events it goes and comes back.
    watchers: list[list[int]]
    is_cancelled: bool


lives = st.builds(
    Life,
    writes=st.lists(st.tuples(*(st.integers(0, 7),) * 3), min_size=1, max_size=12),
    choices=st.lists(st.integers(0, 1000), min_size=1, max_size=20),
    fates=st.lists(st.sampled_from(FATES), min_size=1, max_size=10),
    watchers=st.lists(st.lists(st.integers(1, 15), max_size=6), min_size=1, max_size=4),
    is_cancelled=st.booleans(),
)


class Running:
    """A run at work, written as its owner would."""

    def __init__(self, stage: Stage, life: Life) -> None:
        self._stage = stage
        self._life = life
        self._choices = itertools.cycle(life.choices)
        self.owner = user()
        self.id = RunId(fresh_id())
        self._calls: list[RunCall] = []
        self._lines = 0
        self._lease = 0

    async def begin(self) -> None:
        new = Run(
            id=self.id,
            owner_id=self.owner,
            name="x",
            language="python",
            created_at=SystemClock().now(),
            phases=tuple(RunPhase(title=title) for title in TITLES[:2]),
            args_hash="",
            script="...",
        )
        await self._stage.store.write(runs.create(new))
        await self._pause()

    async def live(self) -> None:
        store = self._stage.store
        worker = await store.register_worker("test", 3600)
        held = await store.write(runs.acquire(worker, 1000))
        own = next(run for run in held if run.id == self.id)
        self._lease = own.lease_number
        await self._pause()
        for made, moved, said in self._life.writes:
            await self._write(made, moved, said)
        if self._life.is_cancelled:
            await store.write(runs.cancel(self.id))
            await self._pause()
        else:
            await self._write(0, 0, 1, Ending(status="succeeded", result={"done": True}))

    async def _write(self, made: int, moved: int, said: int, ending: Ending | None = None) -> None:
        calls = {call.number: call for call in self._moved(moved)}
        calls |= {call.number: call for call in self._made(made)}
        for call in calls.values():
            self._calls[call.number - 1] = call
        spent = sum(call.usage.output for call in self._calls if call.usage is not None)
        lines = tuple(self._said() for _ in range(said))
        entries = Entries(calls=tuple(calls.values()), lines=lines, spent_tokens=spent, ending=ending)
        await self._stage.store.write(journals.record(self.id, self._lease, entries))
        await self._pause()

    def _made(self, count: int) -> list[RunCall]:
        kinds: tuple[CallKind, ...] = ("agent", "agent", "workflow", "pause")
        for _ in range(count):
            choice = next(self._choices)
            call = RunCall(
                scope=choice % 2,
                number=len(self._calls) + 1,
                kind=kinds[choice % 4],
                hash="h",
                occurrence=0,
                label=f"call {choice}",
            )
            if choice % 5 == 0:
                now = SystemClock().now()
                call = changed(call, reused=True, outcome="succeeded", started_at=now, finished_at=now)
            self._calls.append(call)
        return self._calls[len(self._calls) - count :]

    def _moved(self, count: int) -> list[RunCall]:
        going = [call for call in self._calls if call.outcome is None]
        return [self._step(call) for call in going[:count]]

    def _step(self, call: RunCall) -> RunCall:
        now = SystemClock().now()
        if call.started_at is None:
            return changed(call, started_at=now)
        outcome = "failed" if next(self._choices) % 3 == 0 else "succeeded"
        return changed(call, outcome=outcome, finished_at=now, usage=Usage(output=7), value="x" * 50)

    def _said(self) -> RunLine:
        self._lines += 1
        choice = next(self._choices)
        kinds: tuple[LineKind, ...] = ("log", "warning", "phase")
        kind = kinds[choice % 3]
        text = TITLES[choice % len(TITLES)] if kind == "phase" else f"line {choice}"
        return RunLine(number=self._lines, kind=kind, text=text, at=SystemClock().now())

    async def _pause(self) -> None:
        for _ in range(next(self._choices) % 7):
            await asyncio.sleep(0)


async def watch(stage: Stage, client: RunClient, run_id: RunId, visits: list[int]) -> None:
    """Comes back again and again, to any replica; at last it stays until the end."""
    hubs = itertools.cycle(stage.hubs)
    for events in (*visits, None):
        await connect(next(hubs), client, run_id, events)
        await asyncio.sleep(0)


async def connect(hub: Hub, client: RunClient, run_id: RunId, events: int | None) -> None:
    client.closing = None
    async with hub.watch_run(run_id, cursor=client.cursor) as watcher:
        async for batch in watcher:
            for frame in batch.frames:
                client.apply(frame.event, frame.id or None, msgspec.json.decode(frame.data))
                if events is not None and (events := events - 1) == 0:
                    return


async def play(stage: Stage, life: Life) -> int:
    running = Running(stage, life)
    fates = itertools.cycle(life.fates)
    stage.way.fate = lambda: next(fates)
    clients = [RunClient() for _ in life.watchers]
    await running.begin()
    async with asyncio.timeout(PATIENCE_SECONDS), asyncio.TaskGroup() as group:
        for client, visits in zip(clients, life.watchers, strict=True):
            group.create_task(watch(stage, client, running.id, visits))
        group.create_task(running.live())
    details = await stage.store.read(run_feed_reads.shown(running.id, running.owner))
    assert details is not None
    stored: dict[str, Any] = msgspec.json.decode(encode(run_shown(details)))
    # The pinned text never changes: it is read with the run and not told by the feed.
    assert stored.pop("script") == "..."
    for client in clients:
        assert client.closing == "over"
        assert client.held == stored
    return sum(client.names.count("caught_up") for client in clients)


@contextmanager
def played(staging: AbstractAsyncContextManager[Stage]) -> Generator[Callable[[int], int]]:
    """Plays so many lives, each a run of its own on the same stage; says how often watchers caught up."""
    with asyncio.Runner() as runner:
        stage = runner.run(staging.__aenter__())

        def some(count: int) -> int:
            visits = 0

            @settings(max_examples=count, suppress_health_check=[HealthCheck.too_slow])
            @given(life=lives)
            def live(life: Life) -> None:
                nonlocal visits
                visits += runner.run(play(stage, life))

            live()
            return visits

        try:
            yield some
        finally:
            runner.run(staging.__aexit__(None, None, None))


sizes = pytest.mark.parametrize("limits", [QUICK, TINY], ids=["roomy", "tiny"])


@sizes
def test_every_watcher_holds_what_the_database_says(tmp_path: Path, limits: FeedLimits) -> None:
    with played(staged("sqlite", tmp_path, limits)) as some:
        some(10)


@pytest.mark.heavy
@pytest.mark.timeout(900)
@sizes
def test_after_hundreds_of_visits(tmp_path: Path, limits: FeedLimits) -> None:
    with played(staged("sqlite", tmp_path, limits)) as some:
        assert some(100) > 200


@pytest.mark.heavy
@pytest.mark.timeout(900)
@sizes
def test_on_any_of_two_replicas(tmp_path: Path, postgres_url: str, limits: FeedLimits) -> None:
    with played(replicated(postgres_url, tmp_path, limits)) as some:
        some(25)
