"""The stores are the pure machine: driven with the same commands, ids and clock, SQLite and PostgreSQL give
the same answers and hold the same rows."""

import asyncio
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import run_state_machine_as_test

from tests.chats.driving import Driver, ManualClock, Peer
from tests.chats.making import NOW
from tests.chats.peers import open_peer
from tests.chats.test_stateful import Family, moves

Drivers = Callable[[], Driver]


@contextmanager
def driving(urls: dict[str, str], data: Path) -> Generator[Drivers]:
    """Drivers for one run after the other. The stores stay open: each run cleans up, and has ids of its
    own."""
    with asyncio.Runner() as runner:
        clock = ManualClock(only_forward=True)
        opened = [runner.run(open_peer(name, url, data, clock)) for name, url in urls.items()]
        peers: Sequence[Peer] = [peer for peer, _ in opened]
        newest: list[Driver] = []

        def next_driver() -> Driver:
            clock.moment = NOW
            first = newest.pop().number + 1 if newest else 1
            newest.append(Driver(clock, peers, runner.run, first))
            return newest[-1]

        yield next_driver
        for _, store in opened:
            runner.run(store.close())


@pytest.fixture
def on_sqlite(tmp_path: Path) -> Iterator[Drivers]:
    with driving({"sqlite": f"sqlite:{tmp_path / 'holdfast.db'}"}, tmp_path) as drivers:
        yield drivers


@pytest.fixture
def on_both(tmp_path: Path, postgres_url: str) -> Iterator[Drivers]:
    urls = {"sqlite": f"sqlite:{tmp_path / 'holdfast.db'}", "postgres": postgres_url}
    with driving(urls, tmp_path) as drivers:
        yield drivers


def drive(drivers: Drivers, examples: int, steps: int) -> None:
    """By rules, as the pure machine was."""

    class Driven(Family):
        def __init__(self) -> None:
            super().__init__(drivers())

    run_state_machine_as_test(Driven, settings=settings(max_examples=examples, stateful_step_count=steps))


def live(drivers: Drivers, examples: int, longest: int) -> None:
    """By long lives."""

    @settings(max_examples=examples)
    @given(life=st.lists(moves, min_size=longest // 2, max_size=longest))
    def lives(life: list[tuple[str, int]]) -> None:
        family = Family(drivers())
        family.first_chat()
        family.live_on(life)
        family.teardown()

    lives()


def test_sqlite_is_the_pure_machine(on_sqlite: Drivers) -> None:
    live(on_sqlite, examples=6, longest=60)


@pytest.mark.heavy
@pytest.mark.timeout(900)
def test_both_are_the_pure_machine(on_both: Drivers) -> None:
    drive(on_both, examples=12, steps=20)


@pytest.mark.heavy
@pytest.mark.timeout(900)
def test_both_are_the_pure_machine_for_long_lives(on_both: Drivers) -> None:
    live(on_both, examples=6, longest=100)


@pytest.mark.slow
def test_both_are_the_pure_machine_whatever_comes(on_both: Drivers) -> None:
    drive(on_both, examples=400, steps=40)


@pytest.mark.slow
def test_both_are_the_pure_machine_for_very_long_lives(on_both: Drivers) -> None:
    live(on_both, examples=200, longest=300)
