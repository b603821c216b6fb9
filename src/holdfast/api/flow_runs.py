"""Runs of flows: started, listed, read, answered, run again, cancelled. What happens in one is told by its
feed (`feeds`)."""

from typing import Annotated, Literal

from litestar import Response, Router, get, post
from litestar.params import FromQuery, JSONBody, QueryParameter
from msgspec import UNSET, Meta, UnsetType
from msgspec.structs import asdict, replace

from holdfast.accounts.access import Caller
from holdfast.api.bodies import JsonRequest
from holdfast.api.checks import BudgetIn, Effort, ModelName, check_model, find_workspace
from holdfast.api.commands import write
from holdfast.api.pages import Cursor, Limit, Page
from holdfast.api.problems import invalid, not_found
from holdfast.api.runs import tokens_of
from holdfast.api.services import By, InPath, Services, With, needs
from holdfast.api.trace_parents import trace_parent_of
from holdfast.core.errors import NotFound
from holdfast.core.flow_runs import Answer, FlowDetails, FlowLine, FlowRun, FlowStatus, FlowStep
from holdfast.core.flow_shapes import FlowRunListed, FlowRunShown, flow_run_listed, flow_run_shown
from holdfast.core.ids import FlowRunId, is_uuid7
from holdfast.core.shapes import Border, Json
from holdfast.flows import definition
from holdfast.flows.graph_shapes import FlowGraph, graph_of
from holdfast.flows.placed_values import MAX_BYTES
from holdfast.flows.runs.flow_start import FlowRequest, written
from holdfast.scripts.meta import MAX_BUDGET
from holdfast.store import flow_feed_reads, flow_runs
from holdfast.store.query import Query, joined

STEP = "/flow-runs/{flow_run_id:str}/steps/{step_id:str}"
Tokens = Annotated[int, Meta(ge=1, le=MAX_BUDGET)]
Note = Annotated[str, Meta(max_length=10_000)]


class StartFlowRun(Border, frozen=True, kw_only=True):
    """A flow by its name, or its text. With `resume_from` alone: that run again, as it was."""

    name: Annotated[str, Meta(min_length=1, max_length=1000)] | None = None
    flow: Annotated[str, Meta(max_length=2 * MAX_BYTES)] | None = None
    args: Json | UnsetType = UNSET
    # Output tokens of all agents: a number, or `{"tokens": a number}`.
    budget: Tokens | BudgetIn | None = None
    # Of agents that name none.
    model: ModelName | None = None
    effort: Effort | None = None
    workspace_id: Annotated[str, Meta(max_length=36)] | None = None
    # The run whose finished agents are reused; without it, the newest of the same flow and arguments if it
    # failed or was cancelled.
    resume_from: Annotated[str, Meta(max_length=36)] | None = None
    # Nothing is reused.
    fresh: bool = False
    # Agents of the newest run are reused also when it succeeded.
    reuse: bool = False


class DecideStep(Border, frozen=True, kw_only=True):
    decision: Literal["approve", "deny"]
    note: Note | None = None
    # What the form of the approval asks for.
    answer: Json = None


class RetryFlowRun(Border, frozen=True, kw_only=True):
    # Failed steps; without any: all that failed.
    steps: Annotated[tuple[Annotated[str, Meta(max_length=64)], ...], Meta(max_length=1000)] = ()


class FlowRunRead(FlowRunShown, frozen=True, kw_only=True):
    graph: FlowGraph


@post("/flow-runs", guards=[needs("chats:write")], status_code=202)
async def start_flow_run(
    request: JsonRequest, data: JSONBody[StartFlowRun], services: With, caller: By
) -> Response[FlowRunRead]:
    """Start a flow. Agents that the newest run of the same flow with the same arguments has finished are
    reused if it failed or was cancelled, or with `reuse`; never with `fresh`."""
    wanted = await _wanted(services, caller, data)
    try:
        new = await services.flow_runs.draft(wanted)
    except NotFound as error:
        raise invalid("name", error.text) from None
    run = replace(new.run, trace_parent=trace_parent_of(services, request))
    create = flow_runs.create(run, new.steps, new.approvers)
    return await write(
        services,
        caller,
        request,
        joined(create, read=lambda made: FlowDetails(run=made, steps=new.steps)),
        answer=lambda made: (202, _read(made)),
    )


