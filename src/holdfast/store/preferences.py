"""Preferences of users, and of admins for the whole server: a JSON value by key."""

from collections.abc import Sequence

import msgspec

from holdfast.core.errors import WrongState
from holdfast.core.ids import UserId
from holdfast.core.shapes import Json, encode_text
from holdfast.core.text import clean_deep
from holdfast.store.query import Query, Rows, Statement, query

SERVER = "server"

ALL = "SELECT key, value FROM preferences WHERE owner = $1 ORDER BY key"
# %s is replaced by one row per key, and by the keys.
PUT = (
    "INSERT INTO preferences (owner, key, updated_at, value) VALUES %s "
    "ON CONFLICT (owner, key) DO UPDATE SET updated_at = excluded.updated_at, value = excluded.value"
)
DROP = "DELETE FROM preferences WHERE owner = $1 AND key IN (%s)"


def preferences(user_id: UserId | None) -> Query[dict[str, Json]]:
    """Of a user; None: of the server."""
    return query(ALL, user_id or SERVER, read=_values)


def choose(user_id: UserId | None, chosen: dict[str, Json], *, most: int = 1000) -> Query[dict[str, Json]]:
    """Sets these keys and returns all; a value of None removes the key. Raises WrongState if there would be
    too many."""
    owner = user_id or SERVER
    clean = clean_deep(chosen)
    kept = {key: encode_text(value) for key, value in clean.items() if value is not None}
    dropped = [key for key, value in clean.items() if value is None]
    writes = (*([_put(owner, kept)] if kept else ()), *([_drop(owner, dropped)] if dropped else ()))

    def read(results: Sequence[Rows]) -> dict[str, Json]:
        if len(results[-1]) > most:
            raise WrongState(f"At most {most} settings are kept. Remove some first by setting them to null.")
        return _values(results[-1])

    return Query((*writes, (ALL, (owner,))), read)


def _put(owner: str, kept: dict[str, str]) -> Statement:
    rows = ", ".join(f"($1, ${n}, now_micros(), ${n + 1})" for n in range(2, 2 + 2 * len(kept), 2))
    return PUT % rows, (owner, *(text for pair in kept.items() for text in pair))


def _drop(owner: str, dropped: list[str]) -> Statement:
    return DROP % ", ".join(f"${n}" for n in range(2, 2 + len(dropped))), (owner, *dropped)


def _values(rows: Rows) -> dict[str, Json]:
    return {row[0]: msgspec.json.decode(row[1]) for row in rows}
