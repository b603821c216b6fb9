"""What a family has spent, against the caps set on any of its members."""

from holdfast.core.ids import ChatId
from holdfast.core.usage import Budget
from holdfast.store.query import Query, Row, each, joined, query

# The chat and its ancestors that have a cap, each with what it and everything below it spent.
CAPS = """
WITH RECURSIVE up (id, parent_id) AS (
    SELECT id, parent_id FROM chats WHERE id = $1
    UNION ALL SELECT c.id, c.parent_id FROM up u JOIN chats c ON c.id = u.parent_id
), capped (id, tokens, usd_micros) AS (
    SELECT s.chat_id, s.budget_tokens, s.budget_usd_micros FROM up u JOIN settings s ON s.chat_id = u.id
    WHERE s.budget_tokens IS NOT NULL OR s.budget_usd_micros IS NOT NULL
), below (top, id) AS (
    SELECT id, id FROM capped
    UNION ALL SELECT b.top, c.id FROM below b JOIN chats c ON c.parent_id = b.id
)
SELECT k.tokens, k.usd_micros, CAST(sum(c.spent_tokens) AS bigint), CAST(sum(c.spent_usd_micros) AS bigint)
FROM capped k JOIN below b ON b.top = k.id JOIN chats c ON c.id = b.id
GROUP BY k.id, k.tokens, k.usd_micros
"""


def caps(chat_id: ChatId) -> Query[tuple[Budget, ...]]:
    """Every budget that binds this chat: its own and its ancestors'."""
    return query(CAPS, chat_id, read=each(_cap))


def over_budget(chat_id: ChatId) -> Query[bool]:
    return joined(caps(chat_id), read=lambda found: any(is_spent(budget) for budget in found))


def is_spent(budget: Budget) -> bool:
    return (budget.tokens is not None and budget.spent_tokens >= budget.tokens) or (
        budget.cost_usd_micros is not None and budget.spent_usd_micros >= budget.cost_usd_micros
    )


def _cap(row: Row) -> Budget:
    return Budget(tokens=row[0], cost_usd_micros=row[1], spent_tokens=row[2], spent_usd_micros=row[3])
