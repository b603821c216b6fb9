"""Runs of flows: started, found, taken by a worker, ended. Every write moves the run's version; a row carries
the version that last wrote it. Whoever ends a run writes its end and the ends of its open steps together."""

from collections.abc import Sequence
from typing import Any

import msgspec

from holdfast.core.clock import from_micros
from holdfast.core.errors import NotFound
from holdfast.core.events import RunHint
from holdfast.core.flow_runs import OVER, FlowDetails, FlowError, FlowLine, FlowRun, FlowStatus, FlowStep
from holdfast.core.ids import CallId, ChatId, FlowRunId, RunId, UserId, WorkerId, WorkspaceId
from holdfast.core.runs import AskedBy
from holdfast.core.shapes import encode_text
from holdfast.core.text import clean_deep
from holdfast.core.usage import Budget
from holdfast.store.columns import Written, columns, listed, micros, moment, placeholders, text
from holdfast.store.flow_rows import LINE, STEP, line_of, put_steps, step_of
from holdfast.store.query import Query, Row, Rows, Statement, Value, any_row, at_most_one, each, joined, query

RUN = columns(
    "id owner_id name status version created_at started_at finished_at lease_number workspace_id "
    "budget_tokens spent_tokens spent_usd_micros args_hash resumed_from chat_id call_id tools model effort "
    "reuse workspace_state final_state error args text definition result trace_parent"
)
LARGE = {"args": "NULL", "text": "''", "definition": "''", "result": "NULL"}
_OPEN = "('pending', 'running', 'waiting')"

