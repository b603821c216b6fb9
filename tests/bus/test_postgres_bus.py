"""Two buses on one real server, as two replicas have them, and what happens when the way between them
breaks."""

import asyncio
import time
from collections.abc import AsyncIterator

import asyncpg
import pytest

from holdfast.bus.listener import Listener
from holdfast.bus.postgres import CHANNEL, PostgresBus
from holdfast.core.events import BusEvent, Hint, LiveParts, Repeat, Reread, Skipped
from tests.bus.events import CHAT, EPISODE, OWNER, chat, hint, parts
from tests.postgres import Postgres
from tests.tcp_proxy import TcpProxy

# Each needs a database made for it.
pytestmark = pytest.mark.heavy

Buses = tuple[PostgresBus, PostgresBus]


@pytest.fixture
async def buses(postgres_url: str) -> AsyncIterator[Buses]:
    async with PostgresBus(postgres_url) as here, PostgresBus(postgres_url) as there:
        yield here, there


async def next_of(listener: Listener, seconds: float = 60) -> BusEvent:
    async with asyncio.timeout(seconds):
        event = await listener.get()
    assert event is not None
    return event


async def backends(url: str) -> list[int]:
    connection = await asyncpg.connect(url)
    try:
        rows = await connection.fetch(
            "SELECT pid FROM pg_stat_activity WHERE application_name = 'holdfast bus'"
            " AND datname = current_database()"
        )
    finally:
        await connection.close()
    return [row["pid"] for row in rows]


async def execute(url: str, query: str, *arguments: object) -> None:
    connection = await asyncpg.connect(url)
    try:
        await connection.execute(query, *arguments)
    finally:
        await connection.close()


async def test_two_processes_talk_and_nobody_hears_himself_twice(buses: Buses) -> None:
    here, there = buses
    async with here.listen() as ours, there.listen() as theirs:
        sent: list[BusEvent] = [hint(1), parts(1, "a", "b"), Repeat(chat_id=CHAT, episode=EPISODE, first=1)]
        for event in sent:
            here.publish(event)
        got = [await next_of(theirs) for _ in sent]
        assert {type(event) for event in got} == {Hint, LiveParts, Repeat}
        assert all(event in got for event in sent)
        there.publish(hint(2))
        for event in (*sent, hint(2)):
            assert await next_of(ours) == event
        await asyncio.sleep(0.2)
        assert ours.get_nowait() is None
        assert theirs.get_nowait() == hint(2)
        assert theirs.get_nowait() is None


async def test_a_quiet_bus_sends_at_once(buses: Buses) -> None:
    here, there = buses
    async with there.listen() as theirs:
        delays: list[float] = []
        for version in range(1, 21):
            await asyncio.sleep(0.03)
            begun = time.perf_counter()
            here.publish(hint(version))
            assert await next_of(theirs) == hint(version)
            delays.append(time.perf_counter() - begun)
    # Nothing is saved up for a second message that may come.
    assert sorted(delays)[10] < 0.5


async def test_parts_arrive_in_order_whatever_their_number(buses: Buses) -> None:
    here, there = buses
    async with there.listen(chat_id=CHAT) as theirs:
        for number in range(1, 2001):
            here.publish(parts(number, f"{number} "))
            if number % 50 == 0:
                await asyncio.sleep(0.001)
        seen = 1
        while seen <= 2000:
            event = await next_of(theirs)
            assert isinstance(event, LiveParts)
            assert event.first == seen
            seen += len(event.parts)
    assert here.counters.notifications_sent < 100


async def test_a_part_too_large_to_travel_is_named(buses: Buses) -> None:
    here, there = buses
    async with there.listen(chat_id=CHAT) as theirs:
        here.publish(parts(1, "ü" * 4000))
        here.publish(parts(2, "small"))
        assert await next_of(theirs) == Skipped(chat_id=CHAT, episode=EPISODE, first=1, count=1)
        assert await next_of(theirs) == parts(2, "small")


