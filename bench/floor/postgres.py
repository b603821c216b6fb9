"""The floor on PostgreSQL: asyncpg, one statement over arrays for what waits:
`python -m bench.floor.postgres`."""

import asyncio
from typing import TypeAlias

import asyncpg

from bench.floor.load import QUEUED, Commit, drive, id_of
from bench.serve import serve
from bench.task import Figures, Task

Connection: TypeAlias = "asyncpg.Connection[asyncpg.Record]"

# Keys and indexes are those of store/schema/postgres that a transition of these kinds touches.
SCHEMA = """
CREATE TABLE chats (
    id uuid PRIMARY KEY, version bigint NOT NULL, filling text NOT NULL
) WITH (fillfactor = 70);
CREATE TABLE messages (
    chat_id uuid NOT NULL, id uuid NOT NULL, revision bigint NOT NULL, filling text NOT NULL,
    PRIMARY KEY (chat_id, id)
);
CREATE TABLE calls (
    chat_id uuid NOT NULL, call_id text NOT NULL, state text NOT NULL, revision bigint NOT NULL,
    filling text NOT NULL, PRIMARY KEY (chat_id, call_id)
);
CREATE INDEX calls_open ON calls (chat_id) WHERE state <> 'answered';
CREATE INDEX calls_by_revision ON calls (chat_id, revision);
CREATE TABLE steps (
    chat_id uuid NOT NULL, turn bigint NOT NULL, number bigint NOT NULL, revision bigint NOT NULL,
    filling text NOT NULL, PRIMARY KEY (chat_id, turn, number)
);
CREATE INDEX steps_by_revision ON steps (chat_id, revision);
CREATE TABLE queue (
    chat_id uuid NOT NULL, id uuid NOT NULL, filling text NOT NULL, PRIMARY KEY (chat_id, id)
);
"""
CREATE = "INSERT INTO chats (id, version, filling) SELECT unnest($1::text[]::uuid[]), 0, ''"
# Every commit moves its chat and has a message and a call; some have a step.
STEPS = """
WITH moved AS (
    UPDATE chats c SET version = r.version, filling = r.filling
    FROM unnest($1::text[]::uuid[], $2::bigint[], $3::text[]) r (id, version, filling)
    WHERE c.id = r.id AND c.version = r.version - 1 RETURNING c.id
), said AS (
    INSERT INTO messages (chat_id, id, revision, filling)
    SELECT r.*
    FROM unnest($1::text[]::uuid[], $4::text[]::uuid[], $2::bigint[], $5::text[])
        r (chat_id, id, revision, filling)
    JOIN moved ON moved.id = r.chat_id
), called AS (
    INSERT INTO calls (chat_id, call_id, state, revision, filling)
    SELECT r.*
    FROM unnest($1::text[]::uuid[], $6::text[], $7::text[], $2::bigint[], $8::text[])
        r (chat_id, call_id, state, revision, filling)
    JOIN moved ON moved.id = r.chat_id
    ON CONFLICT (chat_id, call_id)
    DO UPDATE SET state = excluded.state, revision = excluded.revision, filling = excluded.filling
), stepped AS (
    INSERT INTO steps (chat_id, turn, number, revision, filling)
    SELECT r.chat_id, 1, r.number, r.revision, r.filling
    FROM unnest($9::text[]::uuid[], $10::bigint[], $11::bigint[], $12::text[])
        r (chat_id, number, revision, filling)
    JOIN moved ON moved.id = r.chat_id
)
SELECT count(*) FROM moved
"""
EDIT = """
WITH moved AS (UPDATE chats SET version = version + 1, filling = $2 WHERE id = $1::text::uuid)
INSERT INTO queue (chat_id, id, filling) VALUES ($1::text::uuid, $3::text::uuid, $4)
ON CONFLICT (chat_id, id) DO UPDATE SET filling = excluded.filling
"""

Job = tuple[Commit, asyncio.Future[None]]


class PostgresFloor:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._waiting: list[Job] = []
        self._writing: asyncio.Task[None] | None = None

    async def create(self, chats: list[str]) -> None:
        await self._connection.execute(SCHEMA)
        await self._connection.execute(CREATE, chats)

    async def commit(self, commit: Commit) -> None:
        future = asyncio.get_running_loop().create_future()
        self._waiting.append((commit, future))
        if self._writing is None:
            self._writing = asyncio.create_task(self._write())
        await future

    async def close(self) -> None:
        await self._connection.close()

    async def _write(self) -> None:
        """What comes while one statement is under way goes into the next."""
        while self._waiting:
            jobs, self._waiting = self._waiting, []
            commits = [commit for commit, _ in jobs]
            try:
                await (self._steps(commits) if commits[0].filling.queued is None else self._edits(commits))
            except BaseException as error:
                for _, future in jobs:
                    future.set_exception(error)
                raise
            for _, future in jobs:
                future.set_result(None)
        self._writing = None

    async def _steps(self, commits: list[Commit]) -> None:
        stepped = [commit for commit in commits if commit.filling.step is not None]
        moved = await self._connection.fetchval(
            STEPS,
            [commit.chat for commit in commits],
            [commit.number for commit in commits],
            [commit.filling.chat for commit in commits],
            [id_of(commit.number) for commit in commits],
            [commit.filling.message for commit in commits],
            [id_of(commit.item) for commit in commits],
            ["started" if commit.filling.step is not None else "answered" for commit in commits],
            [commit.filling.call for commit in commits],
            [commit.chat for commit in stepped],
            [commit.item for commit in stepped],
            [commit.number for commit in stepped],
            [commit.filling.step for commit in stepped],
        )
        if moved != len(commits):
            raise RuntimeError("a chat was not at the version before")

    async def _edits(self, commits: list[Commit]) -> None:
        """A row can change once in a statement: one each, sent together, in one transaction."""
        await self._connection.executemany(
            EDIT,
            [
                (commit.chat, commit.filling.chat, id_of(commit.number % QUEUED), commit.filling.queued)
                for commit in commits
            ],
        )


async def run(task: Task) -> Figures:
    return await drive(PostgresFloor(await asyncpg.connect(task.database)), task)


if __name__ == "__main__":
    serve(run)
