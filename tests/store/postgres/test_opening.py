"""The errors if the database cannot be used, and that several servers may start at once."""

import asyncio
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import asyncpg
import pytest

from holdfast.core.errors import (
    BadDatabaseUrl,
    CannotStart,
    DatabaseDamaged,
    DatabaseTooNew,
    DatabaseUnreachable,
    HoldfastError,
    MigrationFailed,
)
from holdfast.core.ids import CallId, ChatId
from holdfast.core.origins import FromChat
from holdfast.store import migrations
from holdfast.store.chat_rows import SETTINGS
from holdfast.store.migrations import migration
from holdfast.store.postgres import connect, open_postgres
from holdfast.store.postgres.connect import DatabaseAddress
from holdfast.store.postgres.migrate import migrate
from holdfast.store.postgres.statement import CREATED, MOVED, TURN_ENDED
from holdfast.store.rows import CALL, DELIVERY, FULL_OUTPUT, MESSAGE, NOTICE, QUEUED, STEP, TURN
from tests.postgres import Databases, Postgres
from tests.store.old_chats import OLD_CHATS, ORIGINS, TOP, old_chat
from tests.store.postgres.migrating import cut_off
from tests.store.postgres.replicas import created, nowhere, replica
from tests.tcp_proxy import TcpProxy

# Each needs a database made for it.
pytestmark = pytest.mark.heavy

SECRET = "s3cret-canary"
ROOT = Path(__file__).parents[3]


async def refused(url: str) -> HoldfastError:
    with pytest.raises(CannotStart) as caught:
        await open_postgres(url, publish=nowhere)
    error = caught.value
    assert SECRET not in repr(error)
    cause = error.__cause__
    assert cause is None or SECRET not in repr(cause)
    # One paragraph that says what is wrong and what to do.
    assert "\n" not in error.text
    assert error.text.count(". ") >= 1
    return error


@pytest.mark.parametrize(
    "url",
    [
        f"mysql://me:{SECRET}@host/db",
        f"postgresql://me:{SECRET}@host:port/db",
        f"postgresql://me:{SECRET}@host:99999999/db",
        f"postgresql://me:{SECRET}@host",
        f"postgresql://me:{SECRET}@[::1/db",
        f"postgresql://me:{SECRET}@localhost/db?sslmode=sometimes",
    ],
)
async def test_a_url_that_makes_no_sense(url: str) -> None:
    assert isinstance(await refused(url), BadDatabaseUrl)


@pytest.mark.parametrize(
    "url,says",
    [
        (f"postgresql://me:{SECRET}@127.0.0.1:1/db", "127.0.0.1:1"),
        (f"postgresql://me:{SECRET}@no-such-host.invalid/db", "cannot be found"),
        (f"postgresql://me:{SECRET}@/db?host=/nowhere", "socket"),
    ],
)
async def test_nobody_is_there(url: str, says: str) -> None:
    error = await refused(url)
    assert isinstance(error, DatabaseUnreachable)
    assert says in error.text


async def test_nobody_answers(empty_postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connect, "CONNECT_SECONDS", 0.3)
    async with TcpProxy(empty_postgres_url) as proxy:
        proxy.mode = "black_hole"
        error = await refused(proxy.url)
    assert "does not answer" in error.text


async def test_a_wrong_password(empty_postgres_url: str) -> None:
    before, at, after = empty_postgres_url.rpartition("@")
    user = before.rpartition(":")[0]
    error = await refused(f"{user}:{SECRET}{at}{after}")
    assert isinstance(error, DatabaseUnreachable)
    assert "password" in error.text


async def test_a_database_that_does_not_exist(postgres: Databases) -> None:
    error = await refused(postgres.url("nobody_made_this"))
    assert "createdb" in error.text
    assert "nobody_made_this" in error.text


async def test_a_database_that_is_not_utf8(postgres: Databases, empty_postgres_url: str) -> None:
    name = empty_postgres_url.rpartition("/")[2] + "_ascii"
    connection = await asyncpg.connect(empty_postgres_url)
    await connection.execute(f"CREATE DATABASE {name} ENCODING 'SQL_ASCII' TEMPLATE template0")
    await connection.close()
    try:
        assert "UTF8" in (await refused(postgres.url(name))).text
    finally:
        await asyncio.to_thread(postgres.drop_database, name)


