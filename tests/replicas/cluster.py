"""Replicas: several `holdfast serve` on one PostgreSQL, each with a data directory of its own, all with the
same secret key, as the deployment guide says."""

import asyncio
import secrets
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import asyncpg

from tests.server.process import ServeProcess

# The shortest that may be configured, so that takeovers are soon.
LEASE_SECONDS = 3
CONFIG = f"[worker]\nlease_seconds = {LEASE_SECONDS}\ngrace_seconds = 5\n"
# Generous: a busy machine is no fault of the server.
PATIENCE_SECONDS = 120.0
WHOSE = """
SELECT workers.name FROM chats JOIN workers ON workers.id = chats.lease_worker_id
WHERE chats.id = $1::text::uuid AND workers.expires_at > (extract(epoch FROM clock_timestamp()) * 1e6)::bigint
"""


@asynccontextmanager
async def replicas(
    directory: Path,
    database: str | Sequence[str],
    *,
    count: int = 3,
    config: str = CONFIG,
    environs: Sequence[dict[str, str]] = (),
) -> AsyncGenerator[list[ServeProcess]]:
    """All running. `database` may be an address for each: a proxy of its own, say."""
    urls = [database] * count if isinstance(database, str) else database
    shared = {"HOLDFAST_SERVER_SECRET_KEY": secrets.token_hex(32)}
    async with AsyncExitStack() as stack:
        made: list[ServeProcess] = []
        for number, url in enumerate(urls):
            own = directory / f"replica{number}"
            own.mkdir()
            environ = shared | (environs[number] if environs else {})
            process = ServeProcess(own, database=url, config=config, environ=environ)
            made.append(await stack.enter_async_context(process))
        # At the same instant: whoever is first makes the schema and the first admin.
        await asyncio.gather(*(process.start() for process in made))
        yield made


async def owner_of(url: str, chat_id: str, processes: Sequence[ServeProcess]) -> ServeProcess | None:
    """The replica that runs the chat now. None: nobody, or somebody who is dead."""
    connection = await asyncpg.connect(url)
    try:
        name: str | None = await connection.fetchval(WHOSE, chat_id)
    finally:
        await connection.close()
    pid = None if name is None else int(name.rpartition(":")[2])
    return next((one for one in processes if one.alive and one.pid == pid), None)


async def until_owned(url: str, chat_id: str, processes: Sequence[ServeProcess]) -> ServeProcess:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while (owner := await owner_of(url, chat_id, processes)) is None:  # noqa: ASYNC110 - as below
            await asyncio.sleep(0.05)
    return owner


async def eventually(holds: Callable[[], bool], what: str) -> None:
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not holds():  # noqa: ASYNC110 - it happens in other processes
                await asyncio.sleep(0.02)
    except TimeoutError:
        raise AssertionError(f"it never came: {what}") from None
