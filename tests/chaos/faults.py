"""The faults: what is broken, for how long, and how it is healed again. Names and rows are those of the
design's table of faults."""

import asyncio
import sqlite3
import time
from collections.abc import Awaitable, Callable
from contextlib import closing
from dataclasses import dataclass
from random import Random
from signal import SIGCONT, SIGSTOP
from urllib.parse import urlsplit

from holdfast.store.directory import FILE_NAME
from tests import disks
from tests.chaos.disturbed import CLOCK, FREEZE, NO_THREADS
from tests.chaos.stage import LEASE_SECONDS, SET_UPS, Server, SetUp, Stage
from tests.postgres import StopMode


@dataclass(frozen=True)
class Fault:
    name: str
    rows: str
    # What is done, for those who read the table.
    told: str
    inject: Callable[[Stage, Random], Awaitable[None]]
    set_ups: tuple[SetUp, ...] = SET_UPS
    # How often in a round.
    times: int = 1
    # Who survives takes over while the fault lasts: recovery counts from its beginning, not from its end.
    taken_over: bool = False


class Misbehaved(Exception):
    """A server did not do what it must while it was disturbed; a sentence that begins with the invariant."""


# How long something is waited for that a server may do next.
ORDER_SECONDS = 5.0
POSTGRES: tuple[SetUp, ...] = ("one", "three")


async def nothing(_stage: Stage, _chance: Random) -> None:
    pass


async def kill(stage: Stage, chance: Random) -> None:
    server = chance.choice(stage.servers)
    await server.kill()
    # Where others live they take over, sometimes before it is back.
    if len(stage.servers) > 1:
        await asyncio.sleep(chance.uniform(0, LEASE_SECONDS + 2))
    await server.start()


async def stop(stage: Stage, chance: Random) -> None:
    server = chance.choice(stage.servers)
    code = await server.stop()
    if code != 0:
        raise Misbehaved(f"F-03: a server that was asked to stop ended with {code}")
    await server.start()


async def freeze(stage: Stage, chance: Random) -> None:
    await _frozen(chance.choice(stage.servers), chance.uniform(1.4, 2.5) * LEASE_SECONDS)


async def freeze_shortly(stage: Stage, chance: Random) -> None:
    await _frozen(chance.choice(stage.servers), 0.5 * LEASE_SECONDS)


async def _frozen(server: Server, seconds: float) -> None:
    server.process.signal(SIGSTOP)
    server.frozen = True
    try:
        await asyncio.sleep(seconds)
    finally:
        server.process.signal(SIGCONT)
        server.frozen = False


async def freeze_before_effect(stage: Stage, chance: Random) -> None:
    """Frozen between the look at the lease and what was to be done; by then others have taken over."""
    server = chance.choice(stage.servers)
    order = server.orders / FREEZE
    order.touch()
    try:
        async with asyncio.timeout(ORDER_SECONDS):
            while order.exists():  # noqa: ASYNC110 - another process removes it
                await asyncio.sleep(0.01)
    except TimeoutError:
        order.unlink(missing_ok=True)  # nothing was begun here meanwhile
        return
    await _frozen(server, chance.uniform(1.4, 2.5) * LEASE_SECONDS)


async def set_clock(stage: Stage, chance: Random) -> None:
    """The clock on the wall of one machine jumps, and back again; that of the database does not."""
    order = chance.choice(stage.servers).orders / CLOCK
    try:
        for seconds in chance.sample((20.0, 3600.0, 10 * 365 * 86400.0, -20.0, -3600.0), 3):
            order.write_text(str(seconds))
            await asyncio.sleep(chance.uniform(0.5, 1.5))
    finally:
        order.write_text("0")


async def no_threads(stage: Stage, chance: Random) -> None:
    """The machine of one server gives it no more threads, as when a limit of processes is reached."""
    order = chance.choice(stage.servers).orders / NO_THREADS
    order.touch()
    try:
        await asyncio.sleep(chance.uniform(1.0, 2.0) * LEASE_SECONDS)
    finally:
        order.unlink()


def restart_database(mode: StopMode) -> Callable[[Stage, Random], Awaitable[None]]:
    async def restart(stage: Stage, chance: Random) -> None:
        assert stage.postgres is not None
        await asyncio.to_thread(stage.postgres.stop, mode)
        await asyncio.sleep(chance.uniform(0, 2))
        await asyncio.to_thread(stage.postgres.start)

    return restart


async def cut_database(stage: Stage, chance: Random) -> None:
    for _ in range(3):
        line = chance.choice(stage.servers).line
        assert line is not None
        line.cut()
        await asyncio.sleep(chance.uniform(0.1, 0.5))


async def black_hole(stage: Stage, chance: Random) -> None:
    """Packets to and from the database vanish; then the way is open, and the old connections stay dead."""
    line = chance.choice(stage.servers).line
    assert line is not None
    line.mode = "black_hole"
    try:
        await asyncio.sleep(chance.uniform(0.5, 2.0) * LEASE_SECONDS)
    finally:
        line.swallow_existing()
        line.mode = "pass"


