"""Databases that tests borrow: the next finds nothing of the one before."""

from collections.abc import Iterator
from pathlib import Path

import asyncpg
import pytest

from holdfast.core.ids import ChatId
from holdfast.store.open import open_store
from tests.postgres import Databases
from tests.ready_databases import ReadyDatabases
from tests.store.postgres.replicas import created, replica

pytestmark = pytest.mark.heavy


@pytest.fixture
def databases(postgres: Databases) -> Iterator[ReadyDatabases]:
    databases = ReadyDatabases(postgres)
    yield databases
    databases.close()


async def test_rows_and_connections_of_the_one_before_are_gone(databases: ReadyDatabases) -> None:
    lent = databases.borrow()
    async with replica(lent.url) as store:
        chat_id: ChatId = (await created(store, "hello")).chat.id
    left = await asyncpg.connect(lent.url)
    databases.give_back(lent)
    assert databases.borrow() == lent
    async with replica(lent.url) as store:
        assert await store.view(chat_id) is None
        assert await store.check() == []
    with pytest.raises((asyncpg.PostgresError, asyncpg.InterfaceError, OSError)):
        await left.execute("SELECT 1")
    databases.give_back(lent)


@pytest.mark.parametrize(
    "change",
    [
        "CREATE TABLE t (id int)",
        "ALTER TABLE chats ADD COLUMN more int",
        "UPDATE schema_migrations SET checksum = 'x'",
        "ALTER TABLE chats SET (fillfactor = 50)",
        "DROP TABLE schema_migrations",
        "DO $$ BEGIN EXECUTE 'ALTER DATABASE ' || current_database() || ' SET jit = off'; END $$",
    ],
)
async def test_one_that_was_changed_is_not_lent_again(databases: ReadyDatabases, change: str) -> None:
    lent = databases.borrow()
    connection = await asyncpg.connect(lent.url)
    await connection.execute(change)
    await connection.close()
    databases.give_back(lent)
    with pytest.raises(asyncpg.InvalidCatalogNameError):
        await asyncpg.connect(lent.url)


async def test_a_tool_finds_the_schema_in_place(postgres_url: str) -> None:
    store = await open_store(postgres_url, data=Path(), publish=lambda _: None, mode="tool")
    await store.close()