SELECT = f"SELECT {listed(RUN)} FROM flow_runs"
SHORT = f"SELECT {', '.join(LARGE.get(name, name) for name in RUN)} FROM flow_runs"
ONE = f"{SELECT} WHERE id = $1"
# The owner, and whoever is named to answer one of its approvals.
SEEN_BY = (
    f"{SELECT} WHERE id = $1 AND (owner_id = $2 OR EXISTS "
    "(SELECT 1 FROM flow_approvers a WHERE a.run_id = $1 AND a.user_id = $2))"
)
OF_CALL = f"{SELECT} WHERE chat_id = $1 AND call_id = $2"
INSERT = f"INSERT INTO flow_runs ({listed(RUN)}) VALUES ({placeholders(len(RUN))}) ON CONFLICT DO NOTHING"
ALLOW = "INSERT INTO flow_approvers (run_id, step_id, user_id) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING"
MAY_ANSWER = "SELECT user_id FROM flow_approvers WHERE run_id = $1 AND step_id = $2"
LENDER = (
    "SELECT id, status FROM flow_runs WHERE owner_id = $1 AND name = $2 AND args_hash = $3 "
    "AND status IN ('succeeded', 'failed', 'timed_out', 'cancelled') "
    "AND coalesce(CAST(workspace_id AS text), '') = $4 ORDER BY id DESC LIMIT 1"
)
# Without a live lease: those that work, and those whose time has come.
_FREE = (
    "flow_runs r LEFT JOIN workers w ON w.id = r.lease_worker_id "
    f"WHERE r.status IN {_OPEN} AND (r.status <> 'waiting' OR r.wake_at <= now_micros()) "
    "AND (w.id IS NULL OR w.expires_at <= now_micros())"
)
ACQUIRE = (
    "UPDATE flow_runs SET lease_worker_id = $1, lease_number = lease_number + 1, version = version + 1, "
    "status = 'running', wake_at = NULL, started_at = coalesce(started_at, now_micros()) WHERE id IN "
    f"(SELECT r.id FROM {_FREE} ORDER BY r.id LIMIT $2) "
    "AND EXISTS (SELECT 1 FROM workers me WHERE me.id = $1 AND me.expires_at > now_micros())"
)
WANTED = f"SELECT 1 FROM {_FREE} LIMIT 1"
_HELD = f"lease_worker_id = $1 AND status = 'running' AND status IN {_OPEN}"
HELD = f"{SELECT} WHERE {_HELD} ORDER BY id"
STANDING = f"SELECT id, version FROM flow_runs WHERE {_HELD}"
RELEASE = (
    "UPDATE flow_runs SET lease_worker_id = NULL, version = version + 1 "
    f"WHERE lease_worker_id = $1 AND status IN {_OPEN} RETURNING id, owner_id, version"
)
CANCEL = (
    "UPDATE flow_runs SET status = 'cancelled', version = version + 1, finished_at = now_micros(), "
    f"wake_at = NULL WHERE id = $1 AND status IN {_OPEN}"
)
CANCEL_STEPS = (
    "UPDATE flow_steps SET state = 'cancelled', reason = 'cancelled', finished_at = now_micros(), "
    "deadline_at = NULL, revision = (SELECT version FROM flow_runs WHERE id = $1) WHERE run_id = $1 "
    "AND state IN ('pending', 'ready', 'running', 'waiting') "
    "AND EXISTS (SELECT 1 FROM flow_runs r WHERE r.id = $1 AND r.status = 'cancelled')"
)
# Runs that nobody wants any more: the call that waits for them is over, or its chat is being interrupted or
# is gone; or their owner may do nothing.
UNWANTED = (
    "SELECT r.id FROM flow_runs r LEFT JOIN chats c ON c.id = r.chat_id "
    "LEFT JOIN calls a ON a.chat_id = r.chat_id AND a.call_id = r.call_id "
    "LEFT JOIN users u ON u.id = r.owner_id "
    f"WHERE r.status IN {_OPEN} AND (u.suspended_at IS NOT NULL OR (r.chat_id IS NOT NULL "
    "AND (c.id IS NULL OR a.call_id IS NULL OR c.status = 'interrupting' OR a.abandoned "
    "OR a.state IN ('finished', 'answered')))) LIMIT $1"
)
# Agents that outlived their run.
LEFT_OVER = (
    "SELECT c.id FROM chats c JOIN chats top ON top.id = c.root_id JOIN flow_runs r ON r.id = top.run_id "
    "WHERE c.status IN ('running', 'requires_action') AND c.status <> 'idle' "
    f"AND r.status NOT IN {_OPEN} LIMIT $1"
)
# Agents that work for a run although no step of it is theirs, and whoever is below them.
STRAYED = (
    "SELECT c.id FROM chats top JOIN chats c ON c.id = top.id "
    "OR (c.root_id = top.id AND c.parent_id IS NOT NULL) "
    "WHERE top.run_id = $1 AND c.status IN ('running', 'requires_action') AND NOT EXISTS "
    "(SELECT 1 FROM flow_steps s WHERE s.run_id = $1 AND s.chat_id = top.id AND s.state = 'running')"
)
STRAYED_RUNS = (
    "SELECT r.id FROM flow_steps s JOIN runs r ON r.id = s.workflow_run_id WHERE s.run_id = $1 "
    "AND s.state <> 'running' AND r.status IN ('pending', 'running')"
)
# Output tokens and money of all agents of a run with those below them, and of its workflows.
SPENT = """
WITH RECURSIVE below (id) AS (
    SELECT id FROM chats WHERE run_id = $1
    UNION ALL SELECT c.id FROM below b JOIN chats c ON c.parent_id = b.id
)
SELECT coalesce(CAST(sum(json_int(c.usage, 'output')) AS bigint), 0),
    coalesce(CAST(sum(c.spent_usd_micros) AS bigint), 0)
FROM below b JOIN chats c ON c.id = b.id
"""
SPENT_BY_WORKFLOWS = (
    "SELECT coalesce(CAST(sum(r.spent_tokens) AS bigint), 0), "
    "coalesce(CAST(sum(r.spent_usd_micros) AS bigint), 0) "
    "FROM flow_steps s JOIN runs r ON r.id = s.workflow_run_id WHERE s.run_id = $1 AND NOT s.reused"
)
LEAVE = "UPDATE flow_runs SET final_state = $2 WHERE id = $1"
STEPS = f"SELECT {listed(STEP)} FROM flow_steps WHERE run_id = $1 ORDER BY position"
LINES = f"SELECT {listed(LINE)} FROM flow_lines WHERE run_id = $1 ORDER BY number"

_error = msgspec.json.Decoder(FlowError).decode
_json = msgspec.json.Decoder().decode


def run(run_id: FlowRunId, seen_by: UserId | None = None) -> Query[FlowRun | None]:
    """None: no such run, or one that this user may not see (if one is named)."""
    if seen_by is None:
        return query(ONE, run_id, read=at_most_one(run_of))
    return query(SEEN_BY, run_id, seen_by, read=at_most_one(run_of))


