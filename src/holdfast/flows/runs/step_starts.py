"""What a round of a flow run starts: conditions and switches are evaluated, code is run, agents and workflows
begin, approvals and waits are opened. A row names a chat before the chat exists, so a takeover finds it."""

import asyncio
from collections.abc import Sequence
from datetime import datetime, timedelta

from msgspec.structs import replace

from holdfast.chats.start import NewAgent
from holdfast.core.errors import HoldfastError, StoreClosed, TryAgain
from holdfast.core.flow_runs import FlowStep, SwitchChoice
from holdfast.core.ids import ChatId
from holdfast.core.origins import FromFlowStep
from holdfast.core.runs import Run
from holdfast.core.shapes import Json
from holdfast.duties.persistence import persist
from holdfast.flows import durations
from holdfast.flows.definition import (
    AgentStep,
    ApprovalStep,
    CodeStep,
    Step,
    SwitchStep,
    WaitStep,
    WorkflowStep,
)
from holdfast.flows.evaluator_messages import Asked, Value
from holdfast.flows.runs.driven_run import DrivenRun
from holdfast.flows.runs.step_inputs import agent_call, asked_of
from holdfast.flows.schedule import Moves, chosen, ended, failed
from holdfast.scripts.engines.messages import AgentCall
from holdfast.scripts.journal import hash_of
from holdfast.scripts.runs.agent_chats import terms_of
from holdfast.scripts.runs.run_start import RunRequest
from holdfast.store import runs
from holdfast.store.query import Query, constant, joined

CODE_AT_ONCE = 4


