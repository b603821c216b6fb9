"""Drives one run of a flow under its lease, in pulses: what has ended is taken in, the next round is
decided and performed, and all of it is written together with the agents it starts. A write counts only on
the rows that were decided on; whoever finds that somebody else wrote reads them again. So a takeover begins
like every pulse."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta

import structlog
from msgspec.structs import replace

from holdfast.chats.change import Refusal
from holdfast.chats.start import NewAgent
from holdfast.core.chats import Status
from holdfast.core.clock import Clock, SteadyClock, to_micros
from holdfast.core.errors import HoldfastError, StoreClosed, TryAgain
from holdfast.core.flow_runs import FlowError, FlowRun, FlowStep, SwitchChoice
from holdfast.core.ids import ChatId, Ids, RunId
from holdfast.core.origins import FromFlowStep
from holdfast.core.runs import OVER as RUN_OVER
from holdfast.core.runs import Run
from holdfast.core.shapes import Json
from holdfast.core.shortage import is_shortage
from holdfast.core.usage import Usage
from holdfast.duties.persistence import persist
from holdfast.flows import definition, durations
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
from holdfast.flows.runs.flow_start import FlowRuns
from holdfast.flows.runs.lending import Lent
from holdfast.flows.runs.run_rows import RunRows
from holdfast.flows.runs.step_inputs import StepInputs, agent_call, asked_of
from holdfast.flows.schedule import FlowFinished, Graph, Moves, Rest, Stuck, chosen, decide, ended, failed
from holdfast.scripts.engines.messages import AgentCall
from holdfast.scripts.journal import hash_of
from holdfast.scripts.runs.agent_chats import AgentChats, terms_of
from holdfast.scripts.runs.ends import CallFinished, KeepWaiting, Remind, meaning
from holdfast.scripts.runs.run_start import RunRequest
from holdfast.scripts.runs.settings import RunSettings
from holdfast.store import agent_ends, flow_rows, flow_runs, runs
from holdfast.store.agent_ends import AgentEnd
from holdfast.store.flow_rows import FlowEnding, FlowMoved
from holdfast.store.interface import Store
from holdfast.store.query import Query, constant, joined
from holdfast.worker.agent_starts import AgentStarts

log = structlog.get_logger(__name__)

# A run that waits for less than this is not let go: who takes it up again may have another clock.
HOLD_SECONDS = 30.0
# How long an agent whose sub-agents have ended may take to hear of it, before its last words count.
HEARING_SECONDS = 10.0
CODE_AT_ONCE = 4


class FlowLost(Exception):
    """The run is somebody else's, over, or gone."""


@dataclass(frozen=True, kw_only=True)
class FlowResources:
    """What runs are driven with."""

    store: Store
    clock: Clock
    ids: Ids
    agent_chats: AgentChats
    inputs: StepInputs
    commands: FlowRuns
    settings: Callable[[], RunSettings]


