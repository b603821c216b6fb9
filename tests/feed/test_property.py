"""Whatever happens to a chat, to the bus and to the connections: at the end every watcher has the text of the
database, byte for byte, and was never shown anything twice, out of order or in the wrong place."""

import asyncio
import itertools
from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager
from dataclasses import dataclass, replace
from itertools import repeat
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from holdfast.core.ids import ChatId
from holdfast.core.shapes import encode
from holdfast.feed.limits import FeedLimits, PageSize
from holdfast.store.calls import calls_of_turns
from holdfast.store.interface import Store
from holdfast.store.messages import page
from holdfast.store.steps import steps_of_turns, turns
from holdfast.telemetry.spans import spans
from tests.feed.client import Client, Json, said_in
from tests.feed.moves import Mover
from tests.feed.stage import QUICK, Chatting, Fate, Stage, replicated, staged

MISHAPS: tuple[Fate, ...] = ("lost", "doubled", "late", "too large", "overflow")
FATES: tuple[Fate, ...] = (*MISHAPS, *repeat("arrives", 6))


@dataclass(frozen=True)
class Life:
    moves: list[int]
    # Between moves: how often everybody else gets a turn.
    pauses: list[int]
    deltas: list[str]
    fates: list[Fate]
    # For each watcher, after how many events it reconnects, again and again; and how slowly it reads.
    watchers: list[tuple[list[int], int]]


# So little that every limit is reached: pages, parts that are kept, backlogs.
TINY = replace(
    QUICK,
    door_page=PageSize(messages=3, bytes=200, spans=3),
    own_page=PageSize(messages=2, bytes=100, spans=2),
    kept_bytes=300,
    ask_seconds=0.005,
    asks=1,
    backlog_bytes=6_000,
    slow_bytes=1_000,
    batch_bytes=500,
)
numbers = st.integers(0, 1_000_000)
lives = st.builds(
    Life,
    moves=st.lists(numbers, min_size=10, max_size=60),
    pauses=st.lists(st.integers(0, 20), min_size=1, max_size=10),
    deltas=st.lists(st.text(min_size=1, max_size=6), min_size=1, max_size=10),
    fates=st.lists(st.sampled_from(FATES), min_size=1, max_size=20) | st.just(["arrives"]),
    watchers=st.lists(
        st.tuples(st.lists(st.integers(1, 12), max_size=6), st.sampled_from([0, 1, 5, 20, 300])),
        min_size=1,
        max_size=4,
    ),
)


async def watch(stage: Stage, client: Client, chat_id: ChatId, visits: list[int], slowness: int) -> None:
    """Comes back again and again, to any replica; at last it stays."""
    hubs = itertools.cycle(stage.hubs)
    for events in visits:
        await client.connect(next(hubs), chat_id, events)
        await turns_of_others(slowness)
    while True:
        await client.connect(next(hubs), chat_id, None, slowness=slowness)
        # It was cut because it is slow.
        client.cuts += 1


async def turns_of_others(count: int) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


async def run(stage: Stage, life: Life) -> int:
    """Says how often a watcher connected."""
    deltas, fates, pauses = (
        itertools.cycle(life.deltas),
        itertools.cycle(life.fates),
        itertools.cycle(life.pauses),
    )
    chat = await stage.chat()
    stage.way.fate = lambda: next(fates)
    mover = Mover(chat, lambda: next(deltas))
    clients = [Client(told=chat.told) for _ in life.watchers]
    async with asyncio.TaskGroup() as group:
        watching = [
            group.create_task(watch(stage, client, chat.id, visits, slowness))
            for client, (visits, slowness) in zip(clients, life.watchers, strict=True)
        ]
        for choice in life.moves:
            await mover.move(choice)
            await turns_of_others(next(pauses))
        await mover.rest()
        stage.way.fate = lambda: "arrives"
        stage.way.release()
        await all_hold(stage, chat, clients)
        for task in watching:
            task.cancel()
    return sum(client.connections for client in clients)


async def all_hold(stage: Stage, chat: Chatting, clients: Sequence[Client]) -> None:
    stored, trace = await said_in(stage.store, chat.id), await trace_of(stage.store, chat.id)
    status = (await chat.view()).chat.status
    for client in clients:
        try:
            await client.until(
                lambda c: c.said == stored and c.preview is None and c.trace == trace and c.status == status
            )
        except TimeoutError:
            assert client.said == stored
            assert client.preview is None
            assert client.trace == trace
            assert client.status == status


async def trace_of(store: Store, chat_id: ChatId) -> dict[str, Json]:
    rows = await store.read(
        turns(chat_id, limit=10_000),
        steps_of_turns(chat_id, 0, 10_000),
        calls_of_turns(chat_id, 0, 10_000),
        page(chat_id, limit=10_000, removed=True, for_model=True),
    )
    return {span.id: msgspec.json.decode(encode(span)) for span in spans(chat_id, *rows)}


Lives = Callable[[int], int]


@contextmanager
def played(staging: AbstractAsyncContextManager[Stage]) -> Generator[Lives]:
    """Runs so many lives, each a chat of its own on the same stage; says how often watchers connected."""
    with asyncio.Runner() as runner:
        stage = runner.run(staging.__aenter__())

        def play(count: int) -> int:
            connections = 0

            @settings(max_examples=count, suppress_health_check=[HealthCheck.too_slow])
            @given(life=lives)
            def live(life: Life) -> None:
                nonlocal connections
                connections += runner.run(run(stage, life))

            live()
            return connections

        try:
            yield play
        finally:
            runner.run(staging.__aexit__(None, None, None))


sizes = pytest.mark.parametrize("limits", [QUICK, TINY], ids=["roomy", "tiny"])


@sizes
def test_every_watcher_holds_what_the_database_says(tmp_path: Path, limits: FeedLimits) -> None:
    with played(staged("sqlite", tmp_path, limits)) as play:
        play(5)


@pytest.mark.heavy
@pytest.mark.timeout(900)
@sizes
def test_after_hundreds_of_reconnects(tmp_path: Path, limits: FeedLimits) -> None:
    with played(staged("sqlite", tmp_path, limits)) as play:
        assert play(60) > 200


@pytest.mark.heavy
@pytest.mark.timeout(900)
@sizes
def test_on_any_of_two_replicas(tmp_path: Path, postgres_url: str, limits: FeedLimits) -> None:
    with played(replicated(postgres_url, tmp_path, limits)) as play:
        play(15)


def many(play: Lives, wanted: int) -> None:
    connections = 0
    while connections < wanted:
        connections += play(100)


@pytest.mark.slow
@pytest.mark.timeout(7200)
@sizes
def test_after_ten_thousand_reconnects(tmp_path: Path, limits: FeedLimits) -> None:
    with played(staged("sqlite", tmp_path, limits)) as play:
        many(play, 10_000)


@pytest.mark.slow
@pytest.mark.timeout(7200)
@sizes
def test_after_a_thousand_reconnects_to_replicas(
    tmp_path: Path, postgres_url: str, limits: FeedLimits
) -> None:
    with played(replicated(postgres_url, tmp_path, limits)) as play:
        many(play, 1_000)
