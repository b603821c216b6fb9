"""Writing the debug record: however many rows there are, each table takes one statement, whose argument is a
list of lists. A row's status never goes down, whoever writes last."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from holdfast.core.debug_runs import (
    STATUSES,
    DebugAttempt,
    DebugKind,
    DebugOperation,
    DebugStatus,
)
from holdfast.core.events import BusEvent
from holdfast.core.failures import Failure
from holdfast.core.ids import ChatId, DebugRunId, MessageId
from holdfast.core.parts import Text
from holdfast.core.shapes import Record, encode_text
from holdfast.core.usage import Usage
from holdfast.store.columns import Written, columns, listed, micros, text
from holdfast.store.debug_runs import ATTEMPT, IN_PROGRESS, INTERRUPTED, RUN, STEP
from holdfast.store.query import Query, Row, Statement, each, query
from holdfast.store.rows import parts_of

_TYPES = dict.fromkeys(
    columns("status turn started_at finished_at number step status_code duration_ms"), "bigint"
) | dict.fromkeys(columns("id chat_id message_id history_message_id run_id"), "uuid")
TEXT = columns("chat_id hash body")
_ROWS = "FROM jsonb_array_elements(CAST($1 AS jsonb)) r"


def _cell(place: int, kind: str) -> str:
    return f"CAST(r.value ->> {place} AS {kind})"


def _cells(names: Sequence[str], types: dict[str, str] = _TYPES) -> str:
    return ", ".join(_cell(place, types.get(name, "text")) for place, name in enumerate(names))


def _excluded(names: str) -> str:
    return ", ".join(f"{name} = excluded.{name}" for name in columns(names))


# What records begin with: the message of the turn, the steps so far, and whether a worker before us left
# something in progress.
BEGINNINGS = (
    "SELECT r.value ->> 0, t.message_id, m.parts, m.removed, "
    f"(SELECT coalesce(max(s.number), 0) FROM debug_steps s WHERE s.run_id = {_cell(0, 'uuid')}), "
    f"EXISTS (SELECT 1 FROM debug_steps s WHERE s.run_id = {_cell(0, 'uuid')} "
    f"AND s.status = {IN_PROGRESS}) OR EXISTS (SELECT 1 FROM debug_runs d "
    f"WHERE d.chat_id = {_cell(1, 'uuid')} AND d.id <> {_cell(0, 'uuid')} AND d.status = {IN_PROGRESS} "
    f"AND d.kind = r.value ->> 3) {_ROWS} "
    f"JOIN turns t ON t.chat_id = {_cell(1, 'uuid')} AND t.number = {_cell(2, 'bigint')} "
    "LEFT JOIN messages m ON m.chat_id = t.chat_id AND m.id = t.message_id"
)
# What a worker before us left has ended with it.
END_STEPS = (
    f"UPDATE debug_steps SET status = {INTERRUPTED}, finished_at = now_micros() {_ROWS} "
    f"WHERE debug_steps.run_id = {_cell(0, 'uuid')} AND debug_steps.status = {IN_PROGRESS}"
)
END_OTHERS = (
    f"UPDATE debug_runs SET status = {INTERRUPTED}, finished_at = now_micros(), touched_at = now_micros() "
    f"{_ROWS} WHERE debug_runs.chat_id = {_cell(1, 'uuid')} AND debug_runs.id <> {_cell(0, 'uuid')} "
    f"AND debug_runs.status = {IN_PROGRESS} AND debug_runs.kind = r.value ->> 2 "
    "AND debug_runs.kind IN ('chat_turn', 'compaction')"
)
PUT_RUNS = (
    f"INSERT INTO debug_runs ({listed(RUN)}, touched_at) SELECT {_cells(RUN)}, now_micros() {_ROWS} "
    f"WHERE EXISTS (SELECT 1 FROM chats c WHERE c.id = {_cell(1, 'uuid')}) AND NOT EXISTS ("
    f"SELECT 1 FROM messages m WHERE m.chat_id = {_cell(1, 'uuid')} AND m.id = {_cell(6, 'uuid')} "
    "AND m.removed) ON CONFLICT (id) DO UPDATE SET "
    f"{_excluded('status provider model finished_at touched_at')} "
    "WHERE excluded.status >= debug_runs.status"
)
PUT_STEPS = (
    f"INSERT INTO debug_steps ({listed(STEP)}) SELECT {_cells(STEP)} {_ROWS} "
    f"WHERE EXISTS (SELECT 1 FROM debug_runs d WHERE d.id = {_cell(0, 'uuid')}) "
    "ON CONFLICT (run_id, number) DO UPDATE SET "
    f"{_excluded('status finished_at usage error request response')} "
    "WHERE excluded.status >= debug_steps.status"
)
# Those whose request is stored: its place is empty.
MOVE_STEPS = (
    "UPDATE debug_steps SET "
    + ", ".join(
        f"{name} = {_cell(STEP.index(name), _TYPES.get(name, 'text'))}"
        for name in columns("status finished_at usage error response")
    )
    + f" {_ROWS} WHERE debug_steps.run_id = {_cell(0, 'uuid')} "
    f"AND debug_steps.number = {_cell(1, 'bigint')} "
    f"AND debug_steps.status <= {_cell(STEP.index('status'), 'bigint')}"
)
PUT_ATTEMPTS = (
    f"INSERT INTO debug_attempts ({listed(ATTEMPT)}) "
    f"SELECT {_cells(ATTEMPT, {**_TYPES, 'status': 'text'})} {_ROWS} "
    f"WHERE EXISTS (SELECT 1 FROM debug_steps s WHERE s.run_id = {_cell(0, 'uuid')} "
    f"AND s.number = {_cell(1, 'bigint')}) ON CONFLICT (run_id, step, number) DO UPDATE SET "
    f"{_excluded('status error response_headers status_code response_body finished_at duration_ms')}"
)
PUT_TEXTS = (
    f"INSERT INTO debug_texts ({listed(TEXT)}, noted_at) SELECT {_cells(TEXT)}, now_micros() {_ROWS} "
    f"WHERE EXISTS (SELECT 1 FROM chats c WHERE c.id = {_cell(0, 'uuid')}) "
    "ON CONFLICT (chat_id, hash) DO UPDATE SET noted_at = excluded.noted_at"
)


class RunRow(Record, frozen=True, kw_only=True):
    """A run as it is written."""

    id: DebugRunId
    chat_id: ChatId
    kind: DebugKind
    status: DebugStatus
    turn: int
    message_id: MessageId | None
    history_message_id: MessageId | None
    provider: str | None
    model: str | None
    first_message: str
    label: str
    started_at: datetime
    finished_at: datetime | None


class StepRow(Record, frozen=True, kw_only=True):
    """A step as it is written. Without a request: the one that is stored stays."""

    run: RunRow
    id: str
    number: int
    operation: DebugOperation
    status: DebugStatus
    request: str | None
    response: str | None
    usage: Usage | None
    error: Failure | None
    history_message_id: MessageId | None
    started_at: datetime
    finished_at: datetime | None
    attempts: tuple[DebugAttempt, ...]


class TextRow(Record, frozen=True, kw_only=True):
    """What a segment says."""

    chat_id: ChatId
    hash: str
    body: str


class Beginning(Record, frozen=True, kw_only=True):
    """What was there when a process began to record: the message of the turn, and the steps so far. `left`:
    something is in progress that a process before it left."""

    run_id: DebugRunId
    message_id: MessageId | None
    first_message: str
    steps: int
    left: bool


def beginnings(runs: Iterable[RunRow]) -> Query[tuple[Beginning, ...]]:
    """Of those runs that there is still something to record about."""

    def read(rows: Sequence[Row]) -> tuple[Beginning, ...]:
        return each(_beginning_of)([row for row in rows if not row[3]])

    asked = [(run.id, run.chat_id, run.turn, run.kind) for run in runs]
    return query(BEGINNINGS, encode_text(asked), read=read)


def _beginning_of(row: Row) -> Beginning:
    parts = () if row[2] is None else parts_of(row[2])
    return Beginning(
        run_id=row[0],
        message_id=row[1],
        first_message=" ".join(part.text for part in parts if isinstance(part, Text)),
        steps=row[4],
        left=bool(row[5]),
    )


def put(
    runs: Iterable[RunRow],
    steps: Sequence[StepRow],
    texts: Iterable[TextRow],
    *,
    ending: Iterable[RunRow] = (),
    hints: Iterable[BusEvent] = (),
) -> Query[None]:
    """`ending`: runs for which a process before us left something in progress."""
    told = tuple(hints)
    ends = [(run.id, run.chat_id, run.kind) for run in ending]
    numbered = {(step.run.id, step.number): step for step in steps}
    written: tuple[tuple[str, list[Written]], ...] = (
        (END_STEPS, list(ends)),
        (END_OTHERS, list(ends)),
        (PUT_RUNS, [_run_row(run) for run in runs]),
        (PUT_STEPS, [_step_row(step) for step in numbered.values() if step.request is not None]),
        (MOVE_STEPS, [_step_row(step) for step in numbered.values() if step.request is None]),
        (PUT_ATTEMPTS, [_attempt_row(step, one) for step in numbered.values() for one in step.attempts]),
        (
            PUT_TEXTS,
            [*{(one.chat_id, one.hash): (one.chat_id, one.hash, one.body) for one in texts}.values()],
        ),
    )
    statements: list[Statement] = [(sql, (encode_text(rows),)) for sql, rows in written if rows]
    return Query(tuple(statements), lambda _: None, hints=lambda _: told)


def _run_row(run: RunRow) -> Written:
    return (
        run.id,
        run.chat_id,
        run.kind,
        STATUSES.index(run.status),
        run.turn,
        run.message_id,
        run.history_message_id,
        run.provider,
        run.model,
        run.first_message,
        run.label,
        micros(run.started_at),
        micros(run.finished_at),
    )


def _step_row(step: StepRow) -> Written:
    return (
        step.run.id,
        step.number,
        step.id,
        step.run.chat_id,
        step.operation,
        STATUSES.index(step.status),
        step.history_message_id,
        micros(step.started_at),
        micros(step.finished_at),
        text(step.usage),
        text(step.error),
        step.request,
        step.response,
    )


def _attempt_row(step: StepRow, attempt: DebugAttempt) -> Written:
    return (
        step.run.id,
        step.number,
        attempt.number,
        attempt.status,
        attempt.method,
        attempt.url,
        encode_text(attempt.request_headers),
        encode_text(attempt.response_headers),
        attempt.status_code,
        attempt.error,
        micros(attempt.started_at),
        micros(attempt.finished_at),
        attempt.duration_ms,
        attempt.request_body,
        attempt.response_body,
    )