class FlowDriver:
    def __init__(self, run: FlowRun, resources: FlowResources, agent_starts: AgentStarts) -> None:
        self.run = run
        self._resources = resources
        self._store = resources.store
        self._agent_starts = agent_starts
        # Deadlines are stored; a jump of the wall while the run is driven must not end an agent.
        self._clock: Clock = SteadyClock(resources.clock)
        self._settings = resources.settings()
        self._graph = Graph(definition.decode(run.definition))
        self._rows: RunRows | None = None
        self._lent = Lent()
        # What agents were asked, by step; worked out again after a takeover.
        self._calls: dict[tuple[str, int], AgentCall] = {}
        # Agents whose sub-agents have all ended and who were not woken by it, and since when.
        self._resting: dict[ChatId, datetime] = {}
        self._asking: frozenset[ChatId] = frozenset()
        self._look_for_people = True
        self._is_stale = True
        self._awake = asyncio.Event()
        self.version = run.version

    def wake(self) -> None:
        self._awake.set()

    def hear(self, chat_id: ChatId, status: Status | None) -> None:
        """A chat moved, perhaps one of ours."""
        rows = self._rows
        if rows is None:
            return
        waits = any(row.previous_chat_id == chat_id for row in rows.steps.values())
        if not waits and rows.step_of_chat(chat_id) is None:
            return
        if status == "requires_action" or chat_id in self._asking:
            self._look_for_people = True
            self.wake()
        elif status not in ("running", "interrupting"):
            self.wake()

    def hear_run(self, run_id: RunId, version: int, over: bool) -> None:
        """A run moved: ours, because a person wrote, or one that a step of ours waits for."""
        if run_id == self.run.id:
            if version > self.version:
                self._is_stale = True
                self.wake()
        elif over and self._rows is not None and self._rows.step_of_run(run_id) is not None:
            self.wake()

    async def drive(self) -> None:
        """Until the run is over, waits for people, or is not ours any more. Cancelled, it leaves everything
        to whoever comes next."""
        try:
            try:
                await self._drive()
            except (StoreClosed, FlowLost):
                raise
            except Exception as error:
                if isinstance(error, TryAgain) or is_shortage(error):
                    raise
                log.exception("flow run failed", run_id=self.run.id)
                text = error.text if isinstance(error, HoldfastError) else type(error).__name__
                await self.fail(f"The run failed because of a fault in Holdfast: {text}")
        except (StoreClosed, FlowLost) as error:
            log.info("flow run let go", run_id=self.run.id, reason=str(error))

    async def fail(self, reason: str) -> None:
        """The run fails as it is; nothing of it is run again."""
        with suppress(FlowLost):
            await self._load()
            while not await self._stop("failed", FlowError(message=reason)):
                await self._load()

    # --- pulses ---

    async def _drive(self) -> None:
        while True:
            try:
                if self._is_stale:
                    await self._load()
                if await self._pulse():
                    return
            except FlowMoved:
                self._is_stale = True

    async def _pulse(self) -> bool:
        """Whether the run is not to be driven any longer."""
        await self._collect()
        rows, now = self._known, self._clock.now()
        if (late := self._run_deadline) is not None and late <= now:
            seconds = self._settings.run_seconds
            return await self._stop(
                "timed_out", FlowError(message=f"The run took longer than {seconds:g} s.")
            )
        match decide(self._graph, rows.steps, now, slots=self._settings.max_concurrency):
            case Moves() as moves:
                await self._perform(moves)
            case FlowFinished(failed=failing):
                return await self._finish(failing)
            case Stuck(steps=steps):
                message = f"Nothing can go on: {', '.join(steps)} wait for something that will not come."
                return await self._stop("failed", FlowError(message=message, steps=steps))
            case Rest(until=until, is_waiting=is_waiting):
                await self._write()
                if is_waiting and self._may_let_go(until):
                    await self._write(waits=True, wake_at=None if until is None else to_micros(until))
                    return True
                await self._rest(until)
        return False

    def _may_let_go(self, until: datetime | None) -> bool:
        return until is None or until - self._clock.now() > timedelta(seconds=HOLD_SECONDS)

    @property
    def _run_deadline(self) -> datetime | None:
        seconds, started_at = self._settings.run_seconds, self.run.started_at
        return None if not seconds or started_at is None else started_at + timedelta(seconds=seconds)

    async def _rest(self, until: datetime | None) -> None:
        """Until something may have ended, or something is due."""
        due = [moment for moment in (until, self._run_deadline) if moment is not None]
        left = (min(due) - self._clock.now()).total_seconds() if due else self._settings.poll_seconds
        with suppress(TimeoutError):
            async with asyncio.timeout(max(0.0, min(left, self._settings.poll_seconds))):
                await self._awake.wait()
        # Nobody said anything for so long: a hint may be lost.
        self._look_for_people = self._look_for_people or not self._awake.is_set()
        self._awake.clear()

    @property
    def _known(self) -> RunRows:
        assert self._rows is not None
        return self._rows

    async def _load(self) -> None:
        found = await persist(lambda: self._store.read(flow_runs.details(self.run.id)))
        if found is None or found.run.status != "running" or found.run.lease_number != self.run.lease_number:
            raise FlowLost("it is over, or has another owner")
        self._is_stale = False
        first = self._rows is None
        self.run = found.run
        self._rows = RunRows(found)
        self.version = found.run.version
        if first:
            self._lent = await self._lending()
            if found.run.reuse is not None and not found.lines:
                self._rows.say(self._clock.now(), found.run.reuse)
            await self._begin_those_who_are_missing()
        await self._stop_strays()

    async def _lending(self) -> Lent:
        lender = self.run.resumed_from
        if lender is None:
            return Lent()
        found = await persist(lambda: self._store.read(flow_runs.details(lender)))
        return Lent() if found is None else Lent.of(found, self.run)

    async def _write(
        self,
        agents: Sequence[NewAgent] = (),
        beside: Query[Run] | None = None,
        *,
        ending: FlowEnding | None = None,
        waits: bool = False,
        wake_at: int | None = None,
    ) -> Sequence[Refusal | None]:
        rows = self._known
        for row in rows.moved:
            self._tell(row)
        key = self._resources.ids.uuid7(self._clock.now())
        entries = rows.unwritten(key, ending=ending, waits=waits, wake_at=wake_at)
        if entries is None:
            return []
        record = flow_rows.record(self.run.id, self.run.lease_number, rows.version, entries)
        if beside is not None:
            record = joined(record, beside, read=lambda version, _: version)
        version, refusals = await persist(lambda: self._agent_starts.make(agents, record))
        rows.written(version)
        self.version = version
        return refusals

    def _tell(self, row: FlowStep) -> None:
        """What people should know of a step that failed or is tried again."""
        if row.state in ("failed", "timed_out") or row.reason == "retry":
            what = "is tried again" if row.reason == "retry" else row.state.replace("_", " ")
            self._known.say(
                self._clock.now(),
                f"{row.id} {what}: {row.detail or row.reason}",
                step_id=row.id,
                warning=True,
            )

    # --- rounds ---

    async def _perform(self, moves: Moves) -> None:
        rows = self._known
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
        await self._write()
        await self._stop_strays()

    async def _evaluated(self, asked: Sequence[Asked]) -> tuple[Value, ...]:
        return await self._resources.inputs.evaluate(self.run, self._known.steps, asked)

    async def _ask(self, names: Sequence[str]) -> None:
        steps = [self._graph.steps[name] for name in names]
        values = await self._evaluated([Asked(kind="condition", texts=(step.when or "",)) for step in steps])
        for step, value in zip(steps, values, strict=True):
            row, now = self._known.steps[step.id], self._clock.now()
            if value.error is not None:
                self._known.put(_bad_expression(step, row, value, now))
            elif value.value:
                self._known.put(replace(row, state="ready", reason=None))
            else:
                detail = f"{step.when} is false."
                self._known.put(ended(row, "skipped", now, reason="condition", detail=detail))

    async def _choose(self, names: Sequence[str]) -> None:
        switches = [step for name in names if isinstance(step := self._graph.steps[name], SwitchStep)]
        values = await self._evaluated([asked for step in switches if (asked := asked_of(step)) is not None])
        for step, value in zip(switches, values, strict=True):
            row, now = self._begun(step), self._clock.now()
            if value.error is not None:
                self._known.put(_bad_expression(step, row, value, now))
                continue
            label, steps = chosen(step, value.value if isinstance(value.value, int) else None)
            row = replace(row, choice=SwitchChoice(label=label, steps=steps), output=label)
            self._known.put(ended(row, "succeeded", now))

    async def _compute(self, names: Sequence[str]) -> None:
        room = asyncio.Semaphore(CODE_AT_ONCE)

        async def one(step: CodeStep) -> FlowStep:
            row = self._begun(step)
            async with room:
                found = await self._resources.inputs.compute(
                    self.run, self._known.steps, step, self._settings
                )
            now = self._clock.now()
            if found.error is not None:
                return failed(step, row, now, reason="error", detail=found.error)
            return ended(replace(row, output=found.value), "succeeded", now)

        steps = [step for name in names if isinstance(step := self._graph.steps[name], CodeStep)]
        for row in await asyncio.gather(*(one(step) for step in steps)):
            self._known.put(row)

    def _begun(self, step: Step) -> FlowStep:
        row, now = self._known.steps[step.id], self._clock.now()
        return replace(
            row,
            attempt=max(1, row.attempt),
            started_at=now,
            begun_at=row.begun_at or now,
            deadline_at=None,
            reason=None,
            detail=None,
        )

    # --- what takes time ---

    async def _begin(self, names: Sequence[str]) -> None:
        steps = [self._graph.steps[name] for name in names]
        asked = [found for step in steps if (found := asked_of(step)) is not None]
        values = await self._evaluated(asked)
        agents: list[NewAgent] = []
        beside: list[Query[Run]] = []
        later: list[tuple[AgentStep, AgentCall]] = []
        for step, value in zip(steps, values, strict=True):
            row, now = self._begun(step), self._clock.now()
            if value.error is not None:
                self._known.put(_bad_expression(step, row, value, now))
                continue
            match step:
                case AgentStep():
                    await self._begin_agent(step, row, str(value.value), agents, later)
                case WorkflowStep():
                    await self._begin_workflow(step, row, value.value, beside)
                case ApprovalStep():
                    waiting = replace(row, state="waiting", reason="person", text=str(value.value))
                    self._known.put(_due(waiting, step.timeout_seconds, now))
                case WaitStep():
                    self._known.put(_waiting(step, row, str(value.value), now))
                case SwitchStep() | CodeStep():
                    pass
        together = joined(*beside, read=lambda *made: made[0]) if beside else None
        refusals = await self._write(agents, together)
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
        rows, now = self._known, self._clock.now()
        call = agent_call(self.run, step, row, prompt)
        row = replace(row, hash=hash_of(call), terms=terms_of(call))
        if (lent := self._lent.take(self.run, call, row.hash or "")) is not None:
            row = replace(row, output=lent.output, chat_id=lent.chat_id, reused=True, terms=None)
            rows.put(ended(row, "succeeded", now, reason="reused"))
            return
        if rows.budget_is_spent:
            detail = "The budget of the run is spent."
            rows.put(failed(step, row, now, reason="budget", detail=detail, final=True))
            return
        if (error := self._resources.agent_chats.check(self.run, call)) is not None:
            rows.put(failed(step, row, now, reason="error", detail=error.message, final=True))
            return
        chat_id = ChatId(self._resources.ids.uuid7(now))
        self._calls[step.id, row.attempt] = call
        if call.options.isolation is None:
            agent = await self._prepared(step, call, chat_id)
            if isinstance(agent, str):
                rows.put(failed(step, row, now, reason="error", detail=agent))
                return
            agents.append(agent)
        else:
            # Its place is made when the rows name the chat that it is for.
            later.append((step, call))
        rows.put(_due(replace(row, state="running", chat_id=chat_id), step.timeout_seconds, now))

    async def _prepared(self, step: AgentStep, call: AgentCall, chat_id: ChatId) -> NewAgent | str:
        """The agent, or why there is none."""
        origin = FromFlowStep(flow_run_id=self.run.id, step_id=step.id)
        chats = self._resources.agent_chats
        prepared = await persist(lambda: chats.prepare(self.run, call, chat_id, origin))
        for remark in prepared.remarks:
            self._known.say(self._clock.now(), f"{step.id}: {remark}", step_id=step.id, warning=True)
        if prepared.agent is None:
            return "It cannot be started." if prepared.error is None else prepared.error.message
        return prepared.agent

    async def _make(self, step: AgentStep, call: AgentCall) -> None:
        """An agent whose step runs already."""
        row = self._known.steps[step.id]
        if row.chat_id is None:
            return
        agent = await self._prepared(step, call, row.chat_id)
        if isinstance(agent, str):
            self._refused(row.chat_id, agent)
            return
        _, refusals = await persist(lambda: self._agent_starts.make((agent,), constant(None)))
        for refusal in refusals:
            if refusal is not None and refusal.code != "wrong_state":
                self._refused(agent.chat_id, refusal.text)

    def _refused(self, chat_id: ChatId, why: str) -> None:
        row = self._known.step_of_chat(chat_id)
        if row is not None:
            step = self._graph.steps[row.id]
            self._known.put(
                failed(step, replace(row, chat_id=None), self._clock.now(), reason="error", detail=why)
            )

    async def _begin_workflow(
        self, step: WorkflowStep, row: FlowStep, args: Json, beside: list[Query[Run]]
    ) -> None:
        rows, now, run = self._known, self._clock.now(), self.run
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
            draft = await persist(lambda: self._resources.commands.workflows.draft(wanted))
        except (StoreClosed, TryAgain):
            raise
        except HoldfastError as error:
            rows.put(failed(step, row, now, reason="error", detail=error.text))
            return
        beside.append(runs.create(draft))
        rows.put(_due(replace(row, state="running", workflow_run_id=draft.id), step.timeout_seconds, now))

    async def _begin_those_who_are_missing(self) -> None:
        """Steps that run without an agent: whoever owned the run before came no further."""
        for row in list(self._known.steps.values()):
            step = self._graph.steps[row.id]
            if row.state != "running" or row.chat_id is None or not isinstance(step, AgentStep):
                continue
            if not await persist(lambda chat_id=row.chat_id: self._resources.agent_chats.exists(chat_id)):
                await self._make(step, await self._call(step, row))

    async def _call(self, step: AgentStep, row: FlowStep) -> AgentCall:
        known = self._calls.get((row.id, row.attempt))
        if known is None:
            asked = asked_of(step)
            (value,) = await self._evaluated([] if asked is None else [asked])
            known = self._calls[row.id, row.attempt] = agent_call(self.run, step, row, str(value.value))
        return known

    # --- what has ended ---

    async def _collect(self) -> None:
        run_id = RunId(self.run.id)
        found = await persist(lambda: self._store.read(agent_ends.ends_alone(run_id)))
        if found is None:
            found = await persist(lambda: self._store.read(agent_ends.ends(run_id)))
        for end in found:
            await self._settle(end)
        ended_workflows = await self._collect_workflows()
        if found or ended_workflows:
            self._known.spent = await persist(lambda: self._store.read(flow_runs.spent(self.run.id)))
        await self._settle_previous()
        if self._look_for_people:
            self._look_for_people = False
            await self._who_asks()

    async def _settle(self, end: AgentEnd) -> None:
        chat_id, rows = end.key.child_id, self._known
        row = rows.step_of_chat(chat_id)
        step = None if row is None else self._graph.steps[row.id]
        if row is None or not isinstance(step, AgentStep):
            rows.take([end.key])  # of an attempt that does not count any more
            return
        call = await self._call(step, row)
        chats = self._resources.agent_chats
        answers = () if call.options.schema is None else await persist(lambda: chats.answers(chat_id))
        match meaning(call, end, answers):
            case CallFinished(ended=done, remark=remark):
                if done.outcome != "succeeded" and remark is None and done.error is not None:
                    remark = done.error.message
                await self._part(step, row, end, done.outcome, done.value, remark)
            case Remind():
                rows.take([end.key])
                await persist(lambda: chats.remind(self.run, chat_id))
            case KeepWaiting():
                await self._hold(step, row, end)

    async def _hold(self, step: AgentStep, row: FlowStep, end: AgentEnd) -> None:
        """It will be woken by the ends of its sub-agents. If nobody wakes it, its last words count."""
        chat_id, now = end.key.child_id, self._clock.now()
        at_rest = await persist(lambda: self._store.read(agent_ends.at_rest((chat_id,))))
        if chat_id not in at_rest:
            self._resting.pop(chat_id, None)
        elif now - self._resting.setdefault(chat_id, now) >= timedelta(seconds=HEARING_SECONDS):
            await self._part(step, row, end, "succeeded", end.said, None)

    async def _part(
        self, step: AgentStep, row: FlowStep, end: AgentEnd, outcome: str, value: Json, remark: str | None
    ) -> None:
        rows, now = self._known, self._clock.now()
        rows.take([end.key])
        self._resting.pop(end.key.child_id, None)
        row = replace(row, usage=_more(row.usage, end.usage))
        if step.isolation is not None and (
            left := await self._resources.agent_chats.put_away(end.key.child_id)
        ):
            rows.say(now, f"{step.id}: {left}", step_id=step.id)
        if outcome == "succeeded":
            if remark is not None:
                rows.say(now, remark, step_id=step.id, warning=True)
            rows.put(ended(replace(row, output=value), "succeeded", now))
        elif outcome == "cancelled":
            rows.put(ended(row, "cancelled", now, reason="cancelled", detail=remark))
        else:
            rows.put(failed(step, row, now, reason="error", detail=remark))

    async def _collect_workflows(self) -> bool:
        some = False
        for row in list(self._known.steps.values()):
            if row.state != "running" or row.workflow_run_id is None:
                continue
            found = await persist(lambda run_id=row.workflow_run_id: self._store.read(runs.run(run_id)))
            if found is not None and found.status not in RUN_OVER:
                continue
            some, step, now = True, self._graph.steps[row.id], self._clock.now()
            if found is not None and found.status == "succeeded":
                self._known.put(ended(replace(row, output=found.result), "succeeded", now))
            elif found is not None and found.status == "cancelled":
                self._known.put(
                    ended(row, "cancelled", now, reason="cancelled", detail="Its run was cancelled.")
                )
            else:
                detail = "Its run is gone." if found is None or found.error is None else found.error.message
                self._known.put(failed(step, row, now, reason="error", detail=detail))
        return some

    async def _settle_previous(self) -> None:
        """Chats of attempts before are stopped; the next attempt waits until they are at rest."""
        waiting = [row for row in self._known.steps.values() if row.previous_chat_id is not None]
        chats = tuple(row.previous_chat_id for row in waiting if row.previous_chat_id is not None)
        if not chats:
            return
        at_rest = await persist(lambda: self._store.read(agent_ends.at_rest(chats)))
        for row in waiting:
            chat_id = row.previous_chat_id
            assert chat_id is not None
            if chat_id in at_rest or not await persist(
                lambda c=chat_id: self._resources.agent_chats.exists(c)
            ):
                self._known.put(replace(row, previous_chat_id=None))
            else:
                await persist(lambda c=chat_id: self._resources.agent_chats.stop(c))

    async def _stop_strays(self) -> None:
        """Whoever works for a step that has ended."""
        chats, workflows = await persist(lambda: self._store.read(flow_runs.strayed(self.run.id)))
        for chat_id in chats:
            await persist(lambda c=chat_id: self._resources.agent_chats.stop(c))
        for run_id in workflows:
            await persist(lambda r=run_id: self._resources.commands.workflows.cancel(r))

    async def _who_asks(self) -> None:
        found = await persist(lambda: self._store.read(agent_ends.asking(RunId(self.run.id))))
        before, self._asking = self._asking, found
        for chat_id in before ^ found:
            if (row := self._known.step_of_chat(chat_id)) is not None:
                self._known.touch(row.id)

    # --- ends ---

    async def _finish(self, failing: Sequence[str]) -> bool:
        rows, flow = self._known, self._graph.flow
        if failing:
            reasons = [f"{name} ({rows.steps[name].detail or rows.steps[name].reason})" for name in failing]
            error = FlowError(message=f"Steps failed: {', '.join(reasons)}", steps=tuple(failing))
            return await self._end(FlowEnding(status="failed", error=error, result=await self._report()))
        result: Json = {
            step.id: rows.steps[step.id].output
            for step in flow.steps
            if not self._graph.followers[step.id] and rows.steps[step.id].state == "succeeded"
        }
        if flow.report is not None:
            (value,) = await self._evaluated([Asked(kind="template", texts=(flow.report,))])
            if value.error is not None:
                error = FlowError(message=f"The report cannot be made: {value.error}.")
                return await self._end(FlowEnding(status="failed", error=error))
            result = value.value
        return await self._end(FlowEnding(status="succeeded", result=result))

    async def _report(self) -> Json:
        """Of a run that failed: if there is enough to make one."""
        if self._graph.flow.report is None:
            return None
        (value,) = await self._evaluated([Asked(kind="template", texts=(self._graph.flow.report,))])
        return value.value

    async def _stop(self, status: str, error: FlowError) -> bool:
        """Ends the run with whatever is open in it."""
        now = self._clock.now()
        for row in list(self._known.steps.values()):
            if not row.is_final:
                self._known.put(ended(row, "cancelled", now, reason="cancelled", detail=error.message))
        ending = FlowEnding(status="timed_out" if status == "timed_out" else "failed", error=error)
        return await self._end(ending)

    async def _end(self, ending: FlowEnding) -> bool:
        rows = self._known
        reused = sum(row.reused for row in rows.steps.values())
        if reused:
            rows.say(self._clock.now(), f"{reused} steps were reused from run {self.run.resumed_from}.")
        if self._lent.withheld:
            text = f"{self._lent.withheld} steps ran again because the workspace has changed since that run."
            rows.say(self._clock.now(), text)
        await self._write(ending=ending)
        await persist(lambda: self._resources.commands.call_off(self.run.id))
        return True


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


def _more(before: Usage | None, usage: Usage) -> Usage:
    return usage if before is None else before + usage
