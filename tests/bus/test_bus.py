"""What every bus must do, whichever it is; across processes is in test_postgres_bus.py and
test_redis_bus.py."""

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Any

import pytest

from holdfast.bus.interface import Bus
from holdfast.bus.listener import Listener
from holdfast.bus.memory import MemoryBus
from holdfast.bus.postgres import PostgresBus
from holdfast.bus.redis import RedisBus
from holdfast.core.events import BusEvent, Configured, LiveParts, Repeat, Reread, Skipped
from tests.bus.events import CHAT, EPISODE, OTHER, OWNER, STRANGER, chat, hint, parts


@pytest.fixture(
    params=[
        "memory",
        pytest.param("postgres", marks=pytest.mark.heavy),
        pytest.param("redis", marks=pytest.mark.heavy),
    ]
)
async def bus(request: pytest.FixtureRequest) -> AsyncIterator[Bus]:
    match request.param:
        case "postgres":
            made = PostgresBus(request.getfixturevalue("postgres_url"))
        case "redis":
            made = RedisBus(request.getfixturevalue("redis_url"))
        case _:
            made = MemoryBus()
    async with made:
        yield made


def taken(listener: Listener) -> list[BusEvent]:
    events: list[BusEvent] = []
    while (event := listener.get_nowait()) is not None:
        events.append(event)
    return events


async def test_a_listener_gets_what_is_published_after_it_listens_at_once_and_in_order(bus: Bus) -> None:
    bus.publish(hint(1))
    async with bus.listen(chat_id=CHAT) as listener:
        sent: list[BusEvent] = [
            hint(2),
            parts(1, "a"),
            parts(2, "b"),
            Repeat(chat_id=CHAT, episode=EPISODE, first=1),
        ]
        for event in sent:
            bus.publish(event)
        assert taken(listener) == sent


async def test_each_is_told_of_what_it_listens_to(bus: Bus) -> None:
    ours, theirs = hint(1), hint(1, OTHER, STRANGER)
    live = parts(1, "a")
    skipped = Skipped(chat_id=CHAT, episode=EPISODE, first=2, count=1)
    async with (
        bus.listen(chat_id=CHAT) as of_chat,
        bus.listen(chat_id=CHAT, live=False) as of_chat_quiet,
        bus.listen(owner_id=OWNER) as of_owner,
        bus.listen() as of_all,
        bus.listen(live=False) as of_all_quiet,
    ):
        for event in (ours, theirs, live, skipped):
            bus.publish(event)
        assert taken(of_chat) == [ours, live, skipped]
        assert taken(of_chat_quiet) == [ours]
        assert taken(of_owner) == [ours]
        assert taken(of_all) == [ours, theirs, live, skipped]
        assert taken(of_all_quiet) == [ours, theirs]


async def test_settings_are_a_matter_of_their_own(bus: Bus) -> None:
    async with bus.listen_for_settings() as of_settings, bus.listen() as of_all:
        bus.publish(hint(1))
        bus.publish(Configured())
        assert taken(of_settings) == [Configured()]
        assert taken(of_all) == [hint(1)]


async def test_nobody_can_listen_to_a_chat_and_an_owner_at_once(bus: Bus) -> None:
    with pytest.raises(ValueError, match="not to both"):
        bus.listen(chat_id=CHAT, owner_id=OWNER)


async def test_hints_of_a_chat_that_wait_become_one_at_the_place_of_the_first(bus: Bus) -> None:
    async with bus.listen() as listener:
        bus.publish(hint(1))
        bus.publish(hint(1, OTHER))
        for version in range(2, 1000):
            bus.publish(hint(version))
        bus.publish(hint(5))  # late
        assert taken(listener) == [hint(999), hint(1, OTHER)]
        bus.publish(hint(1000))
        assert taken(listener) == [hint(1000)]


@pytest.mark.parametrize(
    "first,second,told",
    [
        (hint(4, delivery=True), hint(5), hint(5, delivery=True)),
        (hint(4, wanted=True), hint(5), hint(5)),
        (hint(5, wanted=True), hint(5), hint(5, wanted=True)),
        (hint(5), hint(4, wanted=True), hint(5)),
        (hint(5), hint(5, status=None), hint(5, status=None)),
        (hint(5, status=None), hint(5), hint(5, status=None)),
    ],
)
async def test_a_joined_hint_says_what_both_said(bus: Bus, first: Any, second: Any, told: Any) -> None:
    async with bus.listen() as listener:
        bus.publish(first)
        bus.publish(second)
        assert taken(listener) == [told]


async def test_a_reader_that_falls_behind_is_told_once_to_read_again(bus: Bus) -> None:
    async with bus.listen(chat_id=CHAT) as slow, bus.listen(chat_id=CHAT) as quick:
        text = "x" * 1000
        for number in range(1, 10_000):
            bus.publish(parts(number, text))
            assert await quick.get() == parts(number, text)
        events = taken(slow)
        assert events[0] == Reread(reason="overflow")
        numbers = [event.first for event in events[1:] if isinstance(event, LiveParts)]
        assert len(numbers) == len(events) - 1
        assert numbers == list(range(numbers[0], 10_000))
        assert sum(len(text) for _ in numbers) < 3 * 1024 * 1024
        assert bus.counters.overflows > 0


async def test_hints_of_very_many_chats_are_bounded_too(bus: Bus) -> None:
    async with bus.listen() as listener:
        for number in range(50_000):
            bus.publish(hint(1, chat(number)))
        events = taken(listener)
        assert events[0] == Reread(reason="overflow")
        assert len(events) < 20_000


async def test_iteration_waits_and_ends_when_the_bus_closes(bus: Bus) -> None:
    seen: list[BusEvent] = []

    async def read(listener: Listener) -> None:
        async with listener:
            seen.extend([event async for event in listener])

    async with asyncio.TaskGroup() as tasks:
        reader = tasks.create_task(read(bus.listen(chat_id=CHAT)))
        await asyncio.sleep(0)
        bus.publish(hint(1))
        bus.publish(hint(2))
        await asyncio.sleep(0.01)
        bus.publish(hint(3))
        await bus.close()
        await reader
    assert seen == [hint(2), hint(3)]
    assert await bus.listen(chat_id=CHAT).get() is None


async def test_who_has_left_is_told_nothing_and_forgotten(bus: Bus) -> None:
    listener = bus.listen(chat_id=CHAT)
    async with listener:
        pass
    bus.publish(hint(1))
    assert await listener.get() is None
    listener.close()  # twice is fine


async def test_a_cancelled_read_loses_nothing(bus: Bus) -> None:
    async with bus.listen(chat_id=CHAT) as listener:
        reading = asyncio.ensure_future(listener.get())
        await asyncio.sleep(0)
        bus.publish(hint(1))
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
        assert await listener.get() == hint(1)


async def test_other_threads_may_publish(bus: Bus) -> None:
    async with bus.listen(chat_id=CHAT) as listener:
        await asyncio.to_thread(bus.publish, hint(7))
        assert await listener.get() == hint(7)


async def test_delivery_costs_what_the_listeners_of_that_chat_cost(bus: Bus) -> None:
    def publish_many() -> float:
        begun = time.perf_counter()
        for version in range(300):
            bus.publish(hint(version))
        return time.perf_counter() - begun

    alone = min(publish_many() for _ in range(5))
    others = [bus.listen(chat_id=chat(number)) for number in range(5000)]
    crowded = min(publish_many() for _ in range(5))
    for listener in others:
        listener.close()
    # Telling 5 000 others would cost thousands of times as much.
    assert crowded < alone * 50
