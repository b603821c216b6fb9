"""MCP servers that people configured, what is known of their tools for each user, and the values and tokens
they are used with. What is secret is sealed bytes here."""

from collections.abc import Sequence
from datetime import datetime

import msgspec

from holdfast.core.clock import from_micros, to_micros
from holdfast.core.errors import NotFound, WrongState
from holdfast.core.ids import UserId
from holdfast.core.mcp import StoredServer
from holdfast.core.shapes import Json, encode_text
from holdfast.store.columns import Written, columns, listed, placeholders
from holdfast.store.query import Query, Row, Rows, any_row, at_most_one, each, first_column, query

SERVER = columns("id owner_id name config secret_names sealed created_at updated_at")

_SELECT = f"SELECT {listed(SERVER)} FROM mcp_servers"
VISIBLE = f"{_SELECT} WHERE owner_id = $1 OR owner_id IS NULL ORDER BY name, id LIMIT 1000"
ONE = f"{_SELECT} WHERE id = $1"
INSERT = (
    f"INSERT INTO mcp_servers ({listed(SERVER)}) VALUES ({placeholders(len(SERVER))}) ON CONFLICT DO NOTHING"
)
UPDATE = (
    "UPDATE mcp_servers SET config = $2, secret_names = $3, sealed = $4, updated_at = $5 WHERE id = $1 "
    f"RETURNING {listed(SERVER)}"
)
DELETE = "DELETE FROM mcp_servers WHERE id = $1"
FORGET_KNOWN = "DELETE FROM mcp_known WHERE server_id = $1"
FORGET_TOKENS = "DELETE FROM mcp_tokens WHERE server_id = $1"
ANY = (
    "SELECT 1 WHERE EXISTS (SELECT 1 FROM mcp_servers) OR EXISTS "
    "(SELECT 1 FROM trust_decisions WHERE kind = 'mcp' AND decision = 'trust')"
)

KNOWN = "SELECT known FROM mcp_known WHERE user_id = $1 AND server_id = $2"
ALL_KNOWN = "SELECT server_id, known FROM mcp_known WHERE user_id = $1 LIMIT 5000"
REMEMBER = (
    "INSERT INTO mcp_known (user_id, server_id, known, updated_at) VALUES ($1, $2, $3, now_micros()) "
    "ON CONFLICT (user_id, server_id) DO UPDATE SET known = excluded.known, updated_at = excluded.updated_at"
)
FORGET = "DELETE FROM mcp_known WHERE user_id = $1 AND server_id = $2"

VALUES = "SELECT name, sealed FROM mcp_values WHERE user_id = $1 ORDER BY name LIMIT 1000"
PUT_VALUE = (
    "INSERT INTO mcp_values (user_id, name, sealed, updated_at) VALUES ($1, $2, $3, now_micros()) "
    "ON CONFLICT (user_id, name) DO UPDATE SET sealed = excluded.sealed, updated_at = excluded.updated_at"
)
DELETE_VALUE = "DELETE FROM mcp_values WHERE user_id = $1 AND name = $2"

TOKEN = "SELECT sealed FROM mcp_tokens WHERE user_id = $1 AND server_id = $2"  # noqa: S105 - a statement
WITH_TOKEN = "SELECT server_id FROM mcp_tokens WHERE user_id = $1 LIMIT 5000"  # noqa: S105
PUT_TOKEN = (
    "INSERT INTO mcp_tokens (user_id, server_id, sealed, updated_at) "  # noqa: S105
    "VALUES ($1, $2, $3, now_micros()) ON CONFLICT (user_id, server_id) "
    "DO UPDATE SET sealed = excluded.sealed, updated_at = excluded.updated_at"
)
DELETE_TOKEN = "DELETE FROM mcp_tokens WHERE user_id = $1 AND server_id = $2"  # noqa: S105


def visible(user_id: UserId) -> Query[tuple[StoredServer, ...]]:
    """The user's own, and those for all."""
    return query(VISIBLE, user_id, read=each(_server_of))