async def test_a_server_that_is_too_old(empty_postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connect, "OLDEST_SERVER", 99)
    assert "99 or newer" in (await refused(empty_postgres_url)).text


async def test_a_server_that_only_reads(empty_postgres_url: str) -> None:
    name = empty_postgres_url.rpartition("/")[2]
    connection = await asyncpg.connect(empty_postgres_url)
    await connection.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
    await connection.close()
    assert "read-only" in (await refused(empty_postgres_url)).text


async def test_a_user_that_may_not_create_tables(empty_postgres_url: str) -> None:
    connection = await asyncpg.connect(empty_postgres_url)
    role = empty_postgres_url.rpartition("/")[2] + "_guest"
    await connection.execute(f"CREATE ROLE {role} LOGIN PASSWORD 'guest'")
    await connection.execute("REVOKE CREATE ON SCHEMA public FROM PUBLIC")
    try:
        host = empty_postgres_url.rpartition("@")[2]
        error = await refused(f"postgresql://{role}:guest@{host}")
        assert isinstance(error, MigrationFailed)
        assert "GRANT" in error.text
    finally:
        await connection.execute(f"DROP OWNED BY {role}; DROP ROLE {role}")
        await connection.close()


async def test_a_database_of_another_program(empty_postgres_url: str) -> None:
    connection = await asyncpg.connect(empty_postgres_url)
    await connection.execute("CREATE TABLE orders (id bigint)")
    assert isinstance(await refused(empty_postgres_url), DatabaseDamaged)
    assert await connection.fetchval("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'") == 1
    await connection.close()


async def test_a_database_of_a_newer_version(empty_postgres_url: str) -> None:
    async with replica(empty_postgres_url):
        pass
    connection = await asyncpg.connect(empty_postgres_url)
    await connection.execute(migrations.RECORD, 999, "from_the_future", "x", 0)
    await connection.close()
    assert isinstance(await refused(empty_postgres_url), DatabaseTooNew)


async def test_a_tool_does_not_change_the_schema(empty_postgres_url: str) -> None:
    with pytest.raises(MigrationFailed, match="db migrate"):
        await open_postgres(empty_postgres_url, publish=nowhere, mode="tool")
    async with replica(empty_postgres_url) as store:
        view = await created(store)
        async with replica(empty_postgres_url, mode="tool") as tool:
            assert await tool.view(view.chat.id) == view


async def test_replicas_that_start_at_the_same_moment(empty_postgres_url: str) -> None:
    async def start() -> None:
        async with replica(empty_postgres_url) as store:
            await created(store)

    await asyncio.gather(*(start() for _ in range(6)))
    connection = await asyncpg.connect(empty_postgres_url)
    numbers = [row[0] for row in await connection.fetch(migrations.RECORDED)]
    await connection.close()
    assert numbers == list(range(1, len(migrations.known("postgres")) + 1))


async def test_a_migration_that_fails_leaves_nothing(empty_postgres_url: str) -> None:
    known = migrations.known("postgres")
    broken = migration(len(known) + 1, "broken", "CREATE TABLE half (id bigint); SELECT 1 / 0;")
    connection = await DatabaseAddress.of(empty_postgres_url).first_connection()
    try:
        with pytest.raises(MigrationFailed, match="rolled back"):
            await migrate(connection, (*known, broken))
        assert await connection.fetchval(
            "SELECT to_regclass('half') IS NULL AND to_regclass('chats') IS NULL"
        )
        assert await migrate(connection, known) == tuple(f"{one.number:04}_{one.name}" for one in known)
        assert await migrate(connection, known) == ()
    finally:
        await connection.close()


async def halfway(url: str, ended: Callable[[], bool]) -> None:
    """Waits until somebody is in the middle of a migration (see `migrating`)."""
    sleeping = "SELECT 1 FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND datname = current_database()"
    connection = await asyncpg.connect(url)
    while not await connection.fetchval(sleeping):
        assert not ended()
        await asyncio.sleep(0.02)
    await connection.close()


