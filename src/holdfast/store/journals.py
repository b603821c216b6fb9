"""The journals of runs: calls and lines, each with the version of its run that last wrote it. Only the worker
that holds the run's lease writes, all that belongs together in one write."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar

import msgspec

from holdfast.chats.commands import DeliveryKey
from holdfast.core.clock import from_micros
from holdfast.core.errors import WrongState
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
from holdfast.core.shapes import Json, Record
from holdfast.core.text import clean_deep
from holdfast.core.usage import Usage
from holdfast.store.columns import Written, columns, listed, micros, moment, text
from holdfast.store.query import Query, Row, Rows, Statement, Value, at_most_one, each, joined, query
from holdfast.store.runs import run as run_query

T = TypeVar("T")

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
LENT = f"{_SELECT_CALLS} AND outcome = 'succeeded' AND kind <> 'workflow' {_IN_ORDER}"
LINES = f"SELECT {listed(LINE)} FROM run_lines WHERE run_id = $1 ORDER BY number"
LINES_SINCE = f"SELECT {listed(LINE)} FROM run_lines WHERE run_id = $1 AND revision > $2 ORDER BY number"
# A call that was lent names a chat of another run.
TERMS = (
    "SELECT a.terms FROM run_calls a JOIN chats c ON c.id = a.chat_id AND c.run_id = a.run_id "
    "WHERE a.chat_id = $1"
)
# The fence: who lost the lease, or whose run was cancelled, writes nothing.
MOVE = (
    "UPDATE runs SET version = version + 1, spent_tokens = $3, spent_usd_micros = $4 "
    "WHERE id = $1 AND lease_number = $2 AND status = 'running' RETURNING version"
)
END = (
    "UPDATE runs SET status = $3, result = $4, error = $5, finished_at = now_micros() "
    "WHERE id = $1 AND lease_number = $2 AND status = 'running'"
)
_REVISION = "(SELECT version FROM runs WHERE id = $1)"
_PUT_CALLS = (
    f"INSERT INTO run_calls ({listed(CALL)}, revision) VALUES %s "
    f"ON CONFLICT (run_id, scope, number) DO UPDATE SET {_MOVED}"
)
_PUT_LINES = (
    f"INSERT INTO run_lines ({listed(LINE)}, revision) VALUES %s ON CONFLICT (run_id, number) DO NOTHING"
)
_TAKE = "UPDATE deliveries SET taken = TRUE WHERE %s"
# Rows of one statement, so that there are few texts to prepare.
SIZES = (50, 10, 1)


class LeaseLost(WrongState):
    """The run is not this worker's any more, or was cancelled; nothing was written."""

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
    """What of a run changed after a version; `run` is as it is now."""

    run: Run | None
    calls: tuple[RunCall, ...]
    lines: tuple[RunLine, ...]


def record(run_id: RunId, lease_number: int, entries: Entries) -> Query[int]:
    """To be written: the run's new version. Raises LeaseLost."""
    entries = clean_deep(entries)
    own = (run_id, lease_number)
    statements: list[Statement] = [(MOVE, (*own, entries.spent_tokens, entries.spent_usd_micros))]
    statements += _put(_PUT_CALLS, [_call_row(run_id, call) for call in entries.calls])
    statements += _put(_PUT_LINES, [_line_row(run_id, line) for line in entries.lines])
    statements += _take(entries.taken)
    if (ending := entries.ending) is not None:
        ended = (ending.status, text(ending.result), text(ending.error))
        statements.append((END, (*own, *ended)))

    def read(results: Sequence[Rows]) -> int:
        if not results[0]:
            raise LeaseLost("The run has another owner, or was cancelled.")
        return results[0][0][0]

    return Query(tuple(statements), read)


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
    """The good answers of a run."""
    return query(LENT, run_id, read=each(call_of))


def lines(run_id: RunId) -> Query[tuple[RunLine, ...]]:
    return query(LINES, run_id, read=each(line_of))


def terms(chat_id: ChatId) -> Query[AgentTerms | None]:
    """What binds the agent that this chat is; None: nothing, or it is none."""
    return query(TERMS, chat_id, read=at_most_one(lambda row: None if row[0] is None else _terms(row[0])))


def _take(keys: Sequence[DeliveryKey]) -> Iterator[Statement]:
    for some in _portions(keys):
        which = " OR ".join(f"(child_id = ${n} AND turn = ${n + 1})" for n in range(1, 2 * len(some), 2))
        yield _TAKE % which, tuple(value for key in some for value in (key.child_id, key.turn))


def _portions(items: Sequence[T]) -> Iterator[Sequence[T]]:
    """Of few different sizes."""
    at = 0
    while at < len(items):
        size = next(size for size in SIZES if size <= len(items) - at)
        yield items[at : at + size]
        at += size


def _put(sql: str, rows: Sequence[Written]) -> Iterator[Statement]:
    """The first value of each row is the run's id."""
    for some in _portions(rows):
        values: list[Value] = [some[0][0]]
        for row in some:
            values += row[1:]
        yield _statement(sql, len(some), len(some[0]) - 1), tuple(values)


@cache
def _statement(sql: str, size: int, width: int) -> str:
    groups = [
        f"($1, {', '.join(f'${2 + n * width + m}' for m in range(width))}, {_REVISION})" for n in range(size)
    ]
    return sql % ", ".join(groups)


_decode = msgspec.json.Decoder().decode
_usage = msgspec.json.Decoder(Usage).decode
_failed = msgspec.json.Decoder(CallError).decode
_terms = msgspec.json.Decoder(AgentTerms).decode
_script = msgspec.json.Decoder(PinnedScript).decode


def _call_row(run_id: RunId, call: RunCall) -> Written:
    return (
        run_id,
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


def _line_row(run_id: RunId, line: RunLine) -> Written:
    return (run_id, line.number, line.scope, line.place, line.kind, micros(line.at), line.text)


def line_of(row: Row) -> RunLine:
    _, number, scope, place, kind, at, said = row
    return RunLine(number=number, scope=scope, place=place, kind=kind, at=from_micros(at), text=said)
