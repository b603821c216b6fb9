"""Opening the database: checks the server, migrates the schema, then makes the store."""

from typing import Literal

from holdfast.core.clock import Clock
from holdfast.core.errors import MigrationFailed
from holdfast.core.ids import Ids, RandomIds
from holdfast.store import migrations
from holdfast.store.interface import Publish
from holdfast.store.postgres.connect import DatabaseAddress
from holdfast.store.postgres.migrate import migrate, pending
from holdfast.store.postgres.store import PostgresStore


async def open_postgres(
    url: str,
    *,
    publish: Publish,
    clock: Clock | None = None,
    ids: Ids | None = None,
    mode: Literal["server", "tool"] = "server",
    reading: int = 8,
    writing: int = 8,
    wait_seconds: float = 5.0,
) -> PostgresStore:
    """As a server: migrates the schema. As a tool: only checks it. If a clock is given it is used instead of
    the database's."""
    address = DatabaseAddress.of(url)
    connection = await address.first_connection(to_write=mode == "server")
    try:
        known = migrations.known("postgres")
        if mode == "server":
            await migrate(connection, known)
        elif await pending(connection, known):
            raise MigrationFailed(
                f"The database {address.database!r} was written by an older version of Holdfast. "
                "Upgrade it with `holdfast db migrate`."
            )
    finally:
        connection.terminate()
    return PostgresStore(
        address,
        publish=publish,
        clock=clock,
        ids=ids or RandomIds(),
        reading=reading,
        writing=writing,
        wait_seconds=wait_seconds,
    )