def server(server_id: str) -> Query[StoredServer | None]:
    return query(ONE, server_id, read=at_most_one(_server_of))


def create(new: StoredServer) -> Query[StoredServer]:
    """Raises WrongState when there is one of this name in the same place."""

    def read(results: Sequence[Rows]) -> StoredServer:
        if not results[1]:
            raise WrongState(f"There is an MCP server named {new.name} already.")
        return _server_of(results[1][0])

    return Query(((INSERT, _written(new)), (ONE, (new.id,))), read)


def change(
    server_id: str, config: Json, secret_names: Json, sealed: bytes | None, now: datetime
) -> Query[StoredServer]:
    """Raises NotFound."""

    def read(rows: Rows) -> StoredServer:
        if not rows:
            raise NotFound("There is no such MCP server.")
        return _server_of(rows[0])

    args = (server_id, encode_text(config), encode_text(secret_names), sealed, to_micros(now))
    return query(UPDATE, *args, read=read)


def delete(server_id: str) -> Query[None]:
    """Deletes the server and all that is known of it. Deleting one that does not exist is no error."""
    args = (server_id,)
    return Query(((DELETE, args), (FORGET_KNOWN, args), (FORGET_TOKENS, args)), lambda _: None)


def any_server() -> Query[bool]:
    """Whether anybody has one, or trusts one of a workspace."""
    return query(ANY, read=any_row)


def known(user_id: UserId, server_id: str) -> Query[bytes | None]:
    """What is known of its tools, as JSON."""
    return query(KNOWN, user_id, server_id, read=at_most_one(lambda row: row[0].encode()))


def all_known(user_id: UserId) -> Query[dict[str, bytes]]:
    return query(ALL_KNOWN, user_id, read=lambda rows: {row[0]: row[1].encode() for row in rows})


def remember(user_id: UserId, server_id: str, what: object) -> Query[None]:
    return query(REMEMBER, user_id, server_id, encode_text(what), read=lambda _: None)


def forget(user_id: UserId, server_id: str) -> Query[None]:
    """What was approved of its tools, and its tokens."""
    args = (user_id, server_id)
    return Query(((FORGET, args), (DELETE_TOKEN, args)), lambda _: None)


def values(user_id: UserId) -> Query[tuple[tuple[str, bytes], ...]]:
    return query(VALUES, user_id, read=each(lambda row: (row[0], bytes(row[1]))))


def put_value(user_id: UserId, name: str, sealed: bytes) -> Query[None]:
    return query(PUT_VALUE, user_id, name, sealed, read=lambda _: None)


def delete_value(user_id: UserId, name: str) -> Query[None]:
    return query(DELETE_VALUE, user_id, name, read=lambda _: None)


def token(user_id: UserId, server_id: str) -> Query[bytes | None]:
    return query(TOKEN, user_id, server_id, read=at_most_one(lambda row: bytes(row[0])))


def with_tokens(user_id: UserId) -> Query[frozenset[str]]:
    return query(WITH_TOKEN, user_id, read=lambda rows: frozenset(first_column(rows)))


def put_token(user_id: UserId, server_id: str, sealed: bytes) -> Query[None]:
    return query(PUT_TOKEN, user_id, server_id, sealed, read=lambda _: None)


def delete_token(user_id: UserId, server_id: str) -> Query[None]:
    return query(DELETE_TOKEN, user_id, server_id, read=lambda _: None)


def _server_of(row: Row) -> StoredServer:
    sealed: bytes | None = row[5]
    return StoredServer(
        id=str(row[0]),
        owner_id=row[1],
        name=row[2],
        config=msgspec.json.decode(row[3]),
        secret_names=msgspec.json.decode(row[4]),
        sealed=None if sealed is None else bytes(sealed),
        created_at=from_micros(row[6]),
        updated_at=from_micros(row[7]),
    )


def _written(new: StoredServer) -> Written:
    return (
        new.id,
        new.owner_id,
        new.name,
        encode_text(new.config),
        encode_text(new.secret_names),
        new.sealed,
        to_micros(new.created_at),
        to_micros(new.updated_at),
    )
