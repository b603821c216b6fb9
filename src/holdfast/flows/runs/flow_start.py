"""How flow runs start, and what people do to them: answer an approval, retry failed steps, cancel. A run
keeps the text of its flow and its parsed definition; everything else is done by the owner of its lease."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

import msgspec

from holdfast.chats.commands import CallFence, Stop
from holdfast.core.clock import Clock
from holdfast.core.errors import Forbidden, InvalidInput, NotFound, WrongState
from holdfast.core.flow_runs import OVER, Answer, FlowDetails, FlowRun, FlowStatus, FlowStep
from holdfast.core.ids import FlowRunId, Ids, RunId, UserId, WorkspaceId
from holdfast.core.runs import AskedBy, RunStatus
from holdfast.core.shapes import Json, Record
from holdfast.core.usage import Budget
from holdfast.flows import definition
from holdfast.flows.definition import ApprovalStep, Flow
from holdfast.flows.discovery import FlowLibrary
from holdfast.flows.schedule import Graph, answered, begins_again
from holdfast.scripts.meta import Meta
from holdfast.scripts.runs.library import Library
from holdfast.scripts.runs.reuse import Earlier, Lending, decide
from holdfast.scripts.runs.run_start import Runs, check_args, hash_of
from holdfast.store import flow_rows, flow_runs, users
from holdfast.store.flow_rows import FlowMoved, StepMove
from holdfast.store.interface import Store
from holdfast.store.query import Query, joined
from holdfast.tools.schema import Shape

T = TypeVar("T")

TRIES = 20
# How an ended run lends its answers: one that timed out counts as failed.
_LENT_AS: dict[FlowStatus, RunStatus] = {
    "succeeded": "succeeded",
    "failed": "failed",
    "timed_out": "failed",
    "cancelled": "cancelled",
}
RETRIED = ("failed", "timed_out", "upstream_failed", "cancelled", "skipped")


class FlowRequest(Record, frozen=True, kw_only=True):
    """A request for a run: of a flow by its name, or of a given text."""

    owner_id: UserId
    name: str | None = None
    flow: str | None = None
    args: Json | msgspec.UnsetType = msgspec.UNSET
    # Output tokens; None: the flow's own budget.
    budget: int | None = None
    model: str | None = None
    effort: str | None = None
    workspace_id: WorkspaceId | None = None
    # The run that lends its answers; None: the newest of the same flow with the same arguments, if it failed
    # or was cancelled.
    resume_from: FlowRunId | None = None
    fresh: bool = False
    reuse: bool = False
    asked_by: AskedBy | None = None
    tools: Json = None


class NewFlowRun(Record, frozen=True, kw_only=True):
    run: FlowRun
    steps: tuple[FlowStep, ...]
    approvers: tuple[tuple[str, UserId], ...]


class FlowRuns:
    def __init__(
        self,
        *,
        store: Store,
        clock: Clock,
        ids: Ids,
        library: FlowLibrary,
        workflows: Runs,
        check_model: Callable[[str], None],
    ) -> None:
        """`check_model` raises InvalidInput for an unknown model."""
        self.library = library
        self.workflows = workflows
        self._places: Library = workflows.library
        self._store = store
        self._clock = clock
        self._ids = ids
        self._check_model = check_model

    async def start(self, wanted: FlowRequest, on_behalf: CallFence | None = None) -> FlowRun:
        """Raises InvalidInput (BadFlow with line and column), NotFound, or WrongState if the call that asks
        for it is no longer running."""
        new = await self.draft(wanted)
        return await self._store.write(
            flow_runs.create(new.run, new.steps, new.approvers), on_behalf=on_behalf
        )

    async def draft(self, wanted: FlowRequest) -> NewFlowRun:
        """The run as data, for callers that store it themselves."""
        text, flow = await self._flow(wanted)
        check_args(Meta(name=flow.name, description=flow.description, args=flow.args), wanted.args)
        if wanted.model is not None:
            self._check_model(wanted.model)
        for step in flow.steps:
            if step.kind == "agent" and (model := getattr(step, "model", None)) is not None:
                self._check_model(model)
        args_hash = hash_of(wanted.args)
        lending = await self._lending(wanted, flow, args_hash)
        state = await self._places.state(wanted.workspace_id, wanted.owner_id)
        now = self._clock.now()
        run = FlowRun(
            id=FlowRunId(self._ids.uuid7(now)),
            owner_id=wanted.owner_id,
            name=flow.name,
            created_at=now,
            workspace_id=wanted.workspace_id,
            budget=Budget(
                tokens=min((n for n in (wanted.budget, flow.budget) if n is not None), default=None)
            ),
            args_hash=args_hash,
            resumed_from=None if lending.lender is None else FlowRunId(lending.lender),
            asked_by=wanted.asked_by,
            tools=wanted.tools,
            model=wanted.model,
            effort=wanted.effort,
            reuse=lending.why,
            workspace_state=state,
            args=wanted.args,
            text=text,
            definition=definition.encode(flow),
        )
        steps = tuple(
            FlowStep(id=step.id, kind=step.kind, position=place, batch=step.batch)  # pyright: ignore[reportArgumentType]
            for place, step in enumerate(flow.steps)
        )
        return NewFlowRun(run=run, steps=steps, approvers=await self._approvers(flow))

    async def cancel(self, run_id: FlowRunId) -> FlowRun:
        """Ends the run and stops its agents. A run that is over stays as it is."""
        run = await self._store.write(flow_runs.cancel(run_id))
        await self.call_off(run_id)
        return run

    async def call_off(self, run_id: FlowRunId) -> None:
        """The run's end is already stored: its agents and workflow runs are stopped."""
        chats, workflows = await self._store.read(flow_runs.strayed(run_id))
        await asyncio.gather(*(self._store.transition(chat_id, Stop()) for chat_id in chats))
        for workflow_id in workflows:
            await self.workflows.cancel(workflow_id)
        run = await self._store.read(flow_runs.run(run_id))
        if run is not None and run.workspace_id is not None:
            state = await self._places.state(run.workspace_id, run.owner_id)
            await self._store.write(flow_runs.leave(run_id, state))

    async def answer(self, run_id: FlowRunId, step_id: str, user_id: UserId, answer: Answer) -> FlowDetails:
        """A person's decision on an approval. Raises NotFound, Forbidden, WrongState, InvalidInput."""
        return await written(self._store.write, lambda: self.answering(run_id, step_id, user_id, answer))

    async def answering(
        self, run_id: FlowRunId, step_id: str, user_id: UserId, answer: Answer
    ) -> Query[FlowDetails]:
        """The same, for callers that store it themselves: see `written`."""
        found, allowed = await self._store.read(
            flow_runs.details(run_id, user_id), flow_runs.approvers(run_id, step_id)
        )
        row = None if found is None else next((row for row in found.steps if row.id == step_id), None)
        if found is None or row is None:
            raise NotFound("There is no such step.")
        step = Graph(definition.decode(found.run.definition)).steps[step_id]
        if not isinstance(step, ApprovalStep):
            raise InvalidInput(f"The step {step_id} is not an approval.", field="step_id")
        if user_id not in (allowed or {found.run.owner_id}):
            raise Forbidden("This approval is for somebody else to answer.")
        if row.state != "waiting":
            what = "has been decided already" if row.is_final else "does not wait for an answer yet"
            raise WrongState(f"The approval {step_id} {what}.")
        _check_form(step, answer)
        move = StepMove(before=row, after=answered(step, row, answer, self._clock.now()))
        return _with_details(run_id, flow_rows.answer(run_id, found.run.version, move))

    async def retry(self, run_id: FlowRunId, step_ids: Sequence[str] = ()) -> FlowDetails:
        """Runs failed steps of an ended run again, and the steps after them. Without names: all that
        failed. Raises NotFound, WrongState."""
        return await written(self._store.write, lambda: self.retrying(run_id, step_ids))

    async def retrying(self, run_id: FlowRunId, step_ids: Sequence[str] = ()) -> Query[FlowDetails]:
        """The same, for callers that store it themselves."""
        found = await self._details(run_id)
        if found.run.status not in OVER:
            raise WrongState("The run is not over yet. Wait for its end, or cancel it.")
        rows = {row.id: row for row in found.steps}
        broken = ("failed", "timed_out", "cancelled")
        wanted = list(step_ids) or [row.id for row in found.steps if row.state in broken]
        for name in wanted:
            if name not in rows:
                raise NotFound(f"There is no step {name[:100]!r}.")
            if rows[name].state not in RETRIED:
                raise WrongState(f"The step {name} has {rows[name].state}: there is nothing to run again.")
        if not wanted:
            raise WrongState("No step has failed: there is nothing to run again.")
        graph = Graph(definition.decode(found.run.definition))
        moves = [StepMove(before=rows[row.id], after=row) for row in begins_again(graph, rows, wanted)]
        return _with_details(run_id, flow_rows.again(run_id, found.run.version, moves))

    async def _details(self, run_id: FlowRunId) -> FlowDetails:
        found = await self._store.read(flow_runs.details(run_id))
        if found is None:
            raise NotFound("There is no such run.")
        return found

    async def _flow(self, wanted: FlowRequest) -> tuple[str, Flow]:
        if (wanted.name is None) == (wanted.flow is None):
            raise InvalidInput("Give either the name of a flow or its text, not both.", field="name")
        if wanted.flow is not None:
            return wanted.flow, await self.library.read(wanted.flow)
        found = await self.library.find(wanted.name or "", wanted.workspace_id, wanted.owner_id)
        assert found.flow is not None
        return found.text, found.flow

    async def _approvers(self, flow: Flow) -> tuple[tuple[str, UserId], ...]:
        """Users, looked up by their current names."""
        found: list[tuple[str, UserId]] = []
        for step in flow.steps:
            if not isinstance(step, ApprovalStep):
                continue
            for name in step.approvers or ():
                user = await self._store.read(users.named(name))
                if user is None:
                    raise InvalidInput(f"{step.id}: there is no user {name!r} to approve it.", field="flow")
                found.append((step.id, user.id))
        return tuple(found)

    async def _lending(self, wanted: FlowRequest, flow: Flow, args_hash: str) -> Lending:
        newest: Earlier | None = None
        if wanted.fresh and wanted.reuse:
            raise InvalidInput("Use fresh or reuse, not both.", field="fresh")
        if wanted.resume_from is not None and not wanted.fresh:
            found = await self._store.read(flow_runs.run(wanted.resume_from))
            if found is None or found.owner_id != wanted.owner_id:
                raise NotFound("There is no such run to resume from.")
            if found.status not in OVER:
                raise InvalidInput(
                    "The run to resume from is not over yet. Cancel it first, or wait for its end.",
                    field="resume_from",
                )
        elif not wanted.fresh:
            lender = flow_runs.lender(wanted.owner_id, flow.name, args_hash, wanted.workspace_id)
            if (earlier := await self._store.read(lender)) is not None:
                run_id, status = earlier
                newest = Earlier(id=RunId(run_id), status=_LENT_AS[status])
        return decide(
            named=None if wanted.resume_from is None else RunId(wanted.resume_from),
            fresh=wanted.fresh,
            reuse=wanted.reuse,
            always=False,
            newest=newest,
        )


async def written(
    write: Callable[[Query[FlowDetails]], Awaitable[T]], prepare: Callable[[], Awaitable[Query[FlowDetails]]]
) -> T:
    """Prepares a change on the current rows and stores it; repeats if the driver wrote meanwhile."""
    for _ in range(TRIES - 1):
        try:
            return await write(await prepare())
        except FlowMoved:
            continue
    return await write(await prepare())


def _with_details(run_id: FlowRunId, move: Query[int]) -> Query[FlowDetails]:
    def read(_: int, found: FlowDetails | None) -> FlowDetails:
        if found is None:
            raise NotFound("There is no such run.")
        return found

    return joined(move, flow_runs.details(run_id), read=read)


def _check_form(step: ApprovalStep, answer: Answer) -> None:
    if step.form is None or answer.decision == "deny":
        return
    complaints = Shape(step.form).complaints({} if answer.answer is None else answer.answer)
    if complaints:
        raise InvalidInput(f"The answer does not fit the form. {' '.join(complaints)}", field="answer")
