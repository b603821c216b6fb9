"""A dead replica is noticed by its connection, long before its lease expires; a living one is not taken for
dead, whatever happens to its connection."""

import asyncio
import signal
import time
from collections.abc import Sequence
from pathlib import Path

import asyncpg
import pytest

from tests.api.watching import watching
from tests.replicas.cluster import PATIENCE_SECONDS, eventually, replicas, until_owned
from tests.server.process import ServeProcess
from tests.tcp_proxy import TcpProxy

pytestmark = [pytest.mark.heavy, pytest.mark.timeout(600)]

# Longer than anything here takes, so that what happens sooner did not wait for it.
LEASE_SECONDS = 30
CONFIG = f"[worker]\nlease_seconds = {LEASE_SECONDS}\ngrace_seconds = 5\n"
LONG = "pace: 0.5\nsay slowly: " + " ".join(f"word{number}" for number in range(400))
ROUNDS = 6
TAKEN = "SELECT lease_number, status FROM chats WHERE id = $1::text::uuid"
# Whether every worker has a session that holds its lock.
ALL_PRESENT = (
    "SELECT bool_and(EXISTS (SELECT FROM pg_locks l WHERE l.locktype = 'advisory' AND l.granted "
    "AND (l.classid::bigint << 32 | l.objid::bigint) "
    "= ('x' || substr(replace(w.id::text, '-', ''), 17, 16))::bit(64)::bigint)) FROM workers w"
)


async def taken(url: str, chat_id: str) -> tuple[int, str]:
    connection = await asyncpg.connect(url)
    try:
        row = await connection.fetchrow(TAKEN, chat_id)
        assert row is not None
        return row[0], row[1]
    finally:
        await connection.close()


async def all_present(url: str) -> bool:
    connection = await asyncpg.connect(url)
    try:
        return await connection.fetchval(ALL_PRESENT)
    finally:
        await connection.close()


def deaths_seen(processes: Sequence[ServeProcess]) -> int:
    """How often a replica saw that another one had died. Their rows are soon removed, the log stays."""
    return sum(process.logged().count("a worker is gone") for process in processes)


async def until_up_for_a_lease(url: str, seconds: float) -> None:
    """After its start the database's locks say nothing for a while."""
    asked = "SELECT extract(epoch FROM clock_timestamp() - pg_postmaster_start_time())::float8"
    connection = await asyncpg.connect(url)
    try:
        up: float = await connection.fetchval(asked)
    finally:
        await connection.close()
    await asyncio.sleep(max(0.0, seconds - up + 0.5))


async def test_the_chats_of_a_killed_replica_are_taken_before_its_lease_ends(
    postgres_url: str, tmp_path: Path
) -> None:
    await until_up_for_a_lease(postgres_url, LEASE_SECONDS)
    async with replicas(tmp_path, postgres_url, config=CONFIG) as three:
        chat = await three[0].admin.start_chat(LONG)
        owner = await until_owned(postgres_url, chat["id"], three)
        owner.kill()
        await owner.ended()
        async with asyncio.timeout(PATIENCE_SECONDS):
            while (await taken(postgres_url, chat["id"]))[0] == 1:  # noqa: ASYNC110 - in other processes
                await asyncio.sleep(0.05)
        # Its lease did not run out: one of the others saw that it was gone.
        await eventually(lambda: deaths_seen(three) > 0, "a replica that sees the death")
        assert deaths_seen(three) == 1


@pytest.mark.slow
async def test_what_a_killed_replica_costs_whoever_watches(postgres_url: str, tmp_path: Path) -> None:
    """At the default lease, of 15 s, seen from another replica: from the kill to the first new word."""
    took: list[float] = []
    await until_up_for_a_lease(postgres_url, 15)
    async with replicas(tmp_path, postgres_url, config="") as three:
        for _ in range(ROUNDS):
            chat = await three[0].admin.start_chat(LONG)
            owner = await until_owned(postgres_url, chat["id"], three)
            other = next(one for one in three if one is not owner)
            async with watching(other.admin, chat["id"]) as there:
                await there.until(lambda one: one.preview is not None and len(one.preview.text) > 20)
                owner.kill()
                began = time.monotonic()
                async with asyncio.timeout(PATIENCE_SECONDS):
                    await there.until(lambda one: "preview_reset" in one.names)
                    await there.until(lambda one: one.preview is not None and len(one.preview.text) > 0)
                took.append(time.monotonic() - began)
            await other.admin.post(f"chats/{chat['id']}/interrupt", {})
            await owner.ended()
            await owner.start()
    print("from the kill to the first new word, in seconds:", [round(seconds, 1) for seconds in took])
    assert sorted(took)[ROUNDS // 2] < 15


async def test_a_frozen_replica_costs_the_lease_and_a_cut_one_nothing(
    postgres_url: str, tmp_path: Path
) -> None:
    await until_up_for_a_lease(postgres_url, LEASE_SECONDS)
    async with (
        TcpProxy(postgres_url) as line,
        replicas(tmp_path, [line.url, line.url], count=2, config=CONFIG) as both,
    ):
        chat = await both[0].admin.start_chat(LONG)
        owner = await until_owned(postgres_url, chat["id"], both)
        # Longer than others wait for a worker that they do not hear of.
        for _ in range(16):
            line.cut()
            await asyncio.sleep(0.5)
        assert (await taken(postgres_url, chat["id"]))[0] == 1
        # Frozen without a connection it would look dead, and rightly be taken for it.
        while not await all_present(postgres_url):  # noqa: ASYNC110 - the database tells nobody
            await asyncio.sleep(0.1)
        owner.signal(signal.SIGSTOP)
        try:
            await asyncio.sleep(8)
            assert await taken(postgres_url, chat["id"]) == (1, "running")
        finally:
            owner.signal(signal.SIGCONT)
        assert deaths_seen(both) == 0