def steps(run_id: FlowRunId) -> Query[tuple[FlowStep, ...]]:
    return query(STEPS, run_id, read=each(step_of))


def lines(run_id: FlowRunId) -> Query[tuple[FlowLine, ...]]:
    return query(LINES, run_id, read=each(line_of))


def details(run_id: FlowRunId, seen_by: UserId | None = None) -> Query[FlowDetails | None]:
    def read(
        found: FlowRun | None, rows: tuple[FlowStep, ...], said: tuple[FlowLine, ...]
    ) -> FlowDetails | None:
        return None if found is None else FlowDetails(run=found, steps=rows, lines=said)

    return joined(run(run_id, seen_by), steps(run_id), lines(run_id), read=read)


def of_call(chat_id: ChatId, call_id: CallId) -> Query[FlowRun | None]:
    return query(OF_CALL, chat_id, call_id, read=at_most_one(run_of))


def page(
    owner_id: UserId,
    *,
    name: str | None = None,
    status: FlowStatus | None = None,
    before: FlowRunId | None = None,
    limit: int = 50,
) -> Query[tuple[FlowRun, ...]]:
    """The newest first, without what is large."""
    conditions, args = ["owner_id = $1"], list[Value]([owner_id])
    for column, comparison, value in (("name", "=", name), ("status", "=", status), ("id", "<", before)):
        if value is not None:
            args.append(value)
            conditions.append(f"{column} {comparison} ${len(args)}")
    args.append(limit)
    sql = f"{SHORT} WHERE {' AND '.join(conditions)} ORDER BY id DESC LIMIT ${len(args)}"
    return query(sql, *args, read=each(run_of))


def create(
    new: FlowRun, rows: Sequence[FlowStep], approvers: Sequence[tuple[str, UserId]] = ()
) -> Query[FlowRun]:
    """The run of this id, or the one that the same call has started before."""
    new = clean_deep(new)
    asked = new.asked_by
    by_call: tuple[Value, Value] = (None, None) if asked is None else (asked.chat_id, asked.call_id)
    statements: list[Statement] = [
        (INSERT, _written(new)),
        (ONE, (new.id,)),
        (OF_CALL, by_call),
        put_steps(new.id, clean_deep(tuple(rows))),
        *((ALLOW, (new.id, step_id, user_id)) for step_id, user_id in approvers),
    ]

    def read(results: Sequence[Rows]) -> FlowRun:
        found = [*results[1], *results[2]]
        if not found:
            raise NotFound("There is no such run.")
        return run_of(found[0])

    return Query(tuple(statements), read, hints=lambda results: [hint(read(results))])


def approvers(run_id: FlowRunId, step_id: str) -> Query[frozenset[UserId]]:
    """The users who are named to answer. If there are none, the user who started the run answers."""
    return query(MAY_ANSWER, run_id, step_id, read=lambda rows: frozenset(row[0] for row in rows))


def lender(
    owner_id: UserId, name: str, args_hash: str, workspace_id: WorkspaceId | None
) -> Query[tuple[FlowRunId, FlowStatus] | None]:
    place = workspace_id or ""
    return query(LENDER, owner_id, name, args_hash, place, read=at_most_one(lambda row: (row[0], row[1])))


def leave(run_id: FlowRunId, state: str | None) -> Query[None]:
    """To be written: what the workspace is like at the end of the run."""
    return query(LEAVE, run_id, state, read=lambda _: None)


def wanted() -> Query[bool]:
    """Whether there is any run that a worker could take."""
    return Query(((WANTED, ()),), lambda results: any_row(results[0]), judges_leases=True)


def acquire(worker_id: WorkerId, limit: int) -> Query[tuple[FlowRun, ...]]:
    """A write. Returns all runs that the worker now holds, so that none is lost if the write is repeated."""

    def read(results: Sequence[Rows]) -> tuple[FlowRun, ...]:
        return each(run_of)(results[1])

    return Query(
        ((ACQUIRE, (worker_id, limit)), (HELD, (worker_id,))),
        read,
        judges_leases=True,
        hints=lambda results: [hint(run) for run in read(results)],
    )


def release(worker_id: WorkerId) -> Query[None]:
    """A write. Frees all runs that the worker still holds, and tells other workers."""
    return Query(((RELEASE, (worker_id,)),), lambda _: None, hints=lambda results: each(_free)(results[0]))


