"""The journals of runs: calls and log lines, each with the run's version that last wrote it. Only the worker
that holds the run's lease writes, and what belongs together is one write."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from holdfast.chats.commands import DeliveryKey
from holdfast.core.clock import from_micros
from holdfast.core.errors import WrongState
from holdfast.core.events import RunHint
from holdfast.core.ids import ChatId, RunId
from holdfast.core.runs import (
    AgentTerms,
    CallError,
    PinnedScript,
    Run,
    RunCall,
    RunDetails,
    RunError,
    RunLine,
    RunStatus,
)
from holdfast.core.shapes import Json, Record, encode_text
from holdfast.core.text import clean_deep
from holdfast.core.usage import Usage
from holdfast.store.columns import Written, columns, listed, micros, moment, text
from holdfast.store.query import Query, Row, Rows, Statement, at_most_one, each, joined, query
from holdfast.store.runs import run as run_query

# The version of a run that was created and acquired once: its journal is empty.
TAKEN_FIRST = 2

CALL = columns(
    "run_id scope number kind hash occurrence label phase branch chat_id reused started_at finished_at "
    "outcome delivery spent usage error terms script value"
)
# Written once, when the call is made.
_FIXED = frozenset(columns("run_id scope number kind hash occurrence label phase branch reused terms script"))
_MOVING = tuple(name for name in CALL if name not in _FIXED)
_MOVED = ", ".join(f"{name} = excluded.{name}" for name in (*_MOVING, "revision"))
LINE = columns("run_id number scope place kind at text")

_SELECT_CALLS = f"SELECT {listed(CALL)} FROM run_calls WHERE run_id = $1"
_IN_ORDER = "ORDER BY scope, number"
CALLS = f"{_SELECT_CALLS} {_IN_ORDER}"
CALLS_SINCE = f"{_SELECT_CALLS} AND revision > $2 {_IN_ORDER}"
LENT = f"{_SELECT_CALLS} AND outcome = 'succeeded' AND kind = 'agent' {_IN_ORDER}"
LINES = f"SELECT {listed(LINE)} FROM run_lines WHERE run_id = $1 ORDER BY number"
LINES_SINCE = f"SELECT {listed(LINE)} FROM run_lines WHERE run_id = $1 AND revision > $2 ORDER BY number"
# A reused call names a chat of another run.
TERMS = (
    "SELECT a.terms FROM run_calls a JOIN chats c ON c.id = a.chat_id AND c.run_id = a.run_id "
    "WHERE a.chat_id = $1 "
    "UNION ALL SELECT s.terms FROM flow_steps s JOIN chats c ON c.id = s.chat_id AND c.run_id = s.run_id "
    "WHERE s.chat_id = $1"
)
# The fence: a worker that lost the lease, or whose run was cancelled, writes nothing.
MOVE = (
    "UPDATE runs SET version = version + 1, spent_tokens = $3, spent_usd_micros = $4, "
    "status = coalesce($5, status), result = $6, error = $7, "
    "finished_at = CASE WHEN $5 IS NULL THEN finished_at ELSE now_micros() END "
    "WHERE id = $1 AND lease_number = $2 AND status = 'running' RETURNING version, owner_id"
)
_TYPES = dict.fromkeys(
    columns("scope number occurrence started_at finished_at delivery spent place at"), "bigint"
) | {"chat_id": "uuid", "reused": "boolean"}
# However many rows there are, they are one argument, a list of lists.
_ROWS = "FROM jsonb_array_elements(CAST($%d AS jsonb)) r"
_VERSION = "(SELECT version AS moved FROM runs WHERE id = $1) v"


def _put(table: str, names: tuple[str, ...], when_there: str, rows: int, version: str) -> str:
    """The first column is the run's id ($1), the others come from the argument with this number."""
    picked = ", ".join(
        f"CAST(r.value ->> {n} AS {_TYPES.get(name, 'text')})" for n, name in enumerate(names[1:])
    )
    return (
        f"INSERT INTO {table} ({listed(names)}, revision) SELECT CAST($1 AS uuid), {picked}, v.moved "
        f"{_ROWS % rows} CROSS JOIN {version} WHERE TRUE "
        f"ON CONFLICT ({listed(names[: names.index('number') + 1])}) DO {when_there}"
    )


def _put_calls(rows: int, version: str = _VERSION) -> str:
    return _put("run_calls", CALL, f"UPDATE SET {_MOVED}", rows, version)


def _put_lines(rows: int, version: str = _VERSION) -> str:
    return _put("run_lines", LINE, "NOTHING", rows, version)


def _take(rows: int, version: str = "") -> str:
    return (
        f"UPDATE deliveries SET taken = TRUE {_ROWS % rows} {version} "
        "WHERE child_id = CAST(r.value ->> 0 AS uuid) AND turn = CAST(r.value ->> 1 AS bigint)"
    )


PUT_CALLS, PUT_LINES, TAKE = _put_calls(2), _put_lines(2), _take(1)
AT_ONCE = (
    f"WITH v AS ({MOVE.replace('RETURNING version', 'RETURNING version AS moved')}), "
    f"calls AS ({_put_calls(8, 'v')}), lines AS ({_put_lines(9, 'v')}), "
    f"taken AS ({_take(10, 'CROSS JOIN v')}) SELECT moved, owner_id FROM v"
)


