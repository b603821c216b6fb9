"""What all leased duties share, with a kind of things that needs no database: who takes them, who works on
them, who lets them go."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import pytest
from typing_extensions import override

from holdfast.bus.memory import MemoryBus
from holdfast.core.errors import TryAgain
from holdfast.core.events import BusEvent, Reread
from holdfast.duties.duty import LeasedDuty
from holdfast.duties.worker import Worker
from holdfast.store.interface import Store
from holdfast.store.open import open_store
from holdfast.telemetry.crash_marks import DutyKind
from tests.worker.engine import eventually

# Nothing here waits for a poll: whatever happens is asked for.
NEVER_SECONDS = 3600.0


class Thing:
    def __init__(self, name: str) -> None:
        self.name = name
        self.rests = asyncio.Event()


class Things(LeasedDuty[str, Thing]):
    """`there` are those that nobody works on, `ours` those that a database would say are ours."""

    def __init__(self, kind: DutyKind, log: list[str]) -> None:
        super().__init__(kind)
        self.there: list[Thing] = []
        self.ours: set[str] = set()
        self.fails: list[Exception] = []
        self.closed = 0
        # What is worked on ends only then, however often it is cancelled.
        self.may_end = asyncio.Event()
        self.may_end.set()
        self._log = log

    @property
    @override
    def poll_seconds(self) -> float:
        return NEVER_SECONDS

    def offer(self, *names: str) -> list[Thing]:
        things = [Thing(name) for name in names]
        self.there += things
        self.wake()
        return things

    @override
    async def take(self) -> bool:
        if self.fails:
            raise self.fails.pop()
        taken, self.there = self.there[:1], self.there[1:]
        for thing in taken:
            self.ours.add(thing.name)
            self.start(thing.name, thing)
        return bool(taken)

    @override
    async def work(self, held: Thing) -> None:
        self._log.append(f"begin {held.name}")
        if held.name == "broken":
            raise ZeroDivisionError("a bug of ours")
        try:
            await held.rests.wait()
        finally:
            while not self.may_end.is_set():
                with suppress(asyncio.CancelledError):
                    await self.may_end.wait()
            self._log.append(f"end {held.name}")

    @override
    async def set_aside(self, held: Thing, reason: str) -> None:
        self._log.append(f"set aside {held.name}")

    @override
    async def look(self) -> None:
        for name, thing in list(self.held.items()):
            if name not in self.ours:
                self.drop(name, thing)

    @override
    def hear(self, event: BusEvent) -> None:
        if isinstance(event, Reread):
            self.wake()
            self.look_soon()

    @override
    async def hand_over(self) -> None:
        self._log.append(f"hand over {self.kind}")

    @override
    async def close(self) -> None:
        self.closed += 1


class Stage:
    def __init__(self, store: Store, bus: MemoryBus) -> None:
        self.log: list[str] = []
        self.bus = bus
        self.first, self.second = Things("chat", self.log), Things("run", self.log)
        self.worker = Worker([self.first, self.second], store=store, bus=bus, lease_seconds=lambda: 60.0)
        self.task = asyncio.create_task(self.worker.run())


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    bus = MemoryBus()
    store = await open_store("sqlite", data=tmp_path, publish=bus.publish)
    stage = Stage(store, bus)
    try:
        yield stage
    finally:
        stage.worker.stop()
        await stage.task
        await store.close()


async def test_a_lost_lease_ends_all_duties_at_once(stage: Stage) -> None:
    """One that takes long to end does not let the others go on."""
    stage.second.may_end.clear()
    stage.first.offer("quick")
    stage.second.offer("slow")
    await eventually(lambda: {"begin quick", "begin slow"} <= set(stage.log))
    stage.worker._lose()  # pyright: ignore[reportPrivateUsage]
    await eventually(lambda: "end quick" in stage.log)
    assert "end slow" not in stage.log
    stage.second.may_end.set()
    await eventually(lambda: "end slow" in stage.log)


async def test_what_nobody_works_on_is_taken_and_let_go_when_it_rests(stage: Stage) -> None:
    one, two = stage.first.offer("one", "two")
    await eventually(lambda: set(stage.first.held) == {"one", "two"})
    one.rests.set()
    await eventually(lambda: set(stage.first.held) == {"two"})
    two.rests.set()
    await eventually(lambda: stage.worker.held == 0)


async def test_what_is_not_ours_any_more_ends_here(stage: Stage) -> None:
    stage.first.offer("one", "two")
    await eventually(lambda: len(stage.first.held) == 2)
    stage.first.ours.discard("one")
    stage.bus.publish(Reread(reason="overflow"))
    await eventually(lambda: set(stage.first.held) == {"two"})
    assert stage.log == ["begin one", "begin two", "end one"]


async def test_taken_again_it_begins_after_the_work_before_has_ended(stage: Stage) -> None:
    (one,) = stage.first.offer("one")
    await eventually(lambda: stage.log == ["begin one"])
    again = Thing("one")
    stage.first.there.append(again)
    stage.first.wake()
    await eventually(lambda: stage.first.held.get("one") is again)
    assert stage.log == ["begin one"]
    one.rests.set()
    await eventually(lambda: stage.log == ["begin one", "end one", "begin one"])


async def test_a_fault_in_one_thing_ends_that_thing_alone(stage: Stage) -> None:
    stage.first.offer("good", "broken", "better")
    await eventually(lambda: "begin better" in stage.log)
    await eventually(lambda: set(stage.first.held) == {"good", "better"})
    assert not stage.task.done()


async def test_after_a_failure_it_is_taken_all_the_same(stage: Stage) -> None:
    stage.first.fails.append(TryAgain("The database is away.", after_seconds=0.0))
    stage.first.offer("one")
    await eventually(lambda: "one" in stage.first.held)


async def test_the_last_duty_is_handed_over_first_and_nothing_is_worked_on_then(stage: Stage) -> None:
    stage.first.offer("one")
    stage.second.offer("two")
    await eventually(lambda: stage.worker.held == 2)
    stage.worker.stop()
    await stage.task
    assert stage.log[2:] == ["hand over run", "end two", "hand over chat", "end one"]
    assert (stage.worker.held, stage.first.closed, stage.second.closed) == (0, 1, 1)


async def test_an_error_that_nobody_expected_ends_the_worker_as_itself(stage: Stage) -> None:
    stage.first.offer("one")
    await eventually(lambda: stage.worker.held == 1)
    stage.second.fails.append(ZeroDivisionError("a bug of ours"))
    stage.second.wake()
    with pytest.raises(ZeroDivisionError):
        await stage.task
    assert stage.log == ["begin one", "end one"]
    stage.task = asyncio.create_task(asyncio.sleep(0))
