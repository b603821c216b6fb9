"""Two buses on one real Redis, as two replicas have them, and what happens when the way between them breaks.
What both kinds share is tried harder in test_postgres_bus.py."""

import asyncio
from collections.abc import AsyncIterator

import pytest
import structlog

from holdfast.bus.listener import Listener
from holdfast.bus.redis import RedisBus
from holdfast.core.events import BusEvent, Configured, Hint, LiveParts, Repeat, Reread
from tests.bus.events import CHAT, EPISODE, chat, hint, parts
from tests.tcp_proxy import TcpProxy

pytestmark = pytest.mark.heavy

Buses = tuple[RedisBus, RedisBus]


@pytest.fixture
async def buses(redis_url: str) -> AsyncIterator[Buses]:
    async with RedisBus(redis_url) as here, RedisBus(redis_url) as there:
        yield here, there


async def next_of(listener: Listener) -> BusEvent:
    async with asyncio.timeout(60):
        event = await listener.get()
    assert event is not None
    return event


async def test_two_processes_talk_and_nobody_hears_himself_twice(buses: Buses) -> None:
    here, there = buses
    async with here.listen() as ours, there.listen() as theirs:
        sent: list[BusEvent] = [hint(1), parts(1, "a", "b"), Repeat(chat_id=CHAT, episode=EPISODE, first=1)]
        for event in sent:
            here.publish(event)
        got = [await next_of(theirs) for _ in sent]
        assert all(event in got for event in sent)
        there.publish(hint(2))
        # Had it heard itself, that would stand before what the other said.
        assert [await next_of(ours) for _ in range(4)] == [*sent, hint(2)]
        assert here.counters.garbled == there.counters.garbled == 0


async def test_settings_and_large_parts_travel(buses: Buses) -> None:
    here, there = buses
    text = "x" * 30_000  # more than a notification of PostgreSQL holds
    async with there.listen_for_settings() as settings, there.listen(chat_id=CHAT) as of_chat:
        here.publish(Configured())
        here.publish(parts(1, text))
        assert await next_of(settings) == Configured()
        assert await next_of(of_chat) == parts(1, text)
        assert isinstance(parts(1, text), LiveParts)


async def test_databases_of_one_server_are_strangers(redis_url: str) -> None:
    other = redis_url.removesuffix("/0") + "/1"
    async with (
        RedisBus(redis_url) as here,
        RedisBus(other) as there,
        RedisBus(other) as third,
        there.listen() as theirs,
    ):
        here.publish(hint(1))
        third.publish(hint(2))
        assert await next_of(theirs) == hint(2)
        assert there.counters.events_received == 1


async def test_a_connection_that_is_cut_is_made_again_and_everybody_reads_again(redis_url: str) -> None:
    async with (
        TcpProxy(redis_url) as proxy,
        RedisBus(proxy.url) as here,
        RedisBus(redis_url) as there,
        here.listen(chat_id=CHAT) as ours,
        there.listen() as theirs,
    ):
        proxy.cut()
        assert await next_of(ours) == Reread(reason="connected")
        there.publish(hint(3))
        assert await next_of(ours) == hint(3)
        here.publish(hint(4))
        while await next_of(theirs) != hint(4):
            pass
        assert here.counters.connects == 2


async def test_a_half_open_connection_is_noticed_and_replaced(redis_url: str) -> None:
    async with (
        TcpProxy(redis_url) as proxy,
        RedisBus(proxy.url, heartbeat_seconds=0.2, answer_seconds=1.0) as here,
        here.listen(chat_id=CHAT) as ours,
    ):
        proxy.swallow_existing()
        assert await next_of(ours) == Reread(reason="connected")
        assert here.counters.connects >= 2


async def test_a_bus_that_never_connects_still_tells_its_own_process_and_closes() -> None:
    before = asyncio.all_tasks()
    with structlog.testing.capture_logs() as logged:
        async with RedisBus("redis://:hunter2@127.0.0.1:1/0") as bus, bus.listen() as listener:
            bus.publish(hint(1))
            assert await next_of(listener) == hint(1)
            assert not bus.connected
    assert logged
    assert "hunter2" not in str(logged)
    assert asyncio.all_tasks() == before


async def test_closing_sends_what_waits_and_leaves_nothing(redis_url: str) -> None:
    before = asyncio.all_tasks()
    async with RedisBus(redis_url) as there, there.listen() as theirs:
        here = RedisBus(redis_url)
        await here.start()
        for number in range(300):
            here.publish(hint(1, chat(number)))
        await here.close()
        got = {event.chat_id for _ in range(300) if isinstance(event := await next_of(theirs), Hint)}
        assert len(got) == 300
    assert asyncio.all_tasks() == before
