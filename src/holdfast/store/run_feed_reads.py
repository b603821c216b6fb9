"""Reads for watchers of a run: its current state, and pages of what a returning watcher has missed. The
answers of agents, which may be large, are not read. Versions increase with commits and every row has the
version that last wrote it, so a position (a version, and how far into it) says exactly what a watcher has."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from msgspec.structs import replace

from holdfast.core.ids import RunId, UserId
from holdfast.core.runs import Run, RunCall, RunDetails, RunLine
from holdfast.store.columns import listed, placeholders
from holdfast.store.journals import CALL, LINE, call_of, line_of
from holdfast.store.journals import lines as lines_query
from holdfast.store.query import Query, Row, at_most_one, constant, each, joined, query
from holdfast.store.runs import RUN, run_of
from holdfast.store.runs import run as run_query

# The order within a version: what ended, the lines logged then, what started. A reused call counts as
# started.
ENDED, SAID, BEGAN, EVERYTHING = range(4)

_ANSWERS = frozenset(("value", "terms", "script"))
_STAGE = f"CASE WHEN outcome IS NULL OR reused THEN {BEGAN} ELSE {ENDED} END"
# Whether the call's agent, or one of its sub-agents, waits for a person.
_ASKS = (
    "outcome IS NULL AND (EXISTS (SELECT 1 FROM chats c WHERE c.id = run_calls.chat_id "
    "AND c.status = 'requires_action') OR EXISTS (SELECT 1 FROM chats c WHERE c.root_id = run_calls.chat_id "
    "AND c.parent_id IS NOT NULL AND c.status = 'requires_action'))"
)
_CALLS = (
    f"SELECT {', '.join('NULL' if name in _ANSWERS else name for name in CALL)}, {_ASKS}, revision, {_STAGE} "
    "FROM run_calls WHERE run_id = $1 AND kind <> 'pause'"
)
CALLS = f"{_CALLS} ORDER BY scope, number"
# The first condition matches the index.
CALLS_AFTER = (
    f"{_CALLS} AND revision >= $2 AND (revision, {_STAGE}, scope, number) > ($2, $3, $4, $5) "
    f"ORDER BY revision, {_STAGE}, scope, number LIMIT $6"
)
LINES_AFTER = (
    f"SELECT {listed(LINE)}, revision FROM run_lines "
    f"WHERE run_id = $1 AND revision >= $2 AND (revision, {SAID}, 0, number) > ($2, $3, $4, $5) "
    "ORDER BY revision, number LIMIT $6"
)
_LARGE = {"args": "NULL", "script": "''", "result": "NULL"}
SHORT = f"SELECT {', '.join(_LARGE.get(name, name) for name in RUN)} FROM runs WHERE id = $1"
VERSIONS = "SELECT id, version FROM runs WHERE id IN (%s)"


class RunPlace(NamedTuple):
    """Everything of earlier versions and of this version's earlier stages; of this stage, up to (`scope`,
    `number`)."""

    version: int
    stage: int = EVERYTHING
    scope: int = 0
    number: int = 0


@dataclass(frozen=True, slots=True)
class RunPage:
    """Calls and lines after a position, in order, each with the position of a watcher that has seen it.
    `more`: there may be others. The run's arguments and result are included only if requested."""

    run: Run
    missed: tuple[tuple[RunPlace, RunCall | RunLine], ...]
    more: bool


def page(run_id: RunId, place: RunPlace, limit: int, *, whole: bool = False) -> Query[RunPage | None]:
    """None: there is no such run."""
    lines = query(LINES_AFTER, run_id, *place, limit, read=each(_line_at))
    calls = query(CALLS_AFTER, run_id, *place, limit, read=each(_call_at))

    def read(
        run: Run | None, said: Sequence[tuple[RunPlace, RunLine]], made: Sequence[tuple[RunPlace, RunCall]]
    ) -> RunPage | None:
        if run is None:
            return None
        # Where one list was cut, later entries of the others must wait, because missing ones may come before
        # them.
        ends = [rows[-1][0] for rows in (said, made) if len(rows) == limit]
        missed = sorted((*said, *made), key=lambda one: one[0])
        if ends:
            missed = [one for one in missed if one[0] <= min(ends)]
        return RunPage(run, tuple(missed), bool(ends))

    run = run_query(run_id) if whole else query(SHORT, run_id, read=at_most_one(run_of))
    return joined(run, lines, calls, read=read)


def shown(run_id: RunId, owner_id: UserId) -> Query[RunDetails | None]:
    """All of a run except its agents' answers and its pauses; None: no such run, or somebody else's."""

    def read(
        run: Run | None, calls: tuple[tuple[RunPlace, RunCall], ...], lines: tuple[RunLine, ...]
    ) -> RunDetails | None:
        return None if run is None else RunDetails(run=run, calls=tuple(one for _, one in calls), lines=lines)

    calls = query(CALLS, run_id, read=each(_call_at))
    return joined(run_query(run_id, owner_id), calls, lines_query(run_id), read=read)


def versions(run_ids: Sequence[RunId]) -> Query[dict[RunId, int]]:
    if not run_ids:
        return constant({})
    sql = VERSIONS % placeholders(len(run_ids))
    return query(sql, *run_ids, read=lambda rows: {row[0]: row[1] for row in rows})


def _call_at(row: Row) -> tuple[RunPlace, RunCall]:
    *_, asks, revision, stage = row
    call = call_of(row[:-3])
    if asks:
        call = replace(call, asks=True)
    return RunPlace(revision, stage, call.scope, call.number), call


def _line_at(row: Row) -> tuple[RunPlace, RunLine]:
    line = line_of(row[:-1])
    return RunPlace(row[-1], SAID, 0, line.number), line
