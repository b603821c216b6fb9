"""The floor on SQLite: one thread that writes, one transaction for what waits, prepared statements:
`python -m bench.floor.sqlite`."""

import asyncio
import threading
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

import apsw

from bench.floor.load import QUEUED, Commit, drive, id_of
from bench.serve import serve
from bench.task import Figures, Task

# Keys and indexes are those of store/schema/sqlite that a transition of these kinds touches.
SCHEMA = """
CREATE TABLE chats (
    key INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, version INTEGER NOT NULL, filling TEXT NOT NULL
) STRICT;
CREATE TABLE messages (
    key INTEGER PRIMARY KEY, chat_id TEXT NOT NULL, id TEXT NOT NULL, revision INTEGER NOT NULL,
    filling TEXT NOT NULL, UNIQUE (chat_id, id)
) STRICT;
CREATE TABLE calls (
    chat_id TEXT NOT NULL, call_id TEXT NOT NULL, state TEXT NOT NULL, revision INTEGER NOT NULL,
    filling TEXT NOT NULL, PRIMARY KEY (chat_id, call_id)
) STRICT;
CREATE INDEX calls_open ON calls (chat_id) WHERE state <> 'answered';
CREATE INDEX calls_by_revision ON calls (chat_id, revision);
CREATE TABLE steps (
    chat_id TEXT NOT NULL, turn INTEGER NOT NULL, number INTEGER NOT NULL, revision INTEGER NOT NULL,
    filling TEXT NOT NULL, PRIMARY KEY (chat_id, turn, number)
) STRICT, WITHOUT ROWID;
CREATE INDEX steps_by_revision ON steps (chat_id, revision);
CREATE TABLE queue (
    chat_id TEXT NOT NULL, id TEXT NOT NULL, filling TEXT NOT NULL, PRIMARY KEY (chat_id, id)
) STRICT;
"""
CREATE = "INSERT INTO chats (id, version, filling) VALUES (?, 0, '')"
MOVE = "UPDATE chats SET version = ?, filling = ? WHERE id = ? AND version = ?"
MESSAGE = "INSERT INTO messages (chat_id, id, revision, filling) VALUES (?, ?, ?, ?)"
CALL = (
    "INSERT INTO calls (chat_id, call_id, state, revision, filling) VALUES (?, ?, ?, ?, ?) "
    "ON CONFLICT (chat_id, call_id) "
    "DO UPDATE SET state = excluded.state, revision = excluded.revision, filling = excluded.filling"
)
STEP = "INSERT INTO steps (chat_id, turn, number, revision, filling) VALUES (?, 1, ?, ?, ?)"
QUEUE = (
    "INSERT INTO queue (chat_id, id, filling) VALUES (?, ?, ?) ON CONFLICT (chat_id, id) "
    "DO UPDATE SET filling = excluded.filling"
)

Job = tuple[Commit, asyncio.Future[None]]


class SqliteFloor:
    def __init__(self, file: Path, *, create: bool = True) -> None:
        # Any: apsw's own types name some that Python 3.11 does not have.
        self._connection: Any = apsw.Connection(str(file))
        self._cursor: Any = self._connection.cursor()
        for name, value in (("journal_mode", "wal"), ("synchronous", "full"), ("wal_autocheckpoint", 4_000)):
            self._connection.pragma(name, value)
        if create:
            self._cursor.execute(SCHEMA)
        self._loop = asyncio.get_running_loop()
        self._gathered: list[Job] = []
        # None: the end.
        self._inbox: SimpleQueue[list[Job] | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    async def create(self, chats: list[str]) -> None:
        self._cursor.executemany(CREATE, [(chat,) for chat in chats])

    async def commit(self, commit: Commit) -> None:
        future = self._loop.create_future()
        if not self._gathered:
            # What is asked for in one turn of the loop is handed over together.
            self._loop.call_soon(self._hand_over)
        self._gathered.append((commit, future))
        await future

    async def close(self) -> None:
        self._inbox.put(None)
        await asyncio.to_thread(self._thread.join)
        self._connection.close()

    def _hand_over(self) -> None:
        jobs, self._gathered = self._gathered, []
        self._inbox.put(jobs)

    def _run(self) -> None:
        while (jobs := self._inbox.get()) is not None:
            try:
                while (more := self._inbox.get_nowait()) is not None:
                    jobs += more
                self._inbox.put(None)
            except Empty:
                pass
            self._write([commit for commit, _ in jobs])
            self._loop.call_soon_threadsafe(_tell, [future for _, future in jobs])

    def _write(self, commits: list[Commit]) -> None:
        execute = self._cursor.execute
        execute("BEGIN IMMEDIATE")
        for commit in commits:
            chat, number, filling = commit.chat, commit.number, commit.filling
            execute(MOVE, (number, filling.chat, chat, number - 1))
            if self._connection.changes() != 1:
                raise RuntimeError("the chat was not at the version before")
            if filling.message is not None:
                execute(MESSAGE, (chat, id_of(number), number, filling.message))
            if filling.call is not None:
                state = "started" if filling.step is not None else "answered"
                execute(CALL, (chat, id_of(commit.item), state, number, filling.call))
            if filling.step is not None:
                execute(STEP, (chat, commit.item, number, filling.step))
            if filling.queued is not None:
                execute(QUEUE, (chat, id_of(number % QUEUED), filling.queued))
        execute("COMMIT")


def _tell(futures: list[asyncio.Future[None]]) -> None:
    for future in futures:
        if not future.done():
            future.set_result(None)


async def run(task: Task) -> Figures:
    return await drive(SqliteFloor(Path(task.database) / "floor.db"), task)


if __name__ == "__main__":
    serve(run)
