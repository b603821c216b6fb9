"""Steps of flow runs and what runs said: their rows, and the writes that move them. A step is written only
if it is still in the state and at the attempt that the writer saw, else nothing of the write counts."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from holdfast.chats.commands import DeliveryKey
from holdfast.core.clock import from_micros
from holdfast.core.errors import WrongState
from holdfast.core.events import RunHint
from holdfast.core.flow_runs import Answer, FlowError, FlowLine, FlowStatus, FlowStep, SwitchChoice
from holdfast.core.ids import FlowRunId, RunId
from holdfast.core.runs import AgentTerms
from holdfast.core.shapes import Json, Record, encode_text
from holdfast.core.text import clean_deep
from holdfast.core.usage import Usage
from holdfast.store.columns import Written, columns, listed, micros, moment, text
from holdfast.store.query import Query, Row, Rows, Statement

STEP = columns(
    "id position kind batch state reason detail attempt retried chat_id previous_chat_id workflow_run_id "
    "reused begun_at started_at finished_at deadline_at hash usage terms choice answer text output"
)
# Written once, when the run is made.
_FIXED = frozenset(columns("id position kind batch"))
LINE = columns("number kind at step_id text")

_TYPES = (
    dict.fromkeys(
        columns("position attempt retried begun_at started_at finished_at deadline_at number at"), "bigint"
    )
    | dict.fromkeys(columns("chat_id previous_chat_id workflow_run_id"), "uuid")
    | {"reused": "boolean"}
)
# However many rows there are, they are one argument, a list of lists.
_ROWS = "FROM jsonb_array_elements(CAST($2 AS jsonb)) r"


def _cast(name: str, place: int) -> str:
    return f"CAST(r.value ->> {place} AS {_TYPES.get(name, 'text')})"


PUT_STEPS = (
    f"INSERT INTO flow_steps (run_id, {listed(STEP)}, revision) "
    f"SELECT CAST($1 AS uuid), {', '.join(_cast(name, n) for n, name in enumerate(STEP))}, 1 {_ROWS} "
    "WHERE EXISTS (SELECT 1 FROM flow_runs f WHERE f.id = $1) ON CONFLICT (run_id, id) DO NOTHING"
)
# The state and the attempt that the writer saw follow the columns. A write may be repeated: then the rows
# have its version already.
MOVE_STEPS = (
    "UPDATE flow_steps SET "
    + ", ".join(f"{name} = {_cast(name, n)}" for n, name in enumerate(STEP) if name not in _FIXED)
    + f", revision = $3 {_ROWS} WHERE flow_steps.run_id = $1 AND flow_steps.id = r.value ->> 0 "
    f"AND ((flow_steps.state = r.value ->> {len(STEP)} "
    f"AND flow_steps.attempt = CAST(r.value ->> {len(STEP) + 1} AS bigint)) OR flow_steps.revision = $3) "
    "RETURNING flow_steps.id"
)
PUT_LINES = (
    f"INSERT INTO flow_lines (run_id, {listed(LINE)}, revision) "
    f"SELECT CAST($1 AS uuid), {', '.join(_cast(name, n) for n, name in enumerate(LINE))}, $3 {_ROWS} "
    "WHERE TRUE ON CONFLICT (run_id, number) DO NOTHING"
)
TAKE = (
    "UPDATE deliveries SET taken = TRUE FROM jsonb_array_elements(CAST($1 AS jsonb)) r "
    "WHERE child_id = CAST(r.value ->> 0 AS uuid) AND turn = CAST(r.value ->> 1 AS bigint)"
)
# The fence of the driver: its lease, and the version it decided on.
MOVE = (
    "UPDATE flow_runs SET version = $3 + 1, write_key = $4, spent_tokens = $5, spent_usd_micros = $6, "
    "status = coalesce($7, status), result = $8, error = $9, wake_at = $10, "
    "lease_worker_id = CASE WHEN $7 = 'waiting' THEN NULL ELSE lease_worker_id END, "
    "finished_at = CASE WHEN $7 IS NULL OR $7 = 'waiting' THEN finished_at ELSE now_micros() END "
    "WHERE id = $1 AND lease_number = $2 AND (version = $3 OR (version = $3 + 1 AND write_key = $4)) "
    "AND (status = 'running' OR write_key = $4) RETURNING version, owner_id"
)
# Written by people. They move the version, so that the driver of the run notices. If nobody drives it, a
# worker may take it again.
ANSWER = (
    "UPDATE flow_runs SET version = version + 1, wake_at = NULL, status = 'running' "
    "WHERE id = $1 AND version = $2 AND status IN ('pending', 'running', 'waiting') "
    "RETURNING version, owner_id, lease_worker_id"
)
AGAIN = (
    "UPDATE flow_runs SET version = version + 1, wake_at = NULL, status = 'pending', finished_at = NULL, "
    "lease_worker_id = NULL, result = NULL, error = NULL WHERE id = $1 AND version = $2 "
    "AND status IN ('succeeded', 'failed', 'timed_out', 'cancelled') "
    "RETURNING version, owner_id, lease_worker_id"
)


class FlowMoved(WrongState):
    """Somebody else wrote meanwhile, or the lease is lost; nothing was written."""

    code = "flow_moved"


class FlowEnding(Record, frozen=True, kw_only=True):
    status: FlowStatus
    result: Json = None
    error: FlowError | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StepMove:
    before: FlowStep
    after: FlowStep


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowEntries:
    """What is written together. `key` names this write, so that it may be repeated."""

    key: str
    moves: tuple[StepMove, ...] = ()
    lines: tuple[FlowLine, ...] = ()
    # Ends of agents' turns that these moves take into account.
    taken: tuple[DeliveryKey, ...] = ()
    spent: tuple[int, int] = (0, 0)
    ending: FlowEnding | None = None
    # Nobody holds the run until then, or until somebody answers; with it `ending` is None.
    waits: bool = False
    wake_at_micros: int | None = None


def record(run_id: FlowRunId, lease_number: int, version: int, entries: FlowEntries) -> Query[int]:
    """A write. Returns the new version of the run. Raises FlowMoved."""
    ending = entries.ending
    status = "waiting" if entries.waits else None if ending is None else ending.status
    result, error = (None, None) if ending is None else (text(clean_deep(ending.result)), text(ending.error))
    moved = (
        run_id, lease_number, version, entries.key, *entries.spent, status, result, error,
        entries.wake_at_micros,
    )  # fmt: skip
    statements: list[Statement] = [(MOVE, moved), *_moves(run_id, version + 1, entries.moves)]
    if entries.lines:
        said = encode_text([_line_row(line) for line in clean_deep(entries.lines)])
        statements.append((PUT_LINES, (run_id, said, version + 1)))
    if entries.taken:
        statements.append((TAKE, (encode_text([(key.child_id, key.turn) for key in entries.taken]),)))

    def read(results: Sequence[Rows]) -> int:
        if not results[0] or (entries.moves and len(results[1]) != len(entries.moves)):
            raise FlowMoved("The run has another owner, or somebody wrote meanwhile.")
        return results[0][0][0]

    def hints(results: Sequence[Rows]) -> list[RunHint]:
        moved_to, owner_id = results[0][0]
        over = ending is not None
        return [RunHint(run_id=RunId(run_id), owner_id=owner_id, version=moved_to, over=over)]

    return Query(tuple(statements), read, hints=hints)


def answer(run_id: FlowRunId, version: int, move: StepMove) -> Query[int]:
    """A write: a person's decision. Raises FlowMoved."""
    return _by_people(ANSWER, run_id, version, (move,))


