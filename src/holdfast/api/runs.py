"""Workflow runs: start, list, read, cancel. What happens in a run is reported by its feed (`feeds`)."""

from typing import Annotated

from litestar import Response, Router, get, post
from litestar.params import FromQuery, JSONBody, QueryParameter
from msgspec import UNSET, Meta, UnsetType
from msgspec.structs import replace

from holdfast.accounts.access import Caller
from holdfast.api.bodies import JsonRequest
from holdfast.api.checks import BudgetIn, Effort, ModelName, check_model, find_workspace
from holdfast.api.commands import write
from holdfast.api.pages import Cursor, Limit, Page
from holdfast.api.problems import Problem, invalid, not_found
from holdfast.api.services import By, InPath, Services, With, needs, own_chat
from holdfast.api.trace_parents import trace_parent_of
from holdfast.core.errors import NotFound
from holdfast.core.ids import RunId, is_uuid7
from holdfast.core.run_shapes import RunListed, RunShown, run_listed, run_shown
from holdfast.core.runs import AskedBy, Language, Run, RunCall, RunDetails, RunLine, RunStatus
from holdfast.core.shapes import Border, Json
from holdfast.scripts.meta import MAX_BUDGET
from holdfast.scripts.runs.run_start import RunRequest
from holdfast.store import budgets, journals, run_feed_reads, runs, settings_rules
from holdfast.store.query import Query, joined

Tokens = Annotated[int, Meta(ge=1, le=MAX_BUDGET)]


class StartRun(Border, frozen=True, kw_only=True):
    """A workflow by its name, or a script. With only `resume_from`: that run again, unchanged."""

    name: Annotated[str, Meta(min_length=1, max_length=1000)] | None = None
    script: Annotated[str, Meta(max_length=1024 * 1024)] | None = None
    language: Language | None = None
    args: Json | UnsetType = UNSET
    # Output tokens of the script and all its agents: a number, or `{"tokens": a number}`.
    budget: Tokens | BudgetIn | None = None
    model: ModelName | None = None
    effort: Effort | None = None
    max_concurrency: Annotated[int, Meta(ge=1, le=10_000)] | None = None
    workspace_id: Annotated[str, Meta(max_length=36)] | None = None
    # The run whose finished calls are reused; if omitted, the newest of the same workflow and arguments if it
    # failed or was cancelled.
    resume_from: Annotated[str, Meta(max_length=36)] | None = None
    # The chat it is asked for in: its start and its end become notices there, its model sees the result. Its
    # workspace, model and tools count where none are named here.
    chat_id: Annotated[str, Meta(max_length=36)] | None = None
    # Nothing is reused.
    fresh: bool = False
    # Calls of the newest run are reused even if it succeeded.
    reuse: bool = False


@post("/workflow-runs", guards=[needs("chats:write")], status_code=202)
async def start_run(
    request: JsonRequest, data: JSONBody[StartRun], services: With, caller: By
) -> Response[RunShown]:
    """Start a workflow. Finished calls of the newest run of the same workflow with the same arguments are
    reused if it failed or was cancelled, or with `reuse`; never with `fresh`."""
    wanted = await _in_chat(services, caller, data, await _wanted(services, caller, data))
    try:
        run = await services.runs.draft(wanted)
    except NotFound as error:
        raise invalid("name", error.text) from None
    run = replace(run, trace_parent=trace_parent_of(services, request))
    return await write(services, caller, request, runs.create(run), answer=lambda made: (202, _begun(made)))


@get("/workflow-runs", guards=[needs("chats:read")])
async def list_runs(
    services: With,
    caller: By,
    limit: Limit = 50,
    cursor: Cursor = None,
    name: Annotated[
        str | None, QueryParameter(max_length=1000, description="Only runs of this workflow.")
    ] = None,
    status: FromQuery[RunStatus | None] = None,
) -> Page[RunListed]:
    """The caller's runs, newest first, without their large fields."""
    if cursor is not None and not is_uuid7(cursor):
        raise invalid("cursor", "not a cursor of this list")
    before = None if cursor is None else RunId(cursor)
    found = await services.store.read(
        runs.page(caller.user.id, name=name, status=status, before=before, limit=limit + 1)
    )
    return Page(
        items=tuple(run_listed(run) for run in found[:limit]),
        next_cursor=found[limit - 1].id if len(found) > limit else None,
    )


@get("/workflow-runs/{run_id:str}", guards=[needs("chats:read")])
async def read_run(run_id: InPath, services: With, caller: By) -> RunShown:
    """A run with everything that belongs to it."""
    wanted, owner = RunId(run_id), caller.user.id
    found = await services.store.read(run_feed_reads.shown(wanted, owner)) if is_uuid7(wanted) else None
    if found is None:
        raise not_found("run")
    return run_shown(found)


