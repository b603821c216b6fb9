"""What the watchers of a flow run read: the run as it is, and a page of what one that was there before has
missed. Versions rise with commits and every row has the version that last wrote it, so a place (a version,
and how far in it) says exactly what somebody holds."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from msgspec.structs import replace

from holdfast.core.flow_runs import FlowDetails, FlowLine, FlowRun, FlowStep
from holdfast.core.ids import FlowRunId, UserId
from holdfast.store.columns import listed, placeholders
from holdfast.store.flow_rows import LINE, STEP, line_of, step_of
from holdfast.store.flow_runs import lines as lines_query
from holdfast.store.flow_runs import run as run_query
from holdfast.store.query import Query, Row, constant, each, joined, query

# In which order a version is told.
SAID, MOVED, EVERYTHING = range(3)

# Whether somebody of the step waits for a person: its agent, or a sub-agent.
_ASKS = (
    "state = 'running' AND (EXISTS (SELECT 1 FROM chats c WHERE c.id = flow_steps.chat_id "
    "AND c.status = 'requires_action') OR EXISTS (SELECT 1 FROM chats c WHERE c.root_id = flow_steps.chat_id "
    "AND c.parent_id IS NOT NULL AND c.status = 'requires_action'))"
)
_STEPS = f"SELECT {listed(STEP)}, {_ASKS}, revision FROM flow_steps WHERE run_id = $1"
STEPS = f"{_STEPS} ORDER BY position"
STEPS_AFTER = (
    f"{_STEPS} AND revision >= $2 AND (revision, {MOVED}, position) > ($2, $3, $4) "
    "ORDER BY revision, position LIMIT $5"
)
LINES_AFTER = (
    f"SELECT {listed(LINE)}, revision FROM flow_lines WHERE run_id = $1 AND revision >= $2 "
    f"AND (revision, {SAID}, number) > ($2, $3, $4) ORDER BY revision, number LIMIT $5"
)
VERSIONS = "SELECT id, version FROM flow_runs WHERE id IN (%s)"


class FlowPlace(NamedTuple):
    """Everything of earlier versions, and of this one's earlier stages; of this stage, up to `number`."""

    version: int
    stage: int = EVERYTHING
    number: int = 0


@dataclass(frozen=True, slots=True)
class FlowPage:
    """Steps and lines after a place in their order, each with the place of who has seen it. `more`: there may
    be others."""

    run: FlowRun
    missed: tuple[tuple[FlowPlace, FlowStep | FlowLine], ...]
    more: bool


def page(run_id: FlowRunId, place: FlowPlace, limit: int) -> Query[FlowPage | None]:
    """None: there is no such run."""

    def read(
        run: FlowRun | None,
        said: Sequence[tuple[FlowPlace, FlowLine]],
        moved: Sequence[tuple[FlowPlace, FlowStep]],
    ) -> FlowPage | None:
        if run is None:
            return None
        # What comes after the end of a list that was cut may have something before it.
        ends = [rows[-1][0] for rows in (said, moved) if len(rows) == limit]
        missed = sorted((*said, *moved), key=lambda one: one[0])
        if ends:
            missed = [one for one in missed if one[0] <= min(ends)]
        return FlowPage(run, tuple(missed), bool(ends))

    lines = query(LINES_AFTER, run_id, *place, limit, read=each(_line_at))
    steps = query(STEPS_AFTER, run_id, *place, limit, read=each(_step_at))
    return joined(run_query(run_id), lines, steps, read=read)


def shown(run_id: FlowRunId, seen_by: UserId) -> Query[FlowDetails | None]:
    """All of a run; None: no such run, or one that this user may not see."""

    def read(
        run: FlowRun | None, steps: tuple[tuple[FlowPlace, FlowStep], ...], lines: tuple[FlowLine, ...]
    ) -> FlowDetails | None:
        if run is None:
            return None
        return FlowDetails(run=run, steps=tuple(one for _, one in steps), lines=lines)

    steps = query(STEPS, run_id, read=each(_step_at))
    return joined(run_query(run_id, seen_by), steps, lines_query(run_id), read=read)


def versions(run_ids: Sequence[FlowRunId]) -> Query[dict[FlowRunId, int]]:
    if not run_ids:
        return constant({})
    sql = VERSIONS % placeholders(len(run_ids))
    return query(sql, *run_ids, read=lambda rows: {row[0]: row[1] for row in rows})


def _step_at(row: Row) -> tuple[FlowPlace, FlowStep]:
    *_, asks, revision = row
    step = step_of(row[:-2])
    return FlowPlace(revision, MOVED, step.position), replace(step, asks=True) if asks else step


def _line_at(row: Row) -> tuple[FlowPlace, FlowLine]:
    line = line_of(row[:-1])
    return FlowPlace(row[-1], SAID, line.number), line
