"""How agents of a run ended their turns: the ends that the run's journal has not taken yet, and the answers
that agents gave through a tool."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from holdfast.chats.commands import DeliveryKey
from holdfast.core.failures import Failure
from holdfast.core.ids import ChatId, RunId
from holdfast.core.parts import Notice, Outcome, Text, ToolCall
from holdfast.core.shapes import Json
from holdfast.core.steps import TurnOutcome
from holdfast.core.usage import Usage
from holdfast.store.chat_rows import usage_of
from holdfast.store.columns import placeholders
from holdfast.store.query import Query, Row, Rows, constant, each, query
from holdfast.store.rows import failure_of, parts_of

ENDS = (
    "SELECT d.child_id, d.turn, d.outcome, d.failure, c.usage, a.parts, l.parts, "
    "(SELECT count(*) FROM turns t WHERE t.chat_id = d.child_id AND t.kind = 'message'), "
    "c.status IN ('running', 'interrupting', 'requires_action') "
    "OR EXISTS (SELECT 1 FROM deliveries k WHERE k.parent_id = d.child_id AND NOT k.taken), "
    "EXISTS (SELECT 1 FROM chats k WHERE k.parent_id = d.child_id) "
    "FROM deliveries d LEFT JOIN chats c ON c.id = d.child_id "
    "LEFT JOIN messages a ON a.chat_id = d.child_id AND a.id = d.answer_id "
    "LEFT JOIN messages l ON l.chat_id = d.child_id AND l.id = c.last_message_id AND l.role = 'system' "
    "WHERE NOT d.taken AND d.run_id = $1 AND d.run_id IS NOT NULL ORDER BY d.created_at, d.child_id, d.turn"
)
# Everything below an agent whose end is reported.
BELOW = (
    "WITH RECURSIVE below (top, id) AS (SELECT d.child_id, d.child_id FROM deliveries d "
    "WHERE NOT d.taken AND d.run_id = $1 AND d.run_id IS NOT NULL "
    "UNION SELECT b.top, k.id FROM below b JOIN chats k ON k.parent_id = b.id) "
    "SELECT b.top, c.id, c.status, c.usage FROM below b JOIN chats c ON c.id = b.id WHERE c.id <> b.top"
)
# Agents that have stopped for good: nothing below them works, and nothing is waiting to wake them.
AT_REST = (
    "SELECT c.id FROM chats c WHERE c.id IN (%s) AND c.status IN ('idle', 'error') "
    "AND NOT EXISTS (SELECT 1 FROM chats k WHERE k.root_id = c.id AND k.parent_id IS NOT NULL "
    "AND k.status IN ('running', 'interrupting', 'requires_action')) "
    "AND NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.parent_id = c.id AND NOT d.taken)"
)
# Agents of a run that wait for a person, themselves or through one below them.
ASKING = (
    "SELECT c.id FROM chats c WHERE c.run_id = $1 AND (c.status = 'requires_action' "
    "OR EXISTS (SELECT 1 FROM chats k WHERE k.root_id = c.id AND k.parent_id IS NOT NULL "
    "AND k.status = 'requires_action'))"
)
ANSWERS = (
    "SELECT a.call_id, a.outcome, m.parts FROM calls a "
    "JOIN messages m ON m.chat_id = a.chat_id AND m.id = a.message_id "
    "WHERE a.chat_id = $1 AND a.name = $2 ORDER BY a.message_id, a.position"
)
_BUSY = ("running", "interrupting", "requires_action")


@dataclass(frozen=True, slots=True)
class AgentEnd:
    """The end of one turn of an agent."""

    key: DeliveryKey
    outcome: TurnOutcome
    failure: Failure | None
    # The last answer of the turn.
    said: str
    # The limit that ended the turn, if one did.
    notice: Notice | None
    # How often it was asked: once for its task, plus reminders.
    asked: int
    # Including everything below it.
    usage: Usage
    # Those below it that are still working.
    busy_below: tuple[ChatId, ...]
    # Its next turn has started, and may even be over; or it will start, because the end of an agent below it
    # has not been delivered yet.
    goes_on: bool


@dataclass(frozen=True, slots=True)
class Answered:
    """An answer that an agent gave through a tool, valid or not."""

    outcome: Outcome | None
    value: Json


def ends(run_id: RunId) -> Query[tuple[AgentEnd, ...]]:
    """In the order of arrival."""
    return Query(((ENDS, (run_id,)), (BELOW, (run_id,))), _ends_of)


def ends_alone(run_id: RunId) -> Query[tuple[AgentEnd, ...] | None]:
    """Like `ends`, and faster. None: one of the agents has had a sub-agent, so `ends` is needed."""

    def read(rows: Rows) -> tuple[AgentEnd, ...] | None:
        return None if any(row[-1] for row in rows) else _ends_of((rows, ()))

    return query(ENDS, run_id, read=read)


def at_rest(chat_ids: Collection[ChatId]) -> Query[frozenset[ChatId]]:
    if not chat_ids:
        return constant(frozenset())
    sql = AT_REST % placeholders(len(chat_ids))
    return query(sql, *chat_ids, read=lambda rows: frozenset(row[0] for row in rows))


def asking(run_id: RunId) -> Query[frozenset[ChatId]]:
    """The agents of a run that cannot continue until somebody answers them."""
    return query(ASKING, run_id, read=lambda rows: frozenset(row[0] for row in rows))


def answers(chat_id: ChatId, tool: str) -> Query[tuple[Answered, ...]]:
    """All calls of this tool by an agent, in order."""
    return query(ANSWERS, chat_id, tool, read=each(_answered))


def _ends_of(results: Sequence[Rows]) -> tuple[AgentEnd, ...]:
    below: dict[str, list[Row]] = {}
    for row in results[1]:
        below.setdefault(row[0], []).append(row)
    # If several ends of one agent are found together, only the last can be the end of its work.
    last: dict[str, int] = {}
    for child_id, turn, *_ in results[0]:
        last[child_id] = max(turn, last.get(child_id, 0))
    return tuple(_end_of(row, below.get(row[0], ()), row[1] < last[row[0]]) for row in results[0])


def _end_of(row: Row, below: Sequence[Row], went_on: bool) -> AgentEnd:
    child_id, turn, outcome, failure, usage, answer, last, asked, goes_on, _ = row
    total = Usage() if usage is None else usage_of(usage)
    for _, _, _, used in below:
        total = total + usage_of(used)
    texts = [part.text for part in parts_of(answer) if isinstance(part, Text)] if answer else []
    notices = [part for part in parts_of(last) if isinstance(part, Notice)] if last else []
    return AgentEnd(
        key=DeliveryKey(child_id=child_id, turn=turn),
        outcome=outcome,
        failure=failure_of(failure),
        said="\n".join(texts),
        notice=notices[-1] if notices else None,
        asked=asked,
        usage=total,
        busy_below=tuple(chat_id for _, chat_id, status, _ in below if status in _BUSY),
        goes_on=went_on or bool(goes_on),
    )


def _answered(row: Row) -> Answered:
    call_id, outcome, parts = row
    asked = next(
        (part for part in parts_of(parts) if isinstance(part, ToolCall) and part.call_id == call_id), None
    )
    return Answered(outcome=outcome, value=None if asked is None else asked.input)
