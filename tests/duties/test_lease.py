"""The lease, kept by its thread and judged by a clock that the test moves."""

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from datetime import datetime
from typing import cast

import pytest

from holdfast.core.errors import TryAgain
from holdfast.core.ids import WorkerId
from holdfast.duties.lease import LeaseRenewal
from holdfast.store.interface import Store
from tests.chats.making import NOW
from tests.worker.engine import PATIENCE_SECONDS, eventually

WORKER = WorkerId("019df000-0000-7000-8000-0000000000d0")
# The thread looks about every 8 ms; how long the lease lasts is up to the clock.
LEASE_SECONDS = 0.1


class HandClock:
    """A minute is a minute when the test says so."""

    def __init__(self) -> None:
        self.at = 1000.0
        # How often a thread looked at it.
        self.looks = 0

    def now(self) -> datetime:
        return NOW

    def elapsed(self) -> float:
        if threading.current_thread() is not threading.main_thread():
            self.looks += 1
        return self.at


class Renewals:
    """What a store answers to the keeper."""

    engine = "sqlite"

    def __init__(self) -> None:
        self.count = 0
        self.answer: Callable[[], bool] = lambda: True

    def renew(self, worker_id: WorkerId, lease_seconds: float) -> bool:
        assert (worker_id, lease_seconds) == (WORKER, LEASE_SECONDS)
        self.count += 1
        return self.answer()


def away() -> bool:
    raise TryAgain("The database is away.")


def broken() -> bool:
    raise RuntimeError("a bug")


class Kept:
    def __init__(self) -> None:
        self.clock = HandClock()
        self.store = Renewals()
        self.lost = 0
        self.keeper = LeaseRenewal(
            cast(Store, self.store),
            WORKER,
            LEASE_SECONDS,
            self.clock,
            self._lose,
            registered_at=self.clock.at,
        )

    def _lose(self) -> None:
        self.lost += 1

    async def passes(self, share: float) -> None:
        """A share of the lease passes; the thread has asked since, and looks on."""
        count = self.store.count
        self.clock.at += LEASE_SECONDS * share
        await eventually(lambda: self.store.count > count)
        looks = self.clock.looks
        await eventually(lambda: self.clock.looks > looks + 4)


@asynccontextmanager
async def keeping() -> AsyncGenerator[Kept]:
    kept = Kept()
    kept.keeper.start()
    try:
        yield kept
    finally:
        kept.keeper.stop()
        await kept.keeper.join()


async def test_it_is_renewed_when_a_third_is_over() -> None:
    async with keeping() as kept:
        await asyncio.sleep(0.05)
        assert kept.store.count == 0
        kept.clock.at += LEASE_SECONDS / 3 + 0.001
        await eventually(lambda: kept.store.count == 1)
        assert kept.keeper.fresh


async def test_it_is_fresh_for_two_thirds_after_the_last_renewal() -> None:
    kept = Kept()
    kept.clock.at += LEASE_SECONDS * 0.66
    assert kept.keeper.fresh
    kept.clock.at += LEASE_SECONDS * 0.01
    assert not kept.keeper.fresh
    assert not kept.keeper.over


async def test_renewals_that_fail_for_two_thirds_lose_it() -> None:
    async with keeping() as kept:
        kept.store.answer = away
        await kept.passes(0.5)
        assert kept.keeper.fresh
        assert kept.lost == 0
        kept.clock.at += LEASE_SECONDS / 4
        await eventually(lambda: kept.lost == 1)
        assert kept.keeper.over
        assert not kept.keeper.fresh


async def test_a_database_that_comes_back_in_time_loses_nothing() -> None:
    async with keeping() as kept:
        kept.store.answer = away
        await kept.passes(0.5)
        kept.store.answer = lambda: True
        await kept.passes(0.1)
        await kept.passes(0.5)
        assert await kept.keeper.until_fresh()
        assert kept.lost == 0


async def test_a_worker_that_is_not_known_any_more_loses_it_at_once() -> None:
    async with keeping() as kept:
        kept.store.answer = lambda: False
        kept.clock.at += LEASE_SECONDS / 2
        await eventually(lambda: kept.lost == 1)
        assert kept.keeper.over


async def test_woken_after_a_short_freeze_it_goes_on() -> None:
    """Longer than a renewal may fail, shorter than the lease: the database still knows us."""
    async with keeping() as kept:
        kept.clock.at += LEASE_SECONDS * 0.9
        assert await kept.keeper.until_fresh()
        assert kept.keeper.fresh
        assert kept.lost == 0


async def test_woken_after_a_long_freeze_it_is_over() -> None:
    async with keeping() as kept:
        kept.store.answer = lambda: False
        kept.clock.at += LEASE_SECONDS * 5
        assert not kept.keeper.fresh
        assert not await kept.keeper.until_fresh()
        await eventually(lambda: kept.lost == 1)


async def test_an_answer_that_was_long_on_its_way_is_as_old_as_its_question() -> None:
    async with keeping() as kept:

        def slowly() -> bool:
            if kept.store.count > 1:
                return away()
            kept.clock.at += LEASE_SECONDS * 0.26
            return True

        kept.store.answer = slowly
        asked_at = kept.clock.at + LEASE_SECONDS * 0.4
        await kept.passes(0.4)
        kept.clock.at = asked_at + LEASE_SECONDS * 0.66
        assert kept.keeper.fresh
        kept.clock.at = asked_at + LEASE_SECONDS * 0.67
        assert not kept.keeper.fresh


@pytest.mark.parametrize("fault", [away, broken])
async def test_no_fault_of_the_store_ends_the_thread(fault: Callable[[], bool]) -> None:
    async with keeping() as kept:
        kept.store.answer = fault
        await kept.passes(0.4)
        kept.store.answer = lambda: True
        await kept.passes(0.1)
        await kept.passes(0.5)
        assert await kept.keeper.until_fresh()
        assert kept.lost == 0


async def test_a_renewal_that_hangs_loses_it_when_the_clock_says_so() -> None:
    """Nobody answers: the thread cannot tell, the loop does, and once."""
    async with keeping() as kept:
        answered = threading.Event()
        kept.store.answer = lambda: answered.wait(PATIENCE_SECONDS) and away()
        watching = asyncio.create_task(kept.keeper.watch())
        kept.clock.at += LEASE_SECONDS / 2
        await eventually(lambda: kept.store.count == 1)
        assert kept.lost == 0
        kept.clock.at += LEASE_SECONDS / 4
        await eventually(lambda: kept.lost == 1)
        assert kept.keeper.over
        answered.set()
        await kept.keeper.join()
        await asyncio.sleep(0)
        assert kept.lost == 1
        watching.cancel()
        await asyncio.wait({watching})


async def test_stopped_it_asks_no_more() -> None:
    async with keeping() as kept:
        pass
    kept.clock.at += LEASE_SECONDS * 10
    await asyncio.sleep(0.05)
    assert kept.store.count == 0
    assert kept.lost == 0


async def test_it_is_steady_only_while_renewals_go_through() -> None:
    """Nothing is taken on a lease that may be about to end, although it has not ended yet."""
    async with keeping() as kept:
        assert kept.keeper.steady
        kept.store.answer = away
        await kept.passes(0.4)
        assert kept.keeper.fresh
        assert not kept.keeper.steady
        kept.store.answer = lambda: True
        await kept.passes(0.1)
        assert kept.keeper.steady
    late = Kept()
    late.clock.at += LEASE_SECONDS * 0.6
    assert late.keeper.fresh
    assert not late.keeper.steady
