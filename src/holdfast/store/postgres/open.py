"""Opening the database: a look at the server, the schema brought up to date, then the store."""

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
    """As a server: brings the schema up to date. As a tool: only looks whether it is. With a clock, that is
    asked instead of the database's."""
    address = DatabaseAddress.of(url)
    connection = await address.first_connection(to_write=mode == "server")
    try:
        known = migrations.known("postgres")
        if mode == "server":
            await migrate(connection, known)
        elif await pending(connection, known):
            raise MigrationFailed(
                f"The database {address.database!r} is of an older version of Holdfast. Bring it up to date "
                "with `holdfast db migrate`."
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
