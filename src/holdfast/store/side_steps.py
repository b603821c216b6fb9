"""Model calls beside the turns of a chat: titles and summaries. They are steps like all others, and what they
used joins the chat's usage; but they are no execution state, so the chat's version does not move."""

from msgspec.structs import replace

from holdfast.core.clock import to_micros
from holdfast.core.ids import ChatId
from holdfast.core.shapes import encode_text
from holdfast.core.steps import Step
from holdfast.store.query import Query, Statement

# Their numbers are behind those of the turn's own steps.
FIRST_NUMBER = 1_000_001

INSERT_STEP = f"""
INSERT INTO steps (chat_id, turn, number, id, kind, message_id, model, provider, response_id, attempts, usage,
    started_at, first_part_at, finished_at, outcome, failures, revision)
VALUES ($1, $2, (
    SELECT coalesce(max(s.number) + 1, {FIRST_NUMBER}) FROM steps s
    WHERE s.chat_id = $1 AND s.turn = $2 AND s.number >= {FIRST_NUMBER}
), $3, $4, NULL, $5, $6, $7, 1, $8, $9, NULL, $10, $11, $12, (SELECT c.version FROM chats c WHERE c.id = $1))
"""
_SUMMED = ("input", "output", "reasoning", "cache_read", "cache_write", "total", "cost_usd_micros")
_SUMS = "|| ',' ||".join(
    f"'\"{name}\":' || (json_int(s.usage, '{name}') + json_int(excluded.usage, '{name}'))"
    for name in (*_SUMMED, "unpriced_steps")
)
# Once an estimate is in it, the sum is one.
COUNT = f"""
INSERT INTO side_spending AS s (chat_id, tokens, usd_micros, usage)
VALUES ($1, $2, $3, $4)
ON CONFLICT (chat_id) DO UPDATE SET
    tokens = s.tokens + excluded.tokens,
    usd_micros = s.usd_micros + excluded.usd_micros,
    usage = '{{' || {_SUMS} || CASE
        WHEN replace(s.usage || excluded.usage, '"estimated":true', '') <> s.usage || excluded.usage
        THEN ',"estimated":true}}' ELSE '}}' END
"""


def note(chat_id: ChatId, step: Step) -> Query[None]:
    """Of a chat that is there."""
    usage = step.usage
    # They say nothing of how full the chat's context is.
    summed = replace(usage, context_used=None, context_limit=None, tokens_per_second=None)
    statements: tuple[Statement, ...] = (
        (
            INSERT_STEP,
            (
                chat_id,
                step.turn,
                step.id,
                step.kind,
                step.model,
                step.provider,
                step.response_id,
                encode_text(usage),
                to_micros(step.started_at),
                to_micros(step.finished_at),
                step.outcome,
                encode_text(step.failures),
            ),
        ),
        (COUNT, (chat_id, usage.total, usage.cost_usd_micros, encode_text(summed))),
    )
    return Query(statements, lambda _: None)
