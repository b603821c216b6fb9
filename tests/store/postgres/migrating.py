"""Run as a program: begins to change the schema of a database and goes no further than halfway, which the
server can tell: it sleeps. To be killed. `first` is the migration that makes a database, `next` one that this
version does not know."""

import asyncio
import sys

from holdfast.store.migrations import Migration, known, migration
from holdfast.store.postgres.connect import DatabaseAddress
from holdfast.store.postgres.migrate import migrate

HALFWAY = "SELECT pg_sleep(3600);"


def cut_off(which: str) -> tuple[Migration, ...]:
    mine = known("postgres")
    if which == "first":
        before, after = mine[0].sql.split("CREATE TABLE messages", 1)
        return (migration(1, mine[0].name, f"{before}{HALFWAY}CREATE TABLE messages{after}"),)
    return (*mine, migration(len(mine) + 1, "half", f"CREATE TABLE half (id bigint); {HALFWAY}"))


async def main(url: str, which: str) -> None:
    await migrate(await DatabaseAddress.of(url).first_connection(), cut_off(which))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2]))
