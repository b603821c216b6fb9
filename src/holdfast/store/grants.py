"""Grants, found by the chat that may read and by its owner. A revoked grant is deleted; the audit log
remembers it."""

from collections.abc import Sequence

from holdfast.core.clock import from_micros
from holdfast.core.grants import Grant
from holdfast.core.ids import ChatId, GrantId, UserId
from holdfast.core.text import clean_deep
from holdfast.store.columns import columns, listed, micros, placeholders
from holdfast.store.query import Query, Row, Rows, at_most_one, each, query

GRANT = columns("id chat_id call_id path kind reason granted_by granted_at scope")
# At most this many of one chat are checked for every path.
MOST = 200

_SELECT = f"SELECT {listed(GRANT)} FROM grants"
# The same call creates the same grant, however often it runs.
INSERT = (
    f"INSERT INTO grants (owner_id, {listed(GRANT)}, turn) VALUES ($1, {placeholders(len(GRANT), 2)}, "
    "(SELECT turn FROM chats WHERE id = $3)) ON CONFLICT (chat_id, call_id) DO NOTHING"
)
# A grant with the scope `once` ends with its turn.
_COUNTS = "(scope <> 'once' OR turn = (SELECT c.turn FROM chats c WHERE c.id = grants.chat_id))"
OF_CALL = f"{_SELECT} WHERE chat_id = $1 AND call_id = $2"
OF_CHAT = f"{_SELECT} WHERE chat_id = $1 AND {_COUNTS} ORDER BY id DESC LIMIT {MOST}"
PAGE = f"{_SELECT} WHERE owner_id = $1 AND id > $2 AND {_COUNTS} ORDER BY id LIMIT $3"
ONE = f"{_SELECT} WHERE id = $1 AND owner_id = $2 AND {_COUNTS}"
DELETE = "DELETE FROM grants WHERE id = $1 AND owner_id = $2"

_FIRST = GrantId("00000000-0000-0000-0000-000000000000")


def add(new: Grant, owner_id: UserId) -> Query[Grant]:
    new = clean_deep(new)
    at = micros(new.granted_at)
    row = (new.id, new.chat_id, new.call_id, new.path, new.kind, new.reason, new.granted_by, at, new.scope)

    def read(results: Sequence[Rows]) -> Grant:
        return _grant_of(results[1][0])

    return Query(((INSERT, (owner_id, *row)), (OF_CALL, (new.chat_id, new.call_id))), read)


def of_chat(chat_id: ChatId) -> Query[tuple[Grant, ...]]:
    """The newest first."""
    return query(OF_CHAT, chat_id, read=each(_grant_of))


def page(owner_id: UserId, *, after: GrantId | None = None, limit: int = 50) -> Query[tuple[Grant, ...]]:
    return query(PAGE, owner_id, after or _FIRST, limit, read=each(_grant_of))


def grant(grant_id: GrantId, owner_id: UserId) -> Query[Grant | None]:
    return query(ONE, grant_id, owner_id, read=at_most_one(_grant_of))


def delete(grant_id: GrantId, owner_id: UserId) -> Query[None]:
    return query(DELETE, grant_id, owner_id, read=lambda _: None)


def _grant_of(row: Row) -> Grant:
    grant_id, chat_id, call_id, path, kind, reason, granted_by, granted_at, scope = row
    return Grant(
        id=grant_id,
        chat_id=chat_id,
        call_id=call_id,
        path=path,
        kind=kind,
        reason=reason,
        granted_by=granted_by,
        granted_at=from_micros(granted_at),
        scope=scope,
    )
