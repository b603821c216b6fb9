"""Looks up what a decision needs beyond its view: one query for everything named by `chats.facts.needs`."""

from holdfast.chats.commands import DeliveryKey
from holdfast.chats.facts import NO_FACTS, NOTHING, Facts, ForkPoint, Needs, Target
from holdfast.chats.view import View
from holdfast.core.ids import CallId, ChatId, MessageId, QueueItemId
from holdfast.core.messages import Message
from holdfast.store.budgets import over_budget
from holdfast.store.columns import listed
from holdfast.store.query import Query, Row, any_row, at_most_one, constant, each, joined, query
from holdfast.store.rows import MESSAGE, message_of
from holdfast.store.views import views

SENT = "SELECT id FROM messages WHERE chat_id = $1 AND queue_item_id = $2"
ANSWERED = "SELECT call_id FROM calls WHERE chat_id = $1 AND call_id = $2 AND state = 'answered'"
TARGET = "SELECT role, removed, visibility FROM messages WHERE chat_id = $1 AND id = $2"
KEY_SEEN = "SELECT 1 FROM inbox WHERE chat_id = $1 AND key = $2"
STOPPED = (
    "SELECT 1 FROM chats c JOIN turns t ON t.chat_id = c.id AND t.number = c.turn "
    "WHERE c.id = $1 AND c.parent_id IS NOT NULL AND t.outcome = 'interrupted'"
)
UNTAKEN = "SELECT child_id, turn FROM deliveries WHERE child_id = $1 AND turn = $2 AND NOT taken"
SUBTREE = (
    "WITH RECURSIVE below (id) AS (SELECT id FROM chats WHERE parent_id = $1 "
    "UNION ALL SELECT c.id FROM below b JOIN chats c ON c.parent_id = b.id) SELECT id FROM below"
)
# Sub-agents started by calls of these messages, and everything below them, if they are working or will once a
# held message is released.
STARTED_THERE = (
    "(c.status IN ('running', 'interrupting', 'requires_action') OR c.queue_length > 0) AND c.id IN ("
    "WITH RECURSIVE below (id) AS (SELECT k.id FROM chats k "
    "JOIN calls s ON s.chat_id = k.parent_id AND s.call_id = k.parent_call_id "
    "WHERE k.parent_id = $1 AND s.message_id >= $2 "
    "UNION ALL SELECT k.id FROM below b JOIN chats k ON k.parent_id = b.id) SELECT id FROM below)"
)
FAMILY = "c.id <> $2 AND (c.id = $1 OR (c.root_id = $1 AND c.parent_id IS NOT NULL))"
FORKED = f"SELECT {listed(MESSAGE)} FROM messages WHERE chat_id = $1 AND NOT removed ORDER BY id"
# The part of a summary that people see comes before the summary itself and what was carried over it, which
# they do not see: all three are handled together.
FORKED_UP_TO = f"""
SELECT {listed(MESSAGE)} FROM messages WHERE chat_id = $1 AND NOT removed AND (id <= $2 OR (
    EXISTS (SELECT 1 FROM messages t WHERE t.chat_id = $1 AND t.id = $2 AND t.compaction)
    AND id < coalesce((
        SELECT n.id FROM messages n
        WHERE n.chat_id = $1 AND n.id > $2 AND NOT n.removed AND NOT n.compaction AND n.visibility <> 'model'
        ORDER BY n.id LIMIT 1
    ), 'ffffffff-ffff-ffff-ffff-ffffffffffff')
)) ORDER BY id
"""
REMOVED_THERE = (
    f"SELECT {listed(MESSAGE)} FROM messages WHERE chat_id = $1 AND removed AND revision = $2 ORDER BY id"
)
EXISTS = "SELECT 1 FROM chats WHERE id = $1"


