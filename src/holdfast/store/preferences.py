"""What a user chose, and what admins chose for the whole server: a JSON value by key."""

from collections.abc import Sequence

import msgspec

from holdfast.core.errors import WrongState
from holdfast.core.ids import UserId
from holdfast.core.shapes import Json, encode_text
from holdfast.core.text import clean_deep
from holdfast.store.query import Query, Rows, query

SERVER = "server"

ALL = "SELECT key, value FROM preferences WHERE owner = $1 ORDER BY key"
PUT = (
    "INSERT INTO preferences (owner, key, updated_at, value) VALUES ($1, $2, now_micros(), $3) "
    "ON CONFLICT (owner, key) DO UPDATE SET updated_at = excluded.updated_at, value = excluded.value"
)
DROP = "DELETE FROM preferences WHERE owner = $1 AND key = $2"


def preferences(user_id: UserId | None) -> Query[dict[str, Json]]:
    """Of a user; None: of the server."""
    return query(ALL, user_id or SERVER, read=_values)


def choose(user_id: UserId | None, chosen: dict[str, Json], *, most: int = 1000) -> Query[dict[str, Json]]:
    """Sets these keys and answers with all; a value of None takes the choice back. Raises WrongState when
    there would be more than so many."""
    owner = user_id or SERVER
    writes = tuple(
        (DROP, (owner, key)) if value is None else (PUT, (owner, key, encode_text(value)))
        for key, value in clean_deep(chosen).items()
    )

    def read(results: Sequence[Rows]) -> dict[str, Json]:
        if len(results[-1]) > most:
            raise WrongState(f"At most {most} settings are kept. Take some back: set them to null.")
        return _values(results[-1])

    return Query((*writes, (ALL, (owner,))), read)


def _values(rows: Rows) -> dict[str, Json]:
    return {row[0]: msgspec.json.decode(row[1]) for row in rows}
