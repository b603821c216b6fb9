"""Connections whose other end has disappeared silently."""

import asyncio
from contextlib import AsyncExitStack

import asyncpg
import pytest

from holdfast.store.postgres.pool import Pool
from tests.tcp_proxy import TcpProxy

pytestmark = pytest.mark.heavy


async def test_silence_is_waited_out_once(postgres_url: str) -> None:
    async with TcpProxy(postgres_url) as proxy:
        pool = Pool(lambda: asyncpg.connect(proxy.url), size=4, wait_seconds=60)
        async with AsyncExitStack() as stack:
            before = [await stack.enter_async_context(pool.take()) for _ in range(4)]
        # All four wait to be used, and their packets vanish.
        proxy.swallow_existing()
        with pytest.raises(TimeoutError):
            async with pool.take() as connection:
                await connection.fetchval("SELECT 1", timeout=0.2)
        async with asyncio.timeout(60), AsyncExitStack() as stack:
            after = [await stack.enter_async_context(pool.take()) for _ in range(4)]
            assert [await one.fetchval("SELECT 1") for one in after] == [1] * 4
        assert all(connection.is_closed() for connection in before)
        await pool.close(1)


async def test_connections_of_a_burst_are_closed_when_nobody_needs_them(postgres_url: str) -> None:
    pool = Pool(lambda: asyncpg.connect(postgres_url), size=4, wait_seconds=60, spare_seconds=0.0)
    async with AsyncExitStack() as stack:
        burst = [await stack.enter_async_context(pool.take()) for _ in range(4)]
    async with pool.take() as connection:
        pass
    assert [one for one in burst if not one.is_closed()] == [connection]
    await pool.close(1)


async def test_connections_that_are_needed_stay(postgres_url: str) -> None:
    pool = Pool(lambda: asyncpg.connect(postgres_url), size=4, wait_seconds=60)
    async with AsyncExitStack() as stack:
        burst = [await stack.enter_async_context(pool.take()) for _ in range(4)]
    async with pool.take() as connection:
        pass
    assert connection in burst
    assert not any(one.is_closed() for one in burst)
    await pool.close(1)
