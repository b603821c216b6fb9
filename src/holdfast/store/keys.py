"""Idempotency keys: the answer to a request is stored with what the request did, and given again to who asks
again within a day."""

from holdfast.chats.change import Refusal
from holdfast.store.interface import Once, Replayed
from holdfast.store.query import Query, Rows, query

KEPT_MICROS = 24 * 3600 * 1_000_000

STORED = (
    "SELECT fingerprint, status, body FROM idempotency_keys "
    "WHERE user_id = $1 AND method = $2 AND path = $3 AND key = $4 "
    f"AND created_at > now_micros() - {KEPT_MICROS}"
)
# One that is too old, and not swept yet, is replaced.
STORE = (
    "INSERT INTO idempotency_keys (user_id, method, path, key, fingerprint, status, created_at, body) "
    "VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (user_id, method, path, key) DO UPDATE SET "
    "fingerprint = excluded.fingerprint, status = excluded.status, created_at = excluded.created_at, "
    "body = excluded.body"
)
DISCARD = f"DELETE FROM idempotency_keys WHERE created_at <= now_micros() - {KEPT_MICROS}"

MISMATCH = Refusal(
    code="idempotency_mismatch",
    text="This idempotency key was used for another request. Use a new key for a new request.",
)


def stored(once: Once) -> Query[Replayed | Refusal | None]:
    """What was answered under this key, if it was used before."""

    def read(rows: Rows) -> Replayed | Refusal | None:
        if not rows:
            return None
        fingerprint, status, body = rows[0]
        return Replayed(status, bytes(body)) if fingerprint == once.fingerprint else MISMATCH

    return query(STORED, once.user_id, once.method, once.path, once.key, read=read)