async def test_many_hints_are_joined_and_the_rate_is_bounded(buses: Buses) -> None:
    here, there = buses
    async with there.listen() as theirs:
        begun = time.perf_counter()
        for version in range(1, 1001):
            for number in range(5):
                here.publish(hint(version, chat(number)))
            if version % 10 == 0:
                await asyncio.sleep(0.005)
        latest: dict[str, int] = {}
        while len(latest) < 5 or set(latest.values()) != {1000}:
            event = await next_of(theirs)
            assert isinstance(event, Hint)
            latest[event.chat_id] = event.version
        seconds = time.perf_counter() - begun
    assert here.counters.published == 5000
    assert there.counters.notifications_received <= 100 * seconds + 1


async def test_without_another_replica_nothing_is_sent_but_a_greeting(postgres_url: str) -> None:
    heard: list[str] = []

    def hear(_connection: object, _pid: int, _channel: str, payload: object) -> None:
        heard.append(str(payload).partition(":")[2])

    outside = await asyncpg.connect(postgres_url)
    try:
        await outside.add_listener(CHANNEL, hear)
        async with (
            PostgresBus(postgres_url, peers=lambda: False, heartbeat_seconds=0.1) as here,
            here.listen() as ours,
        ):
            here.publish(parts(1, "unsent"))
            here.publish(hint(1))
            assert await next_of(ours) == parts(1, "unsent")
            assert await next_of(ours) == hint(1)
            await asyncio.sleep(0.5)
            assert here.counters.notifications_sent == 0
        await outside.execute("SELECT 1")
        assert heard == ["[]"]
    finally:
        await outside.close()


async def test_who_was_heard_is_told_everything(postgres_url: str) -> None:
    """Neither is known by a row, as when both were started this moment: the greeting is enough, both ways."""
    async with (
        PostgresBus(postgres_url, peers=lambda: False) as here,
        PostgresBus(postgres_url, peers=lambda: False) as there,
        here.listen() as ours,
        there.listen() as theirs,
    ):
        await _until_heard(here, there)
        here.publish(parts(1, "a"))
        assert await next_of(theirs) == parts(1, "a")
        there.publish(Repeat(chat_id=CHAT, episode=EPISODE, first=1))
        assert await next_of(ours) == parts(1, "a")
        assert await next_of(ours) == Repeat(chat_id=CHAT, episode=EPISODE, first=1)


async def test_who_has_no_row_says_that_it_is_there(postgres_url: str) -> None:
    """A replica that only answers requests sends nothing while it is watched, and is told all the same."""
    async with (
        PostgresBus(postgres_url, peers=lambda: False) as here,
        PostgresBus(postgres_url, announces=True, heartbeat_seconds=0.05) as there,
    ):
        await _until_heard(here, there)
        before = here.counters.notifications_received
        async with asyncio.timeout(60):
            while here.counters.notifications_received < before + 5:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        assert there.counters.notifications_sent == 0


async def _until_heard(*buses: PostgresBus) -> None:
    async with asyncio.timeout(60):
        while not all(bus.counters.notifications_received for bus in buses):  # noqa: ASYNC110
            await asyncio.sleep(0.01)


async def test_somebody_elses_notifications_do_no_harm(buses: Buses, postgres_url: str) -> None:
    here, _ = buses
    async with here.listen() as ours:
        for payload in ("", "garbage", 'them:[{"t":"?"}]', "x" * 7000):
            await execute(postgres_url, "SELECT pg_notify($1, $2)", CHANNEL, payload)
        await execute(
            postgres_url, 'SELECT pg_notify(\'holdfast\', \'them:[{"t":"a","reason":"overflow"}]\')'
        )
        assert await next_of(ours) == Reread(reason="overflow")
    assert here.counters.garbled == 4