async def test_a_server_that_dies_during_a_migration(own_postgres: Postgres) -> None:
    url = own_postgres.create_database("hf")
    connection = await DatabaseAddress.of(url).first_connection()
    migrating = asyncio.ensure_future(migrate(connection, cut_off("next")))
    await halfway(url, migrating.done)
    await asyncio.to_thread(own_postgres.kill)
    with pytest.raises(DatabaseUnreachable, match="Nothing was changed"):
        await migrating
    connection.terminate()
    await asyncio.to_thread(own_postgres.start)
    async with replica(url) as store:
        await created(store)


async def killed_halfway(url: str, which: str) -> None:
    """A process that dies in the middle of a migration."""
    child = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.store.postgres.migrating", url, which), cwd=ROOT
    )
    try:
        await halfway(url, lambda: child.returncode is not None)
    finally:
        child.kill()
    assert await child.wait() == -signal.SIGKILL


async def test_a_first_start_that_is_killed_halfway(own_postgres: Postgres) -> None:
    url = own_postgres.create_database("hf")
    await killed_halfway(url, "first")
    async with replica(url) as store:
        await created(store)
        assert await store.check() == []


async def test_an_upgrade_that_is_killed_halfway(own_postgres: Postgres) -> None:
    """Both the version before and the version after go on from what was there."""
    url = own_postgres.create_database("hf")
    async with replica(url) as store:
        view = await created(store)
    for _ in range(2):
        await killed_halfway(url, "next")
        async with replica(url) as store:
            assert await store.view(view.chat.id) == view
            assert await store.check() == []
    connection = await DatabaseAddress.of(url).first_connection()
    known = migrations.known("postgres")
    mended = migration(len(known) + 1, "half", "CREATE TABLE half (id bigint)")
    assert await migrate(connection, (*known, mended)) == (f"{mended.number:04}_half",)
    await connection.close()


async def test_the_types_rows_travel_in_are_what_the_rows_are(empty_postgres_url: str) -> None:
    """The statement names fields, but rows are given by position."""
    expected = {
        "chat_moved_2": ("id", "before", *MOVED),
        "chat_created_3": CREATED,
        "settings_chosen_5": (*SETTINGS, "words"),
        "message_put": MESSAGE,
        "queued_put_2": QUEUED,
        "notice_put": (*NOTICE, "taken_version"),
        "call_put_4": CALL,
        "output_put": FULL_OUTPUT,
        "step_put_2": STEP,
        "turn_put_2": TURN,
        "turn_ended": TURN_ENDED,
        "delivery_put": DELIVERY,
    }
    async with replica(empty_postgres_url):
        connection = await asyncpg.connect(empty_postgres_url)
        rows = await connection.fetch(
            "SELECT c.relname, a.attname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid "
            "WHERE c.relkind = 'c' AND a.attnum > 0 ORDER BY c.relname, a.attnum"
        )
        await connection.close()
    for name, fields in expected.items():
        assert tuple(row[1] for row in rows if row[0] == name) == fields, name


async def test_chats_from_before_they_had_an_origin_get_it_from_their_ids(empty_postgres_url: str) -> None:
    """Also those that a replica of the version before makes after the change."""
    steps = migrations.known("postgres")
    before = next(index for index, step in enumerate(steps) if step.name == "origins")
    first = await DatabaseAddress.of(empty_postgres_url).first_connection()
    await migrate(first, steps[:before])
    await first.close()
    connection = await asyncpg.connect(empty_postgres_url)
    for chat in OLD_CHATS:
        await connection.execute(old_chat(*chat))
    async with replica(empty_postgres_url) as store:
        stored = await connection.fetch("SELECT origin FROM chats ORDER BY id")
        late = f"{TOP[:-1]}8"
        await connection.execute(old_chat(late, TOP, "call_2", None))
        views = [await store.view(ChatId(chat[0])) for chat in OLD_CHATS]
        latest = await store.view(ChatId(late))
    await connection.close()
    assert all(row[0] is not None for row in stored)
    assert [view.chat.origin for view in views if view is not None] == ORIGINS
    assert latest is not None
    assert latest.chat.origin == FromChat(chat_id=ChatId(TOP), call_id=CallId("call_2"))
