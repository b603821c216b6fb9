"""What a family has spent, against the caps set on any of its members."""

from holdfast.core.ids import ChatId
from holdfast.core.usage import Budget
from holdfast.store.query import Query, Row, each, joined, query

# The chat and those of its ancestors with a cap, each with the amount spent by it and everything below it.
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
SELECT k.tokens, k.usd_micros, CAST(sum(c.spent_tokens + coalesce(t.tokens, 0)) AS bigint),
    CAST(sum(c.spent_usd_micros + coalesce(t.usd_micros, 0)) AS bigint)
FROM capped k JOIN below b ON b.top = k.id JOIN chats c ON c.id = b.id
LEFT JOIN side_spending t ON t.chat_id = c.id
GROUP BY k.id, k.tokens, k.usd_micros
"""
# The budget of the run that the chat, or one of its ancestors, is an agent of: output tokens of all agents of
# the run and everything below them.
OF_RUN = """
WITH RECURSIVE up (id, parent_id, run_id) AS (
    SELECT id, parent_id, run_id FROM chats WHERE id = $1
    UNION ALL SELECT c.id, c.parent_id, c.run_id FROM up u JOIN chats c ON c.id = u.parent_id
), capped (id, tokens) AS (
    SELECT r.id, r.budget_tokens FROM up u JOIN runs r ON r.id = u.run_id WHERE r.budget_tokens IS NOT NULL
    UNION ALL SELECT f.id, f.budget_tokens FROM up u JOIN flow_runs f ON f.id = u.run_id
    WHERE f.budget_tokens IS NOT NULL
), below (top, id) AS (
    SELECT k.id, c.id FROM capped k JOIN chats c ON c.run_id = k.id
    UNION ALL SELECT b.top, c.id FROM below b JOIN chats c ON c.parent_id = b.id
)
SELECT k.tokens, NULL, CAST(sum(json_int(c.usage, 'output')) AS bigint), 0
FROM capped k JOIN below b ON b.top = k.id JOIN chats c ON c.id = b.id
GROUP BY k.id, k.tokens
"""


def caps(chat_id: ChatId) -> Query[tuple[Budget, ...]]:
    """The family's budgets that apply to this chat: its own and its ancestors'."""
    return query(CAPS, chat_id, read=each(_cap))


def all_caps(chat_id: ChatId) -> Query[tuple[Budget, ...]]:
    """Every budget that applies to this chat: those of its family, and that of the run it works for."""
    return joined(
        caps(chat_id),
        query(OF_RUN, chat_id, read=each(_cap)),
        read=lambda own, of_run: (*own, *of_run),
    )


def over_budget(chat_id: ChatId) -> Query[bool]:
    return joined(all_caps(chat_id), read=lambda found: any(is_spent(budget) for budget in found))


def is_spent(budget: Budget) -> bool:
    return (budget.tokens is not None and budget.spent_tokens >= budget.tokens) or (
        budget.cost_usd_micros is not None and budget.spent_usd_micros >= budget.cost_usd_micros
    )


def _cap(row: Row) -> Budget:
    return Budget(tokens=row[0], cost_usd_micros=row[1], spent_tokens=row[2], spent_usd_micros=row[3])