async def until_connected(listener: Listener) -> None:
    while await next_of(listener) != Reread(reason="connected"):
        pass


async def test_a_killed_connection_comes_back_and_everybody_reads_again(
    buses: Buses, postgres_url: str
) -> None:
    here, there = buses
    async with (
        here.listen(chat_id=CHAT) as ours,
        here.listen(owner_id=OWNER) as of_owner,
        there.listen() as theirs,
    ):
        before = await backends(postgres_url)
        assert len(before) == 2
        for pid in before:
            await execute(postgres_url, "SELECT pg_terminate_backend($1)", pid)
        here.publish(hint(1))
        # Told within the process even now, whether it is connected again or not yet.
        told = list(iter(ours.get_nowait, None))
        assert hint(1) in told
        if Reread(reason="connected") not in told:
            await until_connected(ours)
        await until_connected(of_owner)
        await until_connected(theirs)
        there.publish(hint(9))
        while await next_of(ours) != hint(9):
            pass
    assert here.counters.connects == 2
    assert set(await backends(postgres_url)).isdisjoint(before)


async def test_what_was_published_while_the_connection_was_away_arrives_afterwards(postgres_url: str) -> None:
    async with (
        TcpProxy(postgres_url) as proxy,
        PostgresBus(proxy.url) as here,
        PostgresBus(postgres_url) as there,
        there.listen() as theirs,
    ):
        proxy.mode = "black_hole"
        proxy.cut()
        for version in range(1, 100):
            here.publish(hint(version))
        await asyncio.sleep(0.5)
        assert theirs.get_nowait() is None
        proxy.mode = "pass"
        proxy.cut()
        assert await next_of(theirs) == hint(99)


async def test_a_half_open_connection_is_noticed_and_replaced(postgres_url: str) -> None:
    async with (
        TcpProxy(postgres_url) as proxy,
        PostgresBus(proxy.url) as here,
        PostgresBus(postgres_url) as there,
        here.listen(chat_id=CHAT) as ours,
    ):
        there.publish(hint(1))
        assert await next_of(ours) == hint(1)
        # The packets of the old connection vanish for ever, nothing is closed; new connections work.
        proxy.swallow_existing()
        there.publish(hint(2))
        assert await next_of(ours) == Reread(reason="connected")
        assert here.counters.connects == 2
        there.publish(hint(3))
        assert await next_of(ours) == hint(3)


async def test_a_restarted_server_is_found_again(own_postgres: Postgres) -> None:
    url = own_postgres.create_database("bus")
    async with (
        PostgresBus(url) as here,
        PostgresBus(url) as there,
        here.listen() as ours,
        there.listen() as theirs,
    ):
        await asyncio.to_thread(own_postgres.restart)
        assert await next_of(ours) == Reread(reason="connected")
        assert await next_of(theirs) == Reread(reason="connected")
        there.publish(hint(5))
        assert await next_of(ours) == hint(5)


async def test_a_bus_that_never_connects_still_tells_its_own_process_and_closes() -> None:
    before = asyncio.all_tasks()
    async with PostgresBus("postgresql://nobody:secret@127.0.0.1:1/none") as bus, bus.listen() as listener:
        bus.publish(hint(1))
        assert await next_of(listener) == hint(1)
        assert not bus.connected
    assert asyncio.all_tasks() == before


async def test_closing_sends_what_waits_and_leaves_nothing(postgres_url: str) -> None:
    before = asyncio.all_tasks()
    async with PostgresBus(postgres_url) as there, there.listen() as theirs:
        here = PostgresBus(postgres_url)
        await here.start()
        for number in range(300):
            here.publish(hint(1, chat(number)))
        await here.close()
        got = {event.chat_id for _ in range(300) if isinstance(event := await next_of(theirs), Hint)}
        assert len(got) == 300
        assert len(await backends(postgres_url)) == 1
    assert asyncio.all_tasks() == before
    assert await backends(postgres_url) == []
