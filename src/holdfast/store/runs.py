"""Runs: started, found, acquired by a worker, ended. The end of a run is written together with the ends of
its open calls; a run that is over never changes again."""

from collections.abc import Sequence
from typing import Any

import msgspec

from holdfast.core.clock import from_micros
from holdfast.core.errors import NotFound
from holdfast.core.events import RunHint
from holdfast.core.ids import CallId, ChatId, RunId, UserId, WorkerId, WorkspaceId
from holdfast.core.runs import OVER, AskedBy, Run, RunError, RunPhase, RunStatus
from holdfast.core.shapes import encode_text
from holdfast.core.text import clean_deep
from holdfast.core.usage import Budget
from holdfast.store.columns import Written, columns, listed, micros, moment, placeholders, text
from holdfast.store.query import Query, Row, Rows, Value, any_row, at_most_one, each, query

RUN = columns(
    "id owner_id name language status version created_at started_at finished_at lease_number workspace_id "
    "model effort max_concurrency budget_tokens spent_tokens spent_usd_micros args_hash resumed_from chat_id "
    "call_id tools phases error args script result reuse workspace_state final_state trace_parent"
)
_LARGE = {"args": "NULL", "script": "''", "result": "NULL"}

_SELECT = f"SELECT {listed(RUN)} FROM runs"
_SHORT = f"SELECT {', '.join(_LARGE.get(name, name) for name in RUN)} FROM runs"
ONE = f"{_SELECT} WHERE id = $1"
OWNED = f"{_SELECT} WHERE id = $1 AND owner_id = $2"
OF_CALL = f"{_SELECT} WHERE chat_id = $1 AND call_id = $2"
INSERT = f"INSERT INTO runs ({listed(RUN)}) VALUES ({placeholders(len(RUN))}) ON CONFLICT DO NOTHING"
LENDER = (
    "SELECT id, status FROM runs WHERE owner_id = $1 AND name = $2 AND args_hash = $3 "
    "AND status IN ('succeeded', 'failed', 'cancelled') AND coalesce(CAST(workspace_id AS text), '') = $4 "
    "ORDER BY id DESC LIMIT 1"
)
# Those without a live lease, oldest first; they become running.
ACQUIRE = (
    "UPDATE runs SET lease_worker_id = $1, lease_number = lease_number + 1, version = version + 1, "
    "status = 'running', started_at = coalesce(started_at, now_micros()) WHERE id IN "
    "(SELECT r.id FROM runs r LEFT JOIN workers w ON w.id = r.lease_worker_id "
    "WHERE r.status IN ('pending', 'running') AND (w.id IS NULL OR w.expires_at <= now_micros()) "
    "ORDER BY r.id LIMIT $2) "
    "AND EXISTS (SELECT 1 FROM workers me WHERE me.id = $1 AND me.expires_at > now_micros())"
)
# The second condition matches the index.
_HELD = "lease_worker_id = $1 AND status = 'running' AND status IN ('pending', 'running')"
HELD = f"{_SELECT} WHERE {_HELD} ORDER BY id"
STANDING = f"SELECT id, version FROM runs WHERE {_HELD}"
LEAVE = "UPDATE runs SET final_state = $2 WHERE id = $1"
CANCEL = (
    "UPDATE runs SET status = 'cancelled', version = version + 1, finished_at = now_micros() "
    "WHERE id = $1 AND status IN ('pending', 'running')"
)
CANCEL_CALLS = (
    "UPDATE run_calls SET outcome = 'cancelled', finished_at = now_micros(), "
    "revision = (SELECT version FROM runs WHERE id = $1) WHERE run_id = $1 AND outcome IS NULL "
    "AND EXISTS (SELECT 1 FROM runs r WHERE r.id = $1 AND r.status = 'cancelled')"
)
# Runs that nobody needs any more: the call that waits for them is over, its chat is being interrupted or
# deleted, or their owner is suspended.
UNWANTED = (
    "SELECT r.id FROM runs r LEFT JOIN chats c ON c.id = r.chat_id "
    "LEFT JOIN calls a ON a.chat_id = r.chat_id AND a.call_id = r.call_id "
    "LEFT JOIN users u ON u.id = r.owner_id "
    "WHERE r.status IN ('pending', 'running') AND (u.suspended_at IS NOT NULL OR (r.chat_id IS NOT NULL "
    "AND (c.id IS NULL OR (r.call_id IS NOT NULL AND (a.call_id IS NULL OR c.status = 'interrupting' "
    "OR a.abandoned OR a.state IN ('finished', 'answered')))))) LIMIT $1"
)
# Runs that people asked for in a chat and of which that chat has not been told all.
UNTOLD = (
    f"{_SELECT} WHERE chat_id IS NOT NULL AND call_id IS NULL AND told < 2 "
    "AND (told = 0 OR status NOT IN ('pending', 'running')) ORDER BY id LIMIT $1"
)
TOLD = "UPDATE runs SET told = $2 WHERE id = $1 AND told < $2"
# Agents that outlived their run.
LEFT_OVER = (
    "SELECT c.id FROM chats c JOIN chats top ON top.id = c.root_id JOIN runs r ON r.id = top.run_id "
    "WHERE c.status IN ('running', 'requires_action') AND c.status <> 'idle' "
    "AND r.status NOT IN ('pending', 'running') LIMIT $1"
)
BUSY_AGENTS = (
    "SELECT c.id FROM chats top JOIN chats c ON c.id = top.id "
    "OR (c.root_id = top.id AND c.parent_id IS NOT NULL) "
    "WHERE top.run_id = $1 AND c.status IN ('running', 'requires_action')"
)
WANTED = (
    "SELECT 1 FROM runs r LEFT JOIN workers w ON w.id = r.lease_worker_id "
    "WHERE r.status IN ('pending', 'running') AND (w.id IS NULL OR w.expires_at <= now_micros()) LIMIT 1"
)
RELEASE = (
    "UPDATE runs SET lease_worker_id = NULL, version = version + 1 "
    "WHERE lease_worker_id = $1 AND status IN ('pending', 'running') RETURNING id, owner_id, version"
)

