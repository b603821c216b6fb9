"""Workers and the chats they acquire."""

from collections.abc import Collection, Iterable
from datetime import UTC, datetime

from holdfast.chats.view import View
from holdfast.core.clock import Clock, from_micros, to_micros
from holdfast.core.events import Hint
from holdfast.core.ids import ChatId, Ids, UserId, WorkerId
from holdfast.core.shapes import encode_text
from holdfast.store.hints import hints_of, present
from holdfast.store.query import Value
from holdfast.store.sqlite.apply import apply
from holdfast.store.sqlite.connection import Connection
from holdfast.store.sqlite.writer import JobResult
from holdfast.store.views import view as view_query
from holdfast.store.workers import BATCH
from holdfast.store.workers import acquire as decide_acquire

# The one process that owns the file judges its leases itself, by a steady clock (see `Leases`). In the
# database a worker lives for ever, until it is known to be dead.
FOR_EVER = to_micros(datetime(9999, 1, 1, tzinfo=UTC))
REGISTER = "INSERT INTO workers (id, name, started_at, expires_at) VALUES (?, ?, ?, ?)"
RETIRE = "UPDATE workers SET expires_at = 0 WHERE id = ?"
RETIRE_OTHERS = (
    "UPDATE workers SET expires_at = 0 WHERE expires_at > 0 AND id NOT IN (SELECT value FROM json_each(?))"
)
# The process that owned this file is dead, and so is every worker in it.
RETIRE_ALL = "UPDATE workers SET expires_at = 0 WHERE expires_at > 0"
# A worker that a chat still names is kept: its row says since when nobody has been running that chat.
DISCARD = (
    "DELETE FROM workers WHERE expires_at <= ?1 AND NOT EXISTS (SELECT 1 FROM chats c "
    "WHERE c.status IN ('running', 'interrupting') AND c.lease_worker_id = workers.id)"
)
ALIVE = "SELECT expires_at FROM workers WHERE id = ? AND expires_at > ?"
OWNED = "SELECT id FROM chats WHERE status IN ('running', 'interrupting') AND lease_worker_id = ?"

# Chats without a live lease, as c. Two ranges of one index: never leased, and leased by a dead worker.
_FREE = """
SELECT id FROM (
    SELECT c.id, c.active_at FROM chats c
    WHERE c.status IN ('running', 'interrupting') AND c.lease_worker_id IS NULL AND {wanted}
    UNION ALL
    SELECT c.id, c.active_at FROM workers w JOIN chats c ON c.lease_worker_id = w.id
    WHERE c.status IN ('running', 'interrupting') AND w.expires_at <= ?1 AND {wanted}
) ORDER BY active_at, id LIMIT ?2
"""
_OWNER = "c.owner_id NOT IN (SELECT value FROM json_each(?3))"
INTERRUPTING = _FREE.format(wanted="c.status = 'interrupting'")
TOP_LEVEL = _FREE.format(
    wanted=f"c.status = 'running' AND c.parent_id IS NULL AND c.run_id IS NULL AND {_OWNER}"
)
AGENTS = _FREE.format(
    wanted=f"c.status = 'running' AND (c.parent_id IS NOT NULL OR c.run_id IS NOT NULL) AND {_OWNER}"
)


class Leases:
    """Until when the workers of this process may work, by its own steady clock. Used on the writer's thread.
    A worker that is removed here is dead for ever, so it does not matter which transaction records it in the
    database."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._until: dict[WorkerId, float] = {}

    def give(self, worker_id: WorkerId, seconds: float) -> None:
        self._until[worker_id] = self._clock.elapsed() + seconds

    def renew(self, worker_id: WorkerId, seconds: float) -> bool:
        """False: it has expired, and stays so."""
        if worker_id not in self._living():
            return False
        self.give(worker_id, seconds)
        return True

    def end(self, worker_id: WorkerId) -> None:
        self._until.pop(worker_id, None)

    def bury_dead(self, connection: Connection) -> None:
        connection.run(RETIRE_OTHERS, (encode_text(sorted(self._living())),))

    def _living(self) -> dict[WorkerId, float]:
        now = self._clock.elapsed()
        self._until = {one: until for one, until in self._until.items() if until > now}
        return self._until


def acquire(
    connection: Connection,
    worker_id: WorkerId,
    *,
    limit: int,
    agents_limit: int,
    skip_owners: Collection[UserId],
    now: datetime,
    ids: Ids,
) -> JobResult[list[View]]:
    alive = connection.rows(ALIVE, (worker_id, to_micros(now)))
    if not alive:
        return JobResult([])
    expires_at = from_micros(alive[0][0])
    views: list[View] = []
    hints: list[Hint] = []
    for chat_id in _free(connection, limit, agents_limit, skip_owners, to_micros(now)):
        view = connection.ask(view_query(chat_id))
        if view is None:
            continue
        change, owned = decide_acquire(view, worker_id, expires_at, now=now, ids=ids)
        if change is None or change.after is None:
            continue
        apply(connection, change, view.chat)
        hints += hints_of(change)
        if owned:
            views.append(change.after)
    return JobResult(views, tuple(hints))


def _free(
    connection: Connection, limit: int, agents_limit: int, skip_owners: Collection[UserId], now: int
) -> Iterable[ChatId]:
    owners = encode_text(sorted(skip_owners))
    wanted: tuple[tuple[str, int, tuple[Value, ...]], ...] = (
        (INTERRUPTING, BATCH, ()),
        (TOP_LEVEL, limit, (owners,)),
        (AGENTS, agents_limit, (owners,)),
    )
    for sql, count, more in wanted:
        if count > 0:
            for row in connection.rows(sql, (now, min(count, BATCH), *more)):
                yield row[0]


def freed(connection: Connection, worker_id: WorkerId) -> tuple[Hint, ...]:
    """For others to take over what a worker left."""
    found = (connection.ask(present(row[0])) for row in connection.rows(OWNED, (worker_id,)))
    return tuple(hint for hint in found if hint is not None)
