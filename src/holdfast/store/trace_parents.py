"""What a turn or a run is part of: the span that its request named, or who started it. Read only where traces
are exported."""

from holdfast.core.ids import CallId, ChatId, FlowRunId, RunId
from holdfast.core.origins import Origin
from holdfast.core.runs import AskedBy
from holdfast.core.shapes import Record
from holdfast.store.chat_rows import origin_of
from holdfast.store.query import Query, Row, at_most_one, joined, query

TURN = (
    "SELECT (SELECT t.trace_parent FROM turns t WHERE t.chat_id = c.id AND t.number = $2), "
    "c.origin, c.parent_id, c.parent_call_id, c.run_id FROM chats c WHERE c.id = $1"
)
CALL = "SELECT turn FROM calls WHERE chat_id = $1 AND call_id = $2"
RUN = "SELECT trace_parent, chat_id, call_id FROM runs WHERE id = $1"
FLOW_RUN = "SELECT trace_parent, chat_id, call_id FROM flow_runs WHERE id = $1"
FLOW_OF = "SELECT run_id FROM flow_steps WHERE workflow_run_id = $1 LIMIT 1"


class TurnStart(Record, frozen=True, kw_only=True):
    trace_parent: str | None
    origin: Origin


class RunStart(Record, frozen=True, kw_only=True):
    trace_parent: str | None
    asked_by: AskedBy | None
    # The flow run that has it as a step.
    flow_run_id: FlowRunId | None = None


def of_turn(chat_id: ChatId, turn: int) -> Query[TurnStart | None]:
    """None: the chat is gone."""
    return query(TURN, chat_id, turn, read=at_most_one(_turn_start))


def turn_of_call(chat_id: ChatId, call_id: CallId) -> Query[int | None]:
    return query(CALL, chat_id, call_id, read=at_most_one(lambda row: row[0]))


def of_run(run_id: RunId) -> Query[RunStart | None]:
    return joined(
        query(RUN, run_id, read=at_most_one(lambda row: row)),
        query(FLOW_OF, run_id, read=at_most_one(lambda row: FlowRunId(row[0]))),
        read=lambda row, flow_run_id: None if row is None else _run_start(row, flow_run_id),
    )


def of_flow_run(run_id: FlowRunId) -> Query[RunStart | None]:
    return query(FLOW_RUN, run_id, read=at_most_one(_run_start))


def _turn_start(row: Row) -> TurnStart:
    trace_parent, origin, parent_id, parent_call_id, run_id = row
    return TurnStart(trace_parent=trace_parent, origin=origin_of(origin, parent_id, parent_call_id, run_id))


def _run_start(row: Row, flow_run_id: FlowRunId | None = None) -> RunStart:
    trace_parent, chat_id, call_id = row
    asked = None if chat_id is None else AskedBy(chat_id=chat_id, call_id=call_id)
    return RunStart(trace_parent=trace_parent, asked_by=asked, flow_run_id=flow_run_id)
