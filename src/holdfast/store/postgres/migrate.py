"""Migrates the schema: under a lock, so that of several replicas starting at once one does it and the others
wait; and in one transaction, so that an interruption leaves nothing half done."""

import asyncpg

from holdfast.core.errors import DatabaseDamaged, DatabaseUnreachable, MigrationFailed
from holdfast.store import migrations
from holdfast.store.migrations import RECORD, RECORD_TABLE, Migration
from holdfast.store.postgres.errors import ANY
from holdfast.store.postgres.pool import Connection, fetch

# Any number that nobody else uses on this database: the letters of "holdfast".
LOCK = "SELECT pg_advisory_xact_lock(7525352680829580148)"
# Whether there is a record of migrations, and how many tables there are, not counting those of extensions.
# One query, because another replica may be creating them right now.
TABLES = (
    "SELECT count(*) FILTER (WHERE c.relname = 'schema_migrations') > 0, count(*) FROM pg_catalog.pg_class c "
    "WHERE c.relkind IN ('r', 'p', 'v', 'm') AND c.relnamespace = current_schema()::regnamespace "
    "AND NOT EXISTS (SELECT 1 FROM pg_catalog.pg_depend d WHERE d.objid = c.oid AND d.deptype = 'e')"
)
NOW = "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint"

_BROKEN = (
    asyncpg.PostgresConnectionError,
    asyncpg.OperatorInterventionError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    OSError,
    TimeoutError,
)


async def pending(connection: Connection, known: tuple[Migration, ...]) -> tuple[Migration, ...]:
    """What is still to be applied. Another program's database is not touched."""
    [(has_record, tables)] = await fetch(connection, TABLES)
    if not has_record:
        if tables:
            raise DatabaseDamaged(
                "The database contains tables of another program. Create an empty one for "
                "Holdfast and name it in database.url."
            )
        return known
    query = migrations.recorded()
    found = [await fetch(connection, sql, *args) for sql, args in query.statements]
    return migrations.pending(known, query.read(found))


async def migrate(connection: Connection, known: tuple[Migration, ...]) -> tuple[str, ...]:
    """Applies what is missing and returns the names."""
    try:
        if not await pending(connection, known):
            return ()
        async with connection.transaction():
            await connection.execute(LOCK)
            missing = await pending(connection, known)
            await connection.execute(RECORD_TABLE)
            for migration in missing:
                await connection.execute(migration.sql)
                now = await connection.fetchval(NOW)
                await connection.execute(RECORD, migration.number, migration.name, migration.checksum, now)
    except asyncpg.InsufficientPrivilegeError:
        raise MigrationFailed(
            "The database user may not create tables. Make it the owner of the database, or grant it CREATE: "
            "GRANT CREATE ON SCHEMA public TO ..."
        ) from None
    except asyncpg.LockNotAvailableError:
        raise MigrationFailed(
            "Another process has been changing the schema for more than a minute. Wait until it is "
            "done, then start again."
        ) from None
    except _BROKEN as error:
        raise DatabaseUnreachable(
            "The connection to the database broke while its schema was being migrated. Nothing "
            "was changed; start again."
        ) from error
    except ANY as error:
        raise MigrationFailed(
            f"A schema migration failed and was rolled back ({type(error).__name__}). The data is "
            "unchanged; please report this."
        ) from error
    return tuple(f"{migration.number:04}_{migration.name}" for migration in missing)