class LeaseLost(WrongState):
    """The run no longer belongs to this worker, or was cancelled; nothing was written."""

    code = "lease_lost"


class Ending(Record, frozen=True, kw_only=True):
    status: RunStatus
    result: Json = None
    error: RunError | None = None


class Entries(Record, frozen=True, kw_only=True):
    """What is written together."""

    calls: tuple[RunCall, ...] = ()
    lines: tuple[RunLine, ...] = ()
    # Ends of agents' turns that these entries take into account.
    taken: tuple[DeliveryKey, ...] = ()
    spent_tokens: int = 0
    spent_usd_micros: int = 0
    ending: Ending | None = None


@dataclass(frozen=True, slots=True)
class Since:
    """What has changed in a run since a version; `run` is its current state."""

    run: Run | None
    calls: tuple[RunCall, ...]
    lines: tuple[RunLine, ...]


def record(run_id: RunId, lease_number: int, entries: Entries) -> Query[int]:
    """A write; returns the run's new version. Raises LeaseLost."""
    entries = clean_deep(entries)
    ending = entries.ending
    ended = (None, None, None) if ending is None else (ending.status, text(ending.result), text(ending.error))
    moved = (run_id, lease_number, entries.spent_tokens, entries.spent_usd_micros, *ended)
    calls_put = encode_text([_call_row(call) for call in entries.calls])
    lines_put = encode_text([_line_row(line) for line in entries.lines])
    taken = encode_text([(key.child_id, key.turn) for key in entries.taken])
    statements: list[Statement] = [(MOVE, moved)]
    if entries.calls:
        statements.append((PUT_CALLS, (run_id, calls_put)))
    if entries.lines:
        statements.append((PUT_LINES, (run_id, lines_put)))
    if entries.taken:
        statements.append((TAKE, (taken,)))

    def read(results: Sequence[Rows]) -> int:
        if not results[0]:
            raise LeaseLost("The run has another owner, or was cancelled.")
        return results[0][0][0]

    def hints(results: Sequence[Rows]) -> list[RunHint]:
        version, owner_id = results[0][0]
        return [RunHint(run_id=run_id, owner_id=owner_id, version=version, over=ending is not None)]

    at_once = (AT_ONCE, (*moved, calls_put, lines_put, taken))
    return Query(tuple(statements), read, at_once, hints=hints)


def details(run_id: RunId) -> Query[RunDetails | None]:
    def read(run: Run | None, found: tuple[RunCall, ...], said: tuple[RunLine, ...]) -> RunDetails | None:
        return None if run is None else RunDetails(run=run, calls=found, lines=said)

    return joined(run_query(run_id), calls(run_id), lines(run_id), read=read)


def since(run_id: RunId, version: int) -> Query[Since]:
    return joined(
        run_query(run_id),
        query(CALLS_SINCE, run_id, version, read=each(call_of)),
        query(LINES_SINCE, run_id, version, read=each(line_of)),
        read=Since,
    )


def calls(run_id: RunId) -> Query[tuple[RunCall, ...]]:
    return query(CALLS, run_id, read=each(call_of))


def lent(run_id: RunId) -> Query[tuple[RunCall, ...]]:
    """The successful answers of a run."""
    return query(LENT, run_id, read=each(call_of))


def lines(run_id: RunId) -> Query[tuple[RunLine, ...]]:
    return query(LINES, run_id, read=each(line_of))


def terms(chat_id: ChatId) -> Query[AgentTerms | None]:
    """The limits on this chat as an agent of a run; None: there are none, or it is not one."""
    return query(TERMS, chat_id, read=at_most_one(lambda row: None if row[0] is None else _terms(row[0])))


_decode = msgspec.json.Decoder().decode
_usage = msgspec.json.Decoder(Usage).decode
_failed = msgspec.json.Decoder(CallError).decode
_terms = msgspec.json.Decoder(AgentTerms).decode
_script = msgspec.json.Decoder(PinnedScript).decode


def _call_row(call: RunCall) -> Written:
    """Without the run's id."""
    return (
        call.scope,
        call.number,
        call.kind,
        call.hash,
        call.occurrence,
        call.label,
        call.phase,
        call.branch,
        call.chat_id,
        call.reused,
        micros(call.started_at),
        micros(call.finished_at),
        call.outcome,
        call.delivery,
        call.spent,
        text(call.usage),
        text(call.error),
        text(call.terms),
        text(call.script),
        text(call.value),
    )


def call_of(row: Row) -> RunCall:
    fields: dict[str, Any] = dict(zip(CALL[1:], row[1:], strict=True))
    for name, decode in (
        ("started_at", moment),
        ("finished_at", moment),
        ("usage", _usage),
        ("error", _failed),
        ("terms", _terms),
        ("script", _script),
        ("value", _decode),
    ):
        if fields[name] is not None:
            fields[name] = decode(fields[name])
    fields["reused"] = bool(fields["reused"])
    return RunCall(**fields)


def _line_row(line: RunLine) -> Written:
    return (line.number, line.scope, line.place, line.kind, micros(line.at), line.text)


def line_of(row: Row) -> RunLine:
    _, number, scope, place, kind, at, said = row
    return RunLine(number=number, scope=scope, place=place, kind=kind, at=from_micros(at), text=said)