@get("/flow-runs", guards=[needs("chats:read")])
async def list_flow_runs(
    services: With,
    caller: By,
    limit: Limit = 50,
    cursor: Cursor = None,
    name: Annotated[str | None, QueryParameter(max_length=1000, description="Of this flow.")] = None,
    status: FromQuery[FlowStatus | None] = None,
) -> Page[FlowRunListed]:
    """The caller's own, the newest first; without what is large in them."""
    if cursor is not None and not is_uuid7(cursor):
        raise invalid("cursor", "not one that this list gave out")
    before = None if cursor is None else FlowRunId(cursor)
    found = await services.store.read(
        flow_runs.page(caller.user.id, name=name, status=status, before=before, limit=limit + 1)
    )
    return Page(
        items=tuple(flow_run_listed(run) for run in found[:limit]),
        next_cursor=found[limit - 1].id if len(found) > limit else None,
    )


@get("/flow-runs/{flow_run_id:str}", guards=[needs("chats:read")])
async def read_flow_run(flow_run_id: InPath, services: With, caller: By) -> FlowRunRead:
    """With everything that belongs to it, and its graph. Whoever is named to approve something may read it
    too."""
    wanted, user = FlowRunId(flow_run_id), caller.user.id
    found = await services.store.read(flow_feed_reads.shown(wanted, user)) if is_uuid7(wanted) else None
    if found is None:
        raise not_found("run")
    return _read(found)


@get("/flow-runs/{flow_run_id:str}/output", guards=[needs("chats:read")], media_type="text/plain")
async def read_flow_output(flow_run_id: InPath, services: With, caller: By) -> Response[str]:
    """The report of a run as a file."""
    run = await seen_flow_run(services, caller, flow_run_id)
    name = definition.decode(run.definition).output
    if name is None or not isinstance(run.result, str):
        raise not_found("file")
    headers = {"Content-Disposition": f'attachment; filename="{name}"', "X-Content-Type-Options": "nosniff"}
    return Response(run.result, media_type="text/plain; charset=utf-8", headers=headers)


@post(f"{STEP}/decision", guards=[needs("chats:write")], status_code=200)
async def decide_flow_step(
    request: JsonRequest,
    flow_run_id: InPath,
    step_id: InPath,
    data: JSONBody[DecideStep],
    services: With,
    caller: By,
) -> Response[FlowRunRead]:
    """Approve or deny, once. For whoever the approval names; without names, for who started the run."""
    run = await seen_flow_run(services, caller, flow_run_id)
    user = caller.user
    answer = Answer(decision=data.decision, by=user.name, user_id=user.id, note=data.note, answer=data.answer)
    return await written(
        lambda query: write(services, caller, request, query, answer=lambda done: (200, _read(done))),
        lambda: services.flow_runs.answering(run.id, step_id, user.id, answer),
    )


@post("/flow-runs/{flow_run_id:str}/retry", guards=[needs("chats:write")], status_code=202)
async def retry_flow_run(
    request: JsonRequest, flow_run_id: InPath, data: JSONBody[RetryFlowRun], services: With, caller: By
) -> Response[FlowRunRead]:
    """Run failed steps of a run that is over again, with all that follow them."""
    return await _retried(request, services, caller, flow_run_id, data.steps)


