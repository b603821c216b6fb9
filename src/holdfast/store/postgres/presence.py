"""Whether a worker's process is alive. Its session holds a lock for it, and the same session renews its
lease. A process that dies loses its connection at once, and with it the lock: whoever sees that the lock is
free, and that the lease has not been renewed for a while, need not wait until the lease expires.

A living worker is not taken for dead. A worker whose connection broke comes back within moments and takes its
lock again. It starts no effect once it has not renewed for `duties.lease.SURE_SECONDS`, which is less than
others wait here. A frozen process keeps its connection, so its takeover waits for the whole lease. After a
restart of the database nobody has a lock yet: for the duration of a lease only leases count.
"""

from holdfast.core.ids import WorkerId

# After this long without a renewal, others check the worker's lock.
ABSENT_SECONDS = 4.5

_KEY = "('x' || substr(replace({id}::text, '-', ''), 17, 16))::bit(64)::bigint"

# Does not wait. The lock may be held by one of our own sessions whose connection is dead without the database
# knowing: then that session shows that we are alive, and a renewal must not wait for its end. Or somebody is
# checking the lock right now: then it matters who writes the worker's row first.
ENTER = f"SELECT pg_try_advisory_lock({_KEY.format(id='$1')})"
LEAVE = f"SELECT pg_advisory_unlock({_KEY.format(id='$1')})"
# A worker with less than $2 of its lease left has not renewed it for long. One that comes back meanwhile
# either renews first, and the last condition finds another time, or finds its lease ended.
BURY = (
    "WITH unheard AS MATERIALIZED ("
    "SELECT w.id, w.expires_at FROM workers w WHERE w.id <> $1 AND w.expires_at > now_micros() "
    "AND w.expires_at <= now_micros() + $2::bigint "
    "AND extract(epoch FROM clock_timestamp() - pg_postmaster_start_time()) * 1000000 > $3::bigint"
    "), absent AS MATERIALIZED ("
    f"SELECT u.id, u.expires_at FROM unheard u WHERE pg_try_advisory_xact_lock({_KEY.format(id='u.id')})) "
    "UPDATE workers w SET expires_at = 0 FROM absent a "
    "WHERE w.id = a.id AND w.expires_at = a.expires_at RETURNING w.id"
)


class Present:
    """The workers whose lock one connection holds."""

    def __init__(self) -> None:
        self._there: set[WorkerId] = set()
        self._leaving: set[WorkerId] = set()

    def forget(self) -> None:
        """The connection is gone."""
        self._there.clear()
        self._leaving.clear()

    def leave(self, worker_id: WorkerId) -> None:
        self._leaving.add(worker_id)

    def missing(self, worker_id: WorkerId) -> bool:
        return worker_id not in self._there

    def entered(self, worker_id: WorkerId) -> None:
        self._there.add(worker_id)

    def left(self) -> list[WorkerId]:
        """Workers whose locks are to be released."""
        gone = [worker_id for worker_id in self._leaving if worker_id in self._there]
        self._leaving.clear()
        self._there.difference_update(gone)
        return gone