def facts(chat_id: ChatId, needs: Needs, view: View | None) -> Query[Facts]:
    if needs is NOTHING:
        return constant(NO_FACTS)
    edited, notice_key = needs.edited, needs.notice_key
    return joined(
        joined(*[_sent(chat_id, item) for item in needs.items], read=_sent_items),
        joined(*[_answered(chat_id, call) for call in needs.calls], read=_answered_calls),
        constant(None) if edited is None else query(TARGET, chat_id, edited, read=at_most_one(_target)),
        constant(()) if edited is None else views(STARTED_THERE, chat_id, edited),
        constant(False) if notice_key is None else query(KEY_SEEN, chat_id, notice_key, read=any_row),
        constant(False) if notice_key is None else over_budget(chat_id),
        constant(False) if notice_key is None else query(STOPPED, chat_id, read=any_row),
        joined(*[_untaken(key) for key in needs.deliveries], read=_deliveries),
        views(FAMILY, view.chat.root_id, chat_id) if needs.family and view is not None else constant(()),
        subtree(chat_id) if needs.subtree else constant(()),
        constant(None) if needs.fork is None else _history(needs.fork),
        constant(())
        if needs.rewound_at is None
        else query(REMOVED_THERE, chat_id, needs.rewound_at, read=_messages),
        read=_facts,
    )


def subtree(chat_id: ChatId) -> Query[tuple[ChatId, ...]]:
    return query(SUBTREE, chat_id, read=each(lambda row: row[0]))


def _facts(
    sent: dict[QueueItemId, MessageId],
    answered: frozenset[CallId],
    target: Target | None,
    started_there: tuple[View, ...],
    key_seen: bool,
    over_budget: bool,
    stopped: bool,
    deliveries: frozenset[DeliveryKey],
    family: tuple[View, ...],
    subtree: tuple[ChatId, ...],
    history: tuple[Message, ...] | None,
    removed_there: tuple[Message, ...],
) -> Facts:
    return Facts(
        sent=sent,
        answered=answered,
        target=target,
        started_there=started_there,
        key_seen=key_seen,
        over_budget=over_budget,
        stopped=stopped,
        deliveries=deliveries,
        family=family,
        subtree=subtree,
        history=history,
        removed_there=removed_there,
    )


def _sent(chat_id: ChatId, item: QueueItemId) -> Query[tuple[QueueItemId, MessageId | None]]:
    return query(SENT, chat_id, item, read=lambda rows: (item, rows[0][0] if rows else None))


def _sent_items(*found: tuple[QueueItemId, MessageId | None]) -> dict[QueueItemId, MessageId]:
    return {item: message for item, message in found if message is not None}


def _answered(chat_id: ChatId, call: CallId) -> Query[tuple[CallId, ...]]:
    return query(ANSWERED, chat_id, call, read=lambda rows: (call,) if rows else ())


def _answered_calls(*found: tuple[CallId, ...]) -> frozenset[CallId]:
    return frozenset(call for calls in found for call in calls)


def _target(row: Row) -> Target:
    return Target(role=row[0], removed=bool(row[1]), hidden=row[2] == "model")


def _untaken(key: DeliveryKey) -> Query[tuple[DeliveryKey, ...]]:
    return query(UNTAKEN, key.child_id, key.turn, read=lambda rows: (key,) if rows else ())


def _deliveries(*found: tuple[DeliveryKey, ...]) -> frozenset[DeliveryKey]:
    return frozenset(key for keys in found for key in keys)


def _history(point: ForkPoint) -> Query[tuple[Message, ...] | None]:
    if point.up_to is None:
        messages = query(FORKED, point.source_id, read=_messages)
    else:
        messages = query(FORKED_UP_TO, point.source_id, point.up_to, read=_messages)

    def read(exists: bool, history: tuple[Message, ...]) -> tuple[Message, ...] | None:
        if not exists or (point.up_to is not None and all(message.id != point.up_to for message in history)):
            return None
        return history

    return joined(query(EXISTS, point.source_id, read=any_row), messages, read=read)


_messages = each(message_of)