_phases = msgspec.json.Decoder(tuple[RunPhase, ...]).decode
_error = msgspec.json.Decoder(RunError).decode
_json = msgspec.json.Decoder().decode


def run(run_id: RunId, owner_id: UserId | None = None) -> Query[Run | None]:
    """None: no such run, or (if an owner is given) somebody else's."""
    if owner_id is None:
        return query(ONE, run_id, read=at_most_one(run_of))
    return query(OWNED, run_id, owner_id, read=at_most_one(run_of))


def of_call(chat_id: ChatId, call_id: CallId) -> Query[Run | None]:
    return query(OF_CALL, chat_id, call_id, read=at_most_one(run_of))


def page(
    owner_id: UserId,
    *,
    name: str | None = None,
    status: RunStatus | None = None,
    before: RunId | None = None,
    limit: int = 50,
) -> Query[tuple[Run, ...]]:
    """Newest first, without arguments, script and result."""
    conditions, args = ["owner_id = $1"], list[Value]([owner_id])
    for column, comparison, value in (("name", "=", name), ("status", "=", status), ("id", "<", before)):
        if value is not None:
            args.append(value)
            conditions.append(f"{column} {comparison} ${len(args)}")
    args.append(limit)
    sql = f"{_SHORT} WHERE {' AND '.join(conditions)} ORDER BY id DESC LIMIT ${len(args)}"
    return query(sql, *args, read=each(run_of))


def create(new: Run) -> Query[Run]:
    """The run with this id, or the one that the same call started before."""
    new = clean_deep(new)

    def read(results: Sequence[Rows]) -> Run:
        found = [*results[1], *results[2]]
        if not found:
            raise NotFound("There is no such run.")
        return run_of(found[0])

    asked = new.asked_by
    by_call: tuple[Value, Value] = (None, None) if asked is None else (asked.chat_id, asked.call_id)
    statements = ((INSERT, _written(new)), (ONE, (new.id,)), (OF_CALL, by_call))
    return Query(statements, read, hints=lambda results: [_hint(read(results))])


def lender(
    owner_id: UserId, name: str, args_hash: str, workspace_id: WorkspaceId | None
) -> Query[tuple[RunId, RunStatus] | None]:
    """The newest finished run of the same workflow with the same arguments, in the same place; and how it
    ended."""
    place = workspace_id or ""
    return query(LENDER, owner_id, name, args_hash, place, read=at_most_one(lambda row: (row[0], row[1])))


def leave(run_id: RunId, state: str | None) -> Query[None]:
    """A write: the state of the workspace at the end of the run."""
    return query(LEAVE, run_id, state, read=lambda _: None)


