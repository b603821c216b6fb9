"""Workers and the chats they acquire. Rows that another replica is just taking are skipped, so two workers
never get the same chat and never wait for each other."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from holdfast.chats.change import Change
from holdfast.chats.view import View
from holdfast.core.clock import from_micros
from holdfast.core.ids import ChatId, Ids, UserId, WorkerId
from holdfast.store.postgres.command_requests import Doubtful, counted
from holdfast.store.postgres.transaction import LOCK_WAITING, Transaction
from holdfast.store.workers import BATCH, acquire

REGISTER = (
    "INSERT INTO workers (id, name, started_at, expires_at) "
    "SELECT $1, $2, now_micros(), now_micros() + $3::bigint RETURNING started_at"
)
# An expired lease is over: somebody may be taking its chats right now.
RENEW = (
    "UPDATE workers SET expires_at = now_micros() + $2::bigint WHERE id = $1 AND expires_at > now_micros() "
    "RETURNING now_micros()"
)
RETIRE = "UPDATE workers SET expires_at = 0 WHERE id = $1"
OWNED = "SELECT id FROM chats WHERE status IN ('running', 'interrupting') AND lease_worker_id = $1"
# A worker that a chat still names is kept: its row says since when nobody has been running that chat.
DISCARD = (
    "DELETE FROM workers w WHERE w.expires_at <= now_micros() - $1::bigint "
    "AND NOT EXISTS (SELECT 1 FROM chats c WHERE c.lease_worker_id = w.id)"
)
ALIVE = "SELECT expires_at FROM workers WHERE id = $1 AND expires_at > now_micros()"
# A dead worker stays dead (see RENEW), so this may be queried before the chats.
DEAD = "SELECT id FROM workers WHERE expires_at <= now_micros()"

_FREE = (
    "SELECT c.id FROM chats c WHERE c.status IN ('running', 'interrupting') "
    "AND (c.lease_worker_id IS NULL OR c.lease_worker_id = ANY($1::text[]::uuid[])) AND %s "
    "ORDER BY c.active_at, c.id LIMIT $2 FOR NO KEY UPDATE OF c SKIP LOCKED"
)
_OWNER = "c.owner_id <> ALL($3::text[]::uuid[])"
INTERRUPTING = _FREE % "c.status = 'interrupting'"
TOP_LEVEL = _FREE % f"c.status = 'running' AND c.parent_id IS NULL AND c.run_id IS NULL AND {_OWNER}"
AGENTS = _FREE % f"c.status = 'running' AND (c.parent_id IS NOT NULL OR c.run_id IS NOT NULL) AND {_OWNER}"


@dataclass(frozen=True, slots=True)
class AcquireRequest:
    worker_id: WorkerId
    limit: int
    agents_limit: int
    skip_owners: Collection[UserId]


@dataclass(slots=True)
class Taken:
    """What a transaction acquired. It is valid only once it is committed."""

    views: list[View] = field(default_factory=list[View])
    changes: list[Change] = field(default_factory=list[Change])
    transaction_id: str | None = None


async def take(transaction: Transaction, wanted: AcquireRequest, ids: Ids, taken: Taken) -> None:
    alive = await transaction.fetch(ALIVE, wanted.worker_id)
    if not alive:
        return
    expires_at = from_micros(alive[0][0])
    free = await _lock_free(transaction, wanted)
    if not free:
        return
    for loaded in (await transaction.load(free)).values():
        if loaded.view is None:
            continue
        change, owned = acquire(loaded.view, wanted.worker_id, expires_at, now=loaded.now, ids=ids)
        if change is None or change.after is None or change.is_empty:
            continue
        taken.changes.append(change)
        if owned:
            taken.views.append(change.after)
    if taken.changes:
        await transaction.write(taken.changes)
        taken.transaction_id = await transaction.id()


async def _lock_free(transaction: Transaction, wanted: AcquireRequest) -> list[ChatId]:
    dead = [row[0] for row in await transaction.fetch(DEAD)]
    owners = list(wanted.skip_owners)
    found = [row[0] for row in await transaction.fetch(INTERRUPTING, dead, BATCH)]
    for sql, limit in ((TOP_LEVEL, wanted.limit), (AGENTS, wanted.agents_limit)):
        if limit > 0:
            found += [row[0] for row in await transaction.fetch(sql, dead, min(limit, BATCH), owners)]
    return found


async def look_back(transaction: Transaction, doubtful: Sequence[Doubtful]) -> list[View]:
    """Which chats of a commit that got no answer belong to the worker. Without this nobody would run them for
    as long as the worker lives."""
    views: list[View] = []
    await transaction.lock(LOCK_WAITING, [one.change.chat_id for one in doubtful])
    loaded = await transaction.load([one.change.chat_id for one in doubtful])
    for one in doubtful:
        present, after = loaded[one.change.chat_id], one.change.after
        if present.view is None or after is None or not await counted(transaction, one, present.view):
            continue
        lease, ours = present.view.chat.lease, after.chat.lease
        if lease is not None and ours is not None and lease.number == ours.number:
            views.append(present.view)
    return views