def standing(worker_id: WorkerId) -> Query[dict[FlowRunId, int]]:
    """The versions of the runs that are this worker's."""
    return query(STANDING, worker_id, read=lambda rows: {row[0]: row[1] for row in rows})


def cancel(run_id: FlowRunId) -> Query[FlowRun]:
    """A write. A run that has ended stays as it is. Raises NotFound."""

    def read(results: Sequence[Rows]) -> FlowRun:
        if not results[2]:
            raise NotFound("There is no such run.")
        return run_of(results[2][0])

    statements = ((CANCEL, (run_id,)), (CANCEL_STEPS, (run_id,)), (ONE, (run_id,)))
    return Query(statements, read, hints=lambda results: [hint(read(results))])


def unwanted(limit: int) -> Query[tuple[FlowRunId, ...]]:
    return query(UNWANTED, limit, read=each(lambda row: row[0]))


def left_over(limit: int) -> Query[tuple[ChatId, ...]]:
    """Agents that still work although their run is over."""
    return query(LEFT_OVER, limit, read=each(lambda row: row[0]))


def strayed(run_id: FlowRunId) -> Query[tuple[tuple[ChatId, ...], tuple[RunId, ...]]]:
    """Agents and workflows that still work although no running step is theirs."""
    return joined(
        query(STRAYED, run_id, read=each(lambda row: ChatId(row[0]))),
        query(STRAYED_RUNS, run_id, read=each(lambda row: RunId(row[0]))),
        read=lambda chats, runs: (chats, runs),
    )


def spent(run_id: FlowRunId) -> Query[tuple[int, int]]:
    """Output tokens and money, of all agents and workflows of the run."""
    return joined(
        query(SPENT, run_id, read=lambda rows: (rows[0][0], rows[0][1])),
        query(SPENT_BY_WORKFLOWS, run_id, read=lambda rows: (rows[0][0], rows[0][1])),
        read=lambda agents, workflows: (agents[0] + workflows[0], agents[1] + workflows[1]),
    )


def _written(run: FlowRun) -> Written:
    asked, budget = run.asked_by, run.budget
    return (
        run.id,
        run.owner_id,
        run.name,
        run.status,
        run.version,
        micros(run.created_at),
        micros(run.started_at),
        micros(run.finished_at),
        run.lease_number,
        run.workspace_id,
        budget.tokens,
        budget.spent_tokens,
        budget.spent_usd_micros,
        run.args_hash,
        run.resumed_from,
        None if asked is None else asked.chat_id,
        None if asked is None else asked.call_id,
        encode_text(run.tools),
        run.model,
        run.effort,
        run.reuse,
        run.workspace_state,
        run.final_state,
        text(run.error),
        None if run.args is msgspec.UNSET else encode_text(run.args),
        run.text,
        run.definition,
        text(run.result),
        run.trace_parent,
    )


def hint(run: FlowRun) -> RunHint:
    return RunHint(
        run_id=RunId(run.id),
        owner_id=run.owner_id,
        version=run.version,
        wanted=run.status == "pending",
        over=run.status in OVER,
    )


def _free(row: Row) -> RunHint:
    return RunHint(run_id=row[0], owner_id=row[1], version=row[2], wanted=True)


def run_of(row: Row) -> FlowRun:
    fields: dict[str, Any] = dict(zip(RUN, row, strict=True))
    chat_id, call_id, args, error = (fields.pop(name) for name in ("chat_id", "call_id", "args", "error"))
    fields["budget"] = Budget(
        tokens=fields.pop("budget_tokens"),
        spent_tokens=fields.pop("spent_tokens"),
        spent_usd_micros=fields.pop("spent_usd_micros"),
    )
    fields["asked_by"] = None if chat_id is None else AskedBy(chat_id=chat_id, call_id=call_id)
    fields["args"] = msgspec.UNSET if args is None else _json(args)
    fields["error"] = None if error is None else _error(error)
    fields["tools"] = _json(fields["tools"])
    fields["result"] = None if fields["result"] is None else _json(fields["result"])
    fields["created_at"] = from_micros(fields["created_at"])
    for name in ("started_at", "finished_at"):
        fields[name] = moment(fields[name])
    return FlowRun(**fields)