@post(f"{STEP}/retry", guards=[needs("chats:write")], status_code=202)
async def retry_flow_step(
    request: JsonRequest, flow_run_id: InPath, step_id: InPath, services: With, caller: By
) -> Response[FlowRunRead]:
    """Run one failed step of a run that is over again, with all that follow it."""
    return await _retried(request, services, caller, flow_run_id, (step_id,))


async def _retried(
    request: JsonRequest, services: Services, caller: Caller, flow_run_id: str, steps: tuple[str, ...]
) -> Response[FlowRunRead]:
    run = await own_flow_run(services, caller, flow_run_id)
    return await written(
        lambda query: write(services, caller, request, query, answer=lambda done: (202, _read(done))),
        lambda: services.flow_runs.retrying(run.id, steps),
    )


@post("/flow-runs/{flow_run_id:str}/cancel", guards=[needs("chats:write")], status_code=202)
async def cancel_flow_run(
    request: JsonRequest, flow_run_id: InPath, services: With, caller: By
) -> Response[FlowRunRead]:
    """Stop it with all its agents. One that is over stays as it ended."""
    run = await own_flow_run(services, caller, flow_run_id)
    answer = await write(services, caller, request, _cancelled(run), answer=lambda done: (202, _read(done)))
    await services.flow_runs.call_off(run.id)
    return answer


async def own_flow_run(services: Services, caller: Caller, run_id: str) -> FlowRun:
    """The run, if it is the caller's."""
    found = await seen_flow_run(services, caller, run_id)
    if found.owner_id != caller.user.id:
        raise not_found("run")
    return found


async def seen_flow_run(services: Services, caller: Caller, run_id: str) -> FlowRun:
    """The run, if the caller may see it."""
    wanted = FlowRunId(run_id)
    found = await services.store.read(flow_runs.run(wanted, caller.user.id)) if is_uuid7(wanted) else None
    if found is None:
        raise not_found("run")
    return found


async def _wanted(services: Services, caller: Caller, data: StartFlowRun) -> FlowRequest:
    check_model(services, data.model, data.effort)
    earlier: FlowRun | None = None
    if data.resume_from is not None:
        known = FlowRunId(data.resume_from)
        earlier = await services.store.read(flow_runs.run(known, caller.user.id)) if is_uuid7(known) else None
        if earlier is None or earlier.owner_id != caller.user.id:
            raise invalid("resume_from", "there is no such run")
    alone = earlier is not None and data.name is None and data.flow is None
    again = earlier if alone else None
    return FlowRequest(
        owner_id=caller.user.id,
        name=data.name,
        flow=data.flow if again is None else again.text,
        args=again.args if again is not None and data.args is UNSET else data.args,
        budget=tokens_of(data.budget) or (None if again is None else again.budget.tokens),
        model=data.model or (None if again is None else again.model),
        effort=data.effort or (None if again is None else again.effort),
        workspace_id=await find_workspace(services, caller, data.workspace_id)
        or (None if again is None else again.workspace_id),
        resume_from=None if earlier is None else earlier.id,
        fresh=data.fresh,
        reuse=data.reuse,
        tools=None if again is None else again.tools,
    )


def _read(details: FlowDetails) -> FlowRunRead:
    graph = graph_of(definition.decode(details.run.definition))
    return FlowRunRead(**asdict(flow_run_shown(details)), graph=graph)


def _cancelled(run: FlowRun) -> Query[FlowDetails]:
    def read(cancelled: FlowRun, steps: tuple[FlowStep, ...], lines: tuple[FlowLine, ...]) -> FlowDetails:
        return FlowDetails(run=cancelled, steps=steps, lines=lines)

    return joined(flow_runs.cancel(run.id), flow_runs.steps(run.id), flow_runs.lines(run.id), read=read)


router = Router(
    "/",
    route_handlers=[
        start_flow_run,
        list_flow_runs,
        read_flow_run,
        read_flow_output,
        decide_flow_step,
        retry_flow_run,
        retry_flow_step,
        cancel_flow_run,
    ],
    tags=["flows"],
)
