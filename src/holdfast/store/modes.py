"""The modes that apply to a chat: its own, and those of every chat above it, also through runs."""

from holdfast.core.ids import ChatId
from holdfast.store.query import Query, first_column, query

# A chat is below the one whose call started it, or whose call started its run.
BINDING = (
    "WITH RECURSIVE above (id, parent_id, run_id, mode, place) AS ("
    "SELECT c.id, c.parent_id, c.run_id, c.mode, 0 FROM chats c WHERE c.id = $1 "
    "UNION ALL SELECT p.id, p.parent_id, p.run_id, p.mode, a.place + 1 FROM above a "
    "LEFT JOIN runs r ON r.id = a.run_id JOIN chats p ON p.id = coalesce(a.parent_id, r.chat_id) "
    "WHERE a.place < 100) SELECT mode FROM above ORDER BY place"
)


# The topmost of them that is in review: all below it work in its draft.
DRAFTING = BINDING.replace(
    "SELECT mode FROM above ORDER BY place",
    "SELECT a.id FROM above a JOIN chats c ON c.id = a.id WHERE c.writes = 'review' "
    "ORDER BY a.place DESC LIMIT 1",
)


def drafting_chat(chat_id: ChatId) -> Query[ChatId | None]:
    """The chat whose draft this one works in."""
    return query(DRAFTING, chat_id, read=lambda rows: ChatId(rows[0][0]) if rows else None)


def binding_modes(chat_id: ChatId) -> Query[tuple[str, ...]]:
    """Its own first; empty: the chat was deleted."""
    return query(BINDING, chat_id, read=lambda rows: tuple(first_column(rows)))