async def lose_notifications(stage: Stage, chance: Random) -> None:
    await _notifications(stage, "lost", chance.uniform(4, 6))


async def mix_notifications(stage: Stage, chance: Random) -> None:
    await _notifications(stage, "mixed", chance.uniform(4, 6))


async def _notifications(stage: Stage, manner: str, seconds: float) -> None:
    for server in stage.servers:
        assert server.notifications is not None
        server.notifications.manner = manner  # pyright: ignore[reportAttributeAccessIssue]
    await asyncio.sleep(seconds)
    for server in stage.servers:
        assert server.notifications is not None
        server.notifications.manner = "pass"


async def cut_clients(stage: Stage, chance: Random) -> None:
    """What the server answers is lost, then everybody's connection is cut: was it done or not?"""
    for _ in range(4):
        door = chance.choice(stage.servers).door
        door.mode = "mute"
        await asyncio.sleep(chance.uniform(0.05, 0.4))
        door.cut()
        door.mode = "pass"
        await asyncio.sleep(chance.uniform(0.1, 0.5))


async def vanished_watchers(stage: Stage, chance: Random) -> None:
    """Many begin to watch and never read; half of them are gone without a word."""
    writers: list[asyncio.StreamWriter] = []
    chats = [asked.chat_id for asked in stage.clients.log if asked.kind == "create" and asked.chat_id]
    if not chats:
        return
    try:
        for number in range(30):
            parts = urlsplit(chance.choice(stage.servers).process.address)
            _, writer = await asyncio.open_connection(parts.hostname, parts.port, limit=1)
            path = f"/api/v1/chats/{chance.choice(chats)}/feed"
            head = f"GET {path} HTTP/1.1\r\nHost: {parts.netloc}\r\n"
            writer.write(f"{head}Authorization: Bearer {stage.clients.token}\r\n\r\n".encode())
            await writer.drain()
            if number % 2:
                writer.transport.abort()
            else:
                writers.append(writer)
        await asyncio.sleep(3)
    finally:
        for writer in writers:
            writer.transport.abort()


async def break_provider(stage: Stage, chance: Random) -> None:
    stage.provider.failing = chance
    try:
        await asyncio.sleep(chance.uniform(3, 5))
    finally:
        stage.provider.failing = None


async def fill_disk(stage: Stage, chance: Random) -> None:
    assert stage.disk is not None
    await asyncio.to_thread(disks.fill, stage.disk)
    try:
        await asyncio.sleep(chance.uniform(0.5, 2))
    finally:
        await asyncio.to_thread(disks.free, stage.disk)


async def lock_file(stage: Stage, chance: Random) -> None:
    """Another program holds the write lock of the database's file."""
    path, seconds = stage.servers[0].process.data / FILE_NAME, chance.uniform(1, 4)

    def hold() -> None:
        with closing(sqlite3.connect(path, isolation_level=None, timeout=10)) as connection:
            connection.execute("BEGIN IMMEDIATE")
            time.sleep(seconds)
            connection.execute("ROLLBACK")

    await asyncio.to_thread(hold)


FAULTS: tuple[Fault, ...] = (
    Fault("none", "", "nothing is broken", nothing),
    Fault("kill", "F-01, F-02", "SIGKILL of a server, and a restart", kill, times=2, taken_over=True),
    Fault("stop", "F-03", "SIGTERM of a server, and a restart", stop, times=2),
    Fault("freeze", "F-15", "SIGSTOP for 1.4 to 2.5 leases", freeze, taken_over=True),
    Fault(
        "freeze in between",
        "F-15",
        "SIGSTOP between the look at the lease and the effect",
        freeze_before_effect,
        taken_over=True,
    ),
    Fault("clock", "", "the clock jumps by 20 s, an hour, ten years, also backwards", set_clock, times=2),
    Fault("no threads", "", "no thread can be started", no_threads),
    Fault("short freeze", "F-14", "SIGSTOP for half a lease", freeze_shortly, times=2),
    Fault("database fast", "F-20", "fast restart of PostgreSQL", restart_database("fast"), POSTGRES, 2),
    Fault(
        "database immediate", "F-20", "PostgreSQL crashes", restart_database("immediate"), POSTGRES, times=2
    ),
    Fault("database cut", "F-21", "connections to the database reset", cut_database, POSTGRES, times=2),
    Fault("database silent", "F-21", "packets to the database vanish", black_hole, POSTGRES),
    Fault("hints lost", "F-22", "no notification arrives", lose_notifications, POSTGRES),
    Fault("hints mixed", "F-24", "notifications tripled, late, reordered", mix_notifications, POSTGRES),
    Fault("clients cut", "F-05", "answers lost, connections of clients reset", cut_clients, times=2),
    Fault("watchers", "F-41", "watchers that never read, or vanish", vanished_watchers),
    Fault("provider", "F-30, F-33", "the provider breaks off, is overloaded", break_provider),
    Fault("disk full", "", "no room on the disk of the database", fill_disk, ("sqlite",), times=2),
    Fault("locked", "F-27", "another program locks the database's file", lock_file, ("sqlite",), times=2),
)