def again(run_id: FlowRunId, version: int, moves: Sequence[StepMove]) -> Query[int]:
    """A write: a run that has ended goes on with these steps. Raises FlowMoved."""
    return _by_people(AGAIN, run_id, version, tuple(moves))


def _by_people(sql: str, run_id: FlowRunId, version: int, moves: tuple[StepMove, ...]) -> Query[int]:
    statements = ((sql, (run_id, version)), *_moves(run_id, version + 1, moves))

    def read(results: Sequence[Rows]) -> int:
        if not results[0] or len(results[1]) != len(moves):
            raise FlowMoved("The run has moved meanwhile. Look at it again.")
        return results[0][0][0]

    def hints(results: Sequence[Rows]) -> list[RunHint]:
        moved_to, owner_id, worker_id = results[0][0]
        free = worker_id is None
        return [RunHint(run_id=RunId(run_id), owner_id=owner_id, version=moved_to, wanted=free)]

    return Query(statements, read, hints=hints)


def put_steps(run_id: FlowRunId, rows: Sequence[FlowStep]) -> Statement:
    return PUT_STEPS, (run_id, encode_text([_step_row(row) for row in rows]))


def _moves(run_id: FlowRunId, version: int, moves: tuple[StepMove, ...]) -> list[Statement]:
    if not moves:
        return []
    rows = [(*_step_row(clean_deep(one.after)), one.before.state, one.before.attempt) for one in moves]
    return [(MOVE_STEPS, (run_id, encode_text(rows), version))]


_decode = msgspec.json.Decoder().decode
_DECODED: dict[str, Any] = {
    "begun_at": moment,
    "started_at": moment,
    "finished_at": moment,
    "deadline_at": moment,
    "usage": msgspec.json.Decoder(Usage).decode,
    "terms": msgspec.json.Decoder(AgentTerms).decode,
    "choice": msgspec.json.Decoder(SwitchChoice).decode,
    "answer": msgspec.json.Decoder(Answer).decode,
    "output": _decode,
}


def _step_row(row: FlowStep) -> Written:
    return (
        row.id,
        row.position,
        row.kind,
        row.batch,
        row.state,
        row.reason,
        row.detail,
        row.attempt,
        row.retried,
        row.chat_id,
        row.previous_chat_id,
        row.workflow_run_id,
        row.reused,
        micros(row.begun_at),
        micros(row.started_at),
        micros(row.finished_at),
        micros(row.deadline_at),
        row.hash,
        text(row.usage),
        text(row.terms),
        text(row.choice),
        text(row.answer),
        row.text,
        text(row.output),
    )


def step_of(row: Row) -> FlowStep:
    fields: dict[str, Any] = dict(zip(STEP, row, strict=True))
    for name, decode in _DECODED.items():
        if fields[name] is not None:
            fields[name] = decode(fields[name])
    fields["reused"] = bool(fields["reused"])
    return FlowStep(**fields)


def _line_row(line: FlowLine) -> Written:
    return (line.number, line.kind, micros(line.at), line.step_id, line.text)


def line_of(row: Row) -> FlowLine:
    number, kind, at, step_id, said = row
    return FlowLine(number=number, kind=kind, at=from_micros(at), step_id=step_id, text=said)