class StepStarts:
    def __init__(self, driven: DrivenRun) -> None:
        self._driven = driven

    async def perform(self, moves: Moves) -> None:
        rows = self._driven.rows
        for row in moves.changed:
            rows.put(row)
        if moves.ask:
            await self._ask(moves.ask)
        elif moves.choose:
            await self._choose(moves.choose)
        elif moves.compute:
            await self._compute(moves.compute)
        elif moves.begin:
            await self._begin(moves.begin)
            return
        await self._driven.write()

    async def _ask(self, names: Sequence[str]) -> None:
        steps = [self._driven.graph.steps[name] for name in names]
        values = await self._driven.evaluated(
            [Asked(kind="condition", texts=(step.when or "",)) for step in steps]
        )
        for step, value in zip(steps, values, strict=True):
            row, now = self._driven.rows.steps[step.id], self._driven.clock.now()
            if value.error is not None:
                self._driven.rows.put(_bad_expression(step, row, value, now))
            elif value.value:
                self._driven.rows.put(replace(row, state="ready", reason=None))
            else:
                detail = f"{step.when} is false."
                self._driven.rows.put(ended(row, "skipped", now, reason="condition", detail=detail))

    async def _choose(self, names: Sequence[str]) -> None:
        switches = [step for name in names if isinstance(step := self._driven.graph.steps[name], SwitchStep)]
        values = await self._driven.evaluated(
            [asked for step in switches if (asked := asked_of(step)) is not None]
        )
        for step, value in zip(switches, values, strict=True):
            row, now = self._begun(step), self._driven.clock.now()
            if value.error is not None:
                self._driven.rows.put(_bad_expression(step, row, value, now))
                continue
            label, steps = chosen(step, value.value if isinstance(value.value, int) else None)
            row = replace(row, choice=SwitchChoice(label=label, steps=steps), output=label)
            self._driven.rows.put(ended(row, "succeeded", now))

    async def _compute(self, names: Sequence[str]) -> None:
        room = asyncio.Semaphore(CODE_AT_ONCE)

        async def one(step: CodeStep) -> FlowStep:
            row = self._begun(step)
            async with room:
                found = await self._driven.resources.inputs.compute(
                    self._driven.run, self._driven.rows.steps, step, self._driven.settings
                )
            now = self._driven.clock.now()
            if found.error is not None:
                return failed(step, row, now, reason="error", detail=found.error)
            return ended(replace(row, output=found.value), "succeeded", now)

        steps = [step for name in names if isinstance(step := self._driven.graph.steps[name], CodeStep)]
        for row in await asyncio.gather(*(one(step) for step in steps)):
            self._driven.rows.put(row)

    def _begun(self, step: Step) -> FlowStep:
        row, now = self._driven.rows.steps[step.id], self._driven.clock.now()
        return replace(
            row,
            attempt=max(1, row.attempt),
            started_at=now,
            begun_at=row.begun_at or now,
            deadline_at=None,
            reason=None,
            detail=None,
        )

    async def _begin(self, names: Sequence[str]) -> None:
        steps = [self._driven.graph.steps[name] for name in names]
        asked = [found for step in steps if (found := asked_of(step)) is not None]
        values = await self._driven.evaluated(asked)
        agents: list[NewAgent] = []
        beside: list[Query[Run]] = []
        later: list[tuple[AgentStep, AgentCall]] = []
        for step, value in zip(steps, values, strict=True):
            row, now = self._begun(step), self._driven.clock.now()
            if value.error is not None:
                self._driven.rows.put(_bad_expression(step, row, value, now))
                continue
            match step:
                case AgentStep():
                    await self._begin_agent(step, row, str(value.value), agents, later)
                case WorkflowStep():
                    await self._begin_workflow(step, row, value.value, beside)
                case ApprovalStep():
                    waiting = replace(row, state="waiting", reason="person", text=str(value.value))
                    self._driven.rows.put(_due(waiting, step.timeout_seconds, now))
                case WaitStep():
                    self._driven.rows.put(_waiting(step, row, str(value.value), now))
                case SwitchStep() | CodeStep():
                    pass
        together = joined(*beside, read=lambda *made: made[0]) if beside else None
        refusals = await self._driven.write(agents, together)
        for agent, refusal in zip(agents, refusals, strict=True):
            if refusal is not None and refusal.code != "wrong_state":
                self._refused(agent.chat_id, refusal.text)
        for step, call in later:
            await self._make(step, call)

    async def _begin_agent(
        self,
        step: AgentStep,
        row: FlowStep,
        prompt: str,
        agents: list[NewAgent],
        later: list[tuple[AgentStep, AgentCall]],
    ) -> None:
        rows, now = self._driven.rows, self._driven.clock.now()
        call = agent_call(self._driven.run, step, row, prompt)
        row = replace(row, hash=hash_of(call), terms=terms_of(call))
        if (lent := self._driven.lent.take(self._driven.run, call, row.hash or "")) is not None:
            row = replace(row, output=lent.output, chat_id=lent.chat_id, reused=True, terms=None)
            rows.put(ended(row, "succeeded", now, reason="reused"))
            return
        if rows.budget_is_spent:
            detail = "The budget of the run is spent."
            rows.put(failed(step, row, now, reason="budget", detail=detail, final=True))
            return
        if (error := self._driven.resources.agent_chats.check(self._driven.run, call)) is not None:
            rows.put(failed(step, row, now, reason="error", detail=error.message, final=True))
            return
        chat_id = ChatId(self._driven.resources.ids.uuid7(now))
        self._driven.calls[step.id, row.attempt] = call
        if call.options.isolation is None:
            agent = await self._prepared(step, call, chat_id)
            if isinstance(agent, str):
                rows.put(failed(step, row, now, reason="error", detail=agent))
                return
            agents.append(agent)
        else:
            # Its worktree is made once the rows name its chat.
            later.append((step, call))
        rows.put(_due(replace(row, state="running", chat_id=chat_id), step.timeout_seconds, now))

    async def _prepared(self, step: AgentStep, call: AgentCall, chat_id: ChatId) -> NewAgent | str:
        """The agent, or why it cannot start."""
        origin = FromFlowStep(flow_run_id=self._driven.run.id, step_id=step.id)
        chats = self._driven.resources.agent_chats
        prepared = await persist(lambda: chats.prepare(self._driven.run, call, chat_id, origin))
        for remark in prepared.remarks:
            self._driven.rows.say(
                self._driven.clock.now(), f"{step.id}: {remark}", step_id=step.id, warning=True
            )
        if prepared.agent is None:
            return "It cannot be started." if prepared.error is None else prepared.error.message
        return prepared.agent

    async def _make(self, step: AgentStep, call: AgentCall) -> None:
        """Starts the agent of a step that is already running."""
        row = self._driven.rows.steps[step.id]
        if row.chat_id is None:
            return
        agent = await self._prepared(step, call, row.chat_id)
        if isinstance(agent, str):
            self._refused(row.chat_id, agent)
            return
        _, refusals = await persist(lambda: self._driven.agent_starts.make((agent,), constant(None)))
        for refusal in refusals:
            if refusal is not None and refusal.code != "wrong_state":
                self._refused(agent.chat_id, refusal.text)

    def _refused(self, chat_id: ChatId, why: str) -> None:
        row = self._driven.rows.step_of_chat(chat_id)
        if row is not None:
            step = self._driven.graph.steps[row.id]
            self._driven.rows.put(
                failed(step, replace(row, chat_id=None), self._driven.clock.now(), reason="error", detail=why)
            )

    async def _begin_workflow(
        self, step: WorkflowStep, row: FlowStep, args: Json, beside: list[Query[Run]]
    ) -> None:
        rows, now, run = self._driven.rows, self._driven.clock.now(), self._driven.run
        left = None if run.budget.tokens is None else run.budget.tokens - rows.spent[0]
        if left is not None and left <= 0:
            rows.put(
                failed(step, row, now, reason="budget", detail="The budget of the run is spent.", final=True)
            )
            return
        wanted = RunRequest(
            owner_id=run.owner_id,
            name=step.name,
            args=args,
            budget=min((n for n in (step.budget, left) if n is not None), default=None),
            model=run.model,
            effort=run.effort,
            workspace_id=run.workspace_id,
            tools=run.tools,
        )
        try:
            draft = await persist(lambda: self._driven.resources.commands.workflows.draft(wanted))
        except (StoreClosed, TryAgain):
            raise
        except HoldfastError as error:
            rows.put(failed(step, row, now, reason="error", detail=error.text))
            return
        beside.append(runs.create(draft))
        rows.put(_due(replace(row, state="running", workflow_run_id=draft.id), step.timeout_seconds, now))

    async def begin_missing(self) -> None:
        """Starts the agents of running steps that have none: the previous owner died before it could."""
        for row in list(self._driven.rows.steps.values()):
            step = self._driven.graph.steps[row.id]
            if row.state != "running" or row.chat_id is None or not isinstance(step, AgentStep):
                continue
            if not await persist(
                lambda chat_id=row.chat_id: self._driven.resources.agent_chats.exists(chat_id)
            ):
                await self._make(step, await self._driven.call(step, row))


def _bad_expression(step: Step, row: FlowStep, value: Value, now: datetime) -> FlowStep:
    named = "" if value.expression is None else f"{value.expression}: "
    return failed(step, row, now, reason="expression", detail=f"{named}{value.error}", final=True)


def _due(row: FlowStep, seconds: float | None, now: datetime) -> FlowStep:
    return row if seconds is None else replace(row, deadline_at=now + timedelta(seconds=seconds))


def _waiting(step: WaitStep, row: FlowStep, text: str, now: datetime) -> FlowStep:
    try:
        if step.until is not None:
            until = durations.moment_of(text)
        else:
            until = now + timedelta(seconds=durations.seconds_of(text))
    except ValueError as error:
        return failed(step, row, now, reason="expression", detail=f"{text[:200]!r}: {error}.", final=True)
    return replace(row, state="waiting", reason="timer", deadline_at=until)