@post("/workflow-runs/{run_id:str}/cancel", guards=[needs("chats:write")], status_code=202)
async def cancel_run(request: JsonRequest, run_id: InPath, services: With, caller: By) -> Response[RunShown]:
    """Cancel a run with all its agents. A finished run stays as it is."""
    run = await own_run(services, caller, run_id)
    answer = await write(
        services, caller, request, _cancelled(run), answer=lambda done: (202, run_shown(done))
    )
    await services.runs.call_off(run.id)
    return answer


async def own_run(services: Services, caller: Caller, run_id: str) -> Run:
    """The run, if it is the caller's."""
    found = await _found(services, caller, run_id)
    if found is None:
        raise not_found("run")
    return found


async def _found(services: Services, caller: Caller, run_id: str) -> Run | None:
    wanted = RunId(run_id)
    return await services.store.read(runs.run(wanted, caller.user.id)) if is_uuid7(wanted) else None


async def _wanted(services: Services, caller: Caller, data: StartRun) -> RunRequest:
    check_model(services, data.model, data.effort)
    earlier = await _earlier(services, caller, data)
    asked = RunRequest(
        owner_id=caller.user.id,
        name=data.name,
        script=data.script,
        language=data.language,
        args=data.args,
        budget=tokens_of(data.budget),
        model=data.model,
        effort=data.effort,
        max_concurrency=data.max_concurrency,
        workspace_id=await find_workspace(services, caller, data.workspace_id),
        resume_from=None if earlier is None else earlier.id,
        fresh=data.fresh,
        reuse=data.reuse,
    )
    if earlier is None or data.name is not None or data.script is not None:
        return asked
    return _again(asked, earlier)


def _again(asked: RunRequest, earlier: Run) -> RunRequest:
    """That run with its own script; given fields override those of that run."""
    return RunRequest(
        owner_id=asked.owner_id,
        script=earlier.script,
        language=earlier.language,
        args=earlier.args if asked.args is UNSET else asked.args,
        budget=asked.budget or earlier.budget.tokens,
        model=asked.model or earlier.model,
        effort=asked.effort or earlier.effort,
        max_concurrency=asked.max_concurrency or earlier.max_concurrency,
        workspace_id=asked.workspace_id or earlier.workspace_id,
        resume_from=asked.resume_from,
        fresh=asked.fresh,
        reuse=asked.reuse,
        tools=earlier.tools,
    )


async def _in_chat(services: Services, caller: Caller, data: StartRun, wanted: RunRequest) -> RunRequest:
    """With what was chosen for the chat, and within what is left of its budget."""
    if data.chat_id is None:
        return wanted
    try:
        chat = await own_chat(services, caller, data.chat_id)
    except Problem:
        raise invalid("chat_id", "there is no such chat") from None
    if chat.archived:
        raise invalid("chat_id", "the chat is archived: restore it first")
    if chat.run_id is not None:
        raise invalid("chat_id", "an agent of a workflow cannot have another one")
    caps, chosen = await services.store.read(budgets.caps(chat.id), settings_rules.settings(chat.id))
    left = [cap.tokens - cap.spent_tokens for cap in caps if cap.tokens is not None]
    if min(left, default=1) <= 0:
        raise invalid("chat_id", "the budget of the chat is spent")
    if chosen is not None and data.resume_from is None:
        wanted = replace(wanted, tools=chosen.tools)
    return replace(
        wanted,
        asked_by=AskedBy(chat_id=chat.id),
        budget=min([*left, *([] if wanted.budget is None else [wanted.budget])], default=None),
        workspace_id=wanted.workspace_id or chat.workspace_id,
        model=wanted.model or chat.model,
        effort=wanted.effort or (chat.effort if wanted.model is None else None),
    )


async def _earlier(services: Services, caller: Caller, data: StartRun) -> Run | None:
    if data.resume_from is None:
        return None
    found = await _found(services, caller, data.resume_from)
    if found is None:
        raise invalid("resume_from", "there is no such run")
    return found


def tokens_of(budget: int | BudgetIn | None) -> int | None:
    if isinstance(budget, BudgetIn):
        if budget.cost_usd_micros is not None:
            raise invalid("budget.cost_usd_micros", "the budget of a run is in output tokens")
        return budget.tokens
    return budget


def _begun(run: Run) -> RunShown:
    return run_shown(RunDetails(run=run, calls=(), lines=()))


def _cancelled(run: Run) -> Query[RunDetails]:
    def read(cancelled: Run, calls: tuple[RunCall, ...], lines: tuple[RunLine, ...]) -> RunDetails:
        return RunDetails(run=cancelled, calls=calls, lines=lines)

    cancel = runs.cancel(run.id, run.owner_id)
    return joined(cancel, journals.calls(run.id), journals.lines(run.id), read=read)


router = Router("/", route_handlers=[start_run, list_runs, read_run, cancel_run], tags=["workflows"])