def wanted() -> Query[bool]:
    """Whether there is a run that nobody works on."""
    return Query(((WANTED, ()),), lambda results: any_row(results[0]), judges_leases=True)


def acquire(worker_id: WorkerId, limit: int) -> Query[tuple[Run, ...]]:
    """A write. Returns all runs that belong to this worker afterwards, so that a repeated write loses
    none."""

    def read(results: Sequence[Rows]) -> tuple[Run, ...]:
        return each(run_of)(results[1])

    return Query(
        ((ACQUIRE, (worker_id, limit)), (HELD, (worker_id,))),
        read,
        judges_leases=True,
        hints=lambda results: [_hint(run) for run in read(results)],
    )


def release(worker_id: WorkerId) -> Query[None]:
    """A write. Everything the worker still owns is free at once, and others are told."""
    return Query(((RELEASE, (worker_id,)),), lambda _: None, hints=lambda results: each(_free)(results[0]))


def standing(worker_id: WorkerId) -> Query[dict[RunId, int]]:
    """The versions of the runs that are this worker's."""
    return query(STANDING, worker_id, read=lambda rows: {row[0]: row[1] for row in rows})


def cancel(run_id: RunId, owner_id: UserId | None = None) -> Query[Run]:
    """A write. A finished run stays as it is. Raises NotFound."""

    def read(results: Sequence[Rows]) -> Run:
        found = [run_of(row) for row in results[2]]
        if not found or (owner_id is not None and found[0].owner_id != owner_id):
            raise NotFound("There is no such run.")
        return found[0]

    statements = ((CANCEL, (run_id,)), (CANCEL_CALLS, (run_id,)), (ONE, (run_id,)))
    return Query(statements, read, hints=lambda results: [_hint(read(results))])


def unwanted(limit: int) -> Query[tuple[RunId, ...]]:
    return query(UNWANTED, limit, read=each(lambda row: row[0]))


def untold(limit: int) -> Query[tuple[Run, ...]]:
    return query(UNTOLD, limit, read=each(run_of))


def told(run_id: RunId, *, end: bool) -> Query[None]:
    """To be written: the chat has heard that it began, or how it ended."""
    return query(TOLD, run_id, 2 if end else 1, read=lambda _: None)


def left_over(limit: int) -> Query[tuple[ChatId, ...]]:
    """Agents that still work although their run is over."""
    return query(LEFT_OVER, limit, read=each(lambda row: row[0]))


def busy_agents(run_id: RunId) -> Query[tuple[ChatId, ...]]:
    """Working agents of the run, and their sub-agents."""
    return query(BUSY_AGENTS, run_id, read=each(lambda row: row[0]))


def _written(run: Run) -> Written:
    asked, budget = run.asked_by, run.budget
    return (
        run.id,
        run.owner_id,
        run.name,
        run.language,
        run.status,
        run.version,
        micros(run.created_at),
        micros(run.started_at),
        micros(run.finished_at),
        run.lease_number,
        run.workspace_id,
        run.model,
        run.effort,
        run.max_concurrency,
        budget.tokens,
        budget.spent_tokens,
        budget.spent_usd_micros,
        run.args_hash,
        run.resumed_from,
        None if asked is None else asked.chat_id,
        None if asked is None else asked.call_id,
        encode_text(run.tools),
        encode_text(run.phases),
        text(run.error),
        None if run.args is msgspec.UNSET else encode_text(run.args),
        run.script,
        text(run.result),
        run.reuse,
        run.workspace_state,
        run.final_state,
        run.trace_parent,
    )


def _hint(run: Run) -> RunHint:
    return RunHint(
        run_id=run.id,
        owner_id=run.owner_id,
        version=run.version,
        wanted=run.status == "pending",
        over=run.status in OVER,
    )


def _free(row: Row) -> RunHint:
    return RunHint(run_id=row[0], owner_id=row[1], version=row[2], wanted=True)


def run_of(row: Row) -> Run:
    """By name rather than by position, because the row is long."""
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
    fields["phases"] = _phases(fields["phases"])
    fields["result"] = None if fields["result"] is None else _json(fields["result"])
    fields["created_at"] = from_micros(fields["created_at"])
    for name in ("started_at", "finished_at"):
        fields[name] = moment(fields[name])
    return Run(**fields)
