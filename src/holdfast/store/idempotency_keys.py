"""Idempotency keys: the answer to a request is stored together with its effects, and returned again if the
request is repeated within a day."""

from typing import Any, TypeVar

from holdfast.chats.change import Refusal
from holdfast.store.interface import OnceOf, Replayed, Store
from holdfast.store.query import Query, Rows, Value, query

T = TypeVar("T")

KEPT_MICROS = 24 * 3600 * 1_000_000

STORED = (
    "SELECT fingerprint, status, body FROM idempotency_keys "
    "WHERE user_id = $1 AND method = $2 AND path = $3 AND key = $4 "
    f"AND created_at > now_micros() - {KEPT_MICROS}"
)
# An expired key that has not been swept yet is replaced.
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


def stored(once: OnceOf[Any]) -> Query[Replayed | Refusal | None]:
    """The answer stored under this key, if it was used before."""

    def read(rows: Rows) -> Replayed | Refusal | None:
        if not rows:
            return None
        fingerprint, status, body = rows[0]
        return Replayed(status, bytes(body)) if fingerprint == once.fingerprint else MISMATCH

    return query(STORED, once.user_id, once.method, once.path, once.key, read=read)


class Repeated(Exception):
    """The request was already done under this key; `earlier` is the stored answer, or why the key is
    refused."""

    def __init__(self, earlier: Replayed | Refusal) -> None:
        super().__init__()
        self.earlier = earlier


async def write(store: Store, query: Query[T], once: OnceOf[T] | None) -> T:
    """For callers that only continue if it was done now: raises Repeated."""
    if once is None:
        return await store.write(query)
    match await store.write_once(query, once):
        case Replayed() | Refusal() as earlier:
            raise Repeated(earlier)
        case answer:
            return answer


def kept(once: OnceOf[T], answer: T, now: int) -> tuple[Value, ...]:
    """What to store under the key: the arguments of STORE."""
    status, body = once.respond(answer)
    return (once.user_id, once.method, once.path, once.key, once.fingerprint, status, now, body)
