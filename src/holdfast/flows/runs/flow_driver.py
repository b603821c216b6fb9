"""Drives one flow run under its lease, in pulses. A pulse collects what has ended (`step_ends.py`), decides
the next round (`flows/schedule.py`), starts it (`step_starts.py`) and writes all of it together. A write
counts only on the rows it was decided on; if somebody else wrote meanwhile, the rows are read again. A
takeover is a pulse like any other."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime, timedelta

import structlog

from holdfast.core.chats import Status
from holdfast.core.clock import to_micros
from holdfast.core.errors import HoldfastError, StoreClosed, TryAgain
from holdfast.core.flow_runs import FlowError, FlowRun
from holdfast.core.ids import ChatId, FlowRunId, RunId
from holdfast.core.shapes import Json
from holdfast.core.shortage import is_shortage
from holdfast.duties.persistence import persist
from holdfast.flows.evaluator_messages import Asked
from holdfast.flows.runs.driven_run import DrivenRun, FlowResources
from holdfast.flows.runs.lending import Lent
from holdfast.flows.runs.step_ends import StepEnds
from holdfast.flows.runs.step_starts import StepStarts
from holdfast.flows.schedule import FlowFinished, Moves, Rest, Stuck, decide, ended
from holdfast.store import flow_runs
from holdfast.store.flow_rows import FlowEnding, FlowMoved
from holdfast.worker.agent_starts import AgentStarts

log = structlog.get_logger(__name__)

# A run that waits for less than this keeps its lease: the next owner may have another clock.
HOLD_SECONDS = 30.0


class FlowLost(Exception):
    """The run has another owner, is over, or was deleted."""


class FlowDriver:
    def __init__(self, run: FlowRun, resources: FlowResources, agent_starts: AgentStarts) -> None:
        self._driven = DrivenRun(run, resources, agent_starts)
        self._starts = StepStarts(self._driven)
        self._ends = StepEnds(self._driven)
        self._is_stale = True
        self._awake = asyncio.Event()

    @property
    def run_id(self) -> FlowRunId:
        return self._driven.run.id

    def wake(self) -> None:
        self._awake.set()

    def hear(self, chat_id: ChatId, status: Status | None) -> None:
        """A chat changed, perhaps one of this run's."""
        rows = self._driven.loaded
        if rows is None:
            return
        waits = any(row.previous_chat_id == chat_id for row in rows.steps.values())
        if not waits and rows.step_of_chat(chat_id) is None:
            return
        if status == "requires_action" or chat_id in self._ends.asking:
            self._ends.look_for_people = True
            self.wake()
        elif status not in ("running", "interrupting"):
            self.wake()

    def hear_run(self, run_id: RunId, version: int, over: bool) -> None:
        """A run changed: this one, because a person acted on it, or a workflow run that a step waits for."""
        if run_id == self._driven.run.id:
            if version > self._driven.version:
                self._is_stale = True
                self.wake()
        elif over and self._driven.loaded is not None and self._driven.loaded.step_of_run(run_id) is not None:
            self.wake()

    async def drive(self) -> None:
        """Drives the run until it is over, waits for people, or has another owner. If this is cancelled,
        the next owner continues from the rows."""
        try:
            try:
                await self._drive()
            except (StoreClosed, FlowLost):
                raise
            except Exception as error:
                if isinstance(error, TryAgain) or is_shortage(error):
                    raise
                log.exception("flow run failed", run_id=self._driven.run.id)
                text = error.text if isinstance(error, HoldfastError) else type(error).__name__
                await self.fail(f"The run failed because of a fault in Holdfast: {text}")
        except (StoreClosed, FlowLost) as error:
            log.info("flow run let go", run_id=self._driven.run.id, reason=str(error))

    async def fail(self, reason: str) -> None:
        """Fails the run without running anything again."""
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
        """One pulse; whether it was the last."""
        await self._ends.collect()
        rows, now = self._driven.rows, self._driven.clock.now()
        if (late := self._run_deadline) is not None and late <= now:
            seconds = self._driven.settings.run_seconds
            return await self._stop(
                "timed_out", FlowError(message=f"The run took longer than {seconds:g} s.")
            )
        match decide(self._driven.graph, rows.steps, now, slots=self._driven.settings.max_concurrency):
            case Moves() as moves:
                await self._starts.perform(moves)
                if not moves.begin:
                    await self._ends.stop_strays()
            case FlowFinished(failed=failing):
                return await self._finish(failing)
            case Stuck(steps=steps):
                message = f"Nothing can go on: {', '.join(steps)} wait for something that will not come."
                return await self._stop("failed", FlowError(message=message, steps=steps))
            case Rest(until=until, is_waiting=is_waiting):
                await self._driven.write()
                if is_waiting and self._may_let_go(until):
                    await self._driven.write(waits=True, wake_at=None if until is None else to_micros(until))
                    return True
                await self._rest(until)
        return False

    def _may_let_go(self, until: datetime | None) -> bool:
        return until is None or until - self._driven.clock.now() > timedelta(seconds=HOLD_SECONDS)

    @property
    def _run_deadline(self) -> datetime | None:
        seconds, started_at = self._driven.settings.run_seconds, self._driven.run.started_at
        return None if not seconds or started_at is None else started_at + timedelta(seconds=seconds)

    async def _rest(self, until: datetime | None) -> None:
        """Waits until something may have ended or is due."""
        due = [moment for moment in (until, self._run_deadline) if moment is not None]
        left = (
            (min(due) - self._driven.clock.now()).total_seconds()
            if due
            else self._driven.settings.poll_seconds
        )
        with suppress(TimeoutError):
            async with asyncio.timeout(max(0.0, min(left, self._driven.settings.poll_seconds))):
                await self._awake.wait()
        # No hint came in all that time: one may have been lost.
        self._ends.look_for_people = self._ends.look_for_people or not self._awake.is_set()
        self._awake.clear()

    async def _load(self) -> None:
        found = await persist(
            lambda: self._driven.resources.store.read(flow_runs.details(self._driven.run.id))
        )
        if (
            found is None
            or found.run.status != "running"
            or found.run.lease_number != self._driven.run.lease_number
        ):
            raise FlowLost("it is over, or has another owner")
        self._is_stale = False
        first = self._driven.loaded is None
        self._driven.load(found)
        if first:
            self._driven.lent = await self._lending()
            if found.run.reuse is not None and not found.lines:
                self._driven.rows.say(self._driven.clock.now(), found.run.reuse)
            await self._starts.begin_missing()
        await self._ends.stop_strays()

    async def _lending(self) -> Lent:
        lender = self._driven.run.resumed_from
        if lender is None:
            return Lent()
        found = await persist(lambda: self._driven.resources.store.read(flow_runs.details(lender)))
        return Lent() if found is None else Lent.of(found, self._driven.run)

    # --- ends ---

    async def _finish(self, failing: Sequence[str]) -> bool:
        rows, flow = self._driven.rows, self._driven.graph.flow
        if failing:
            reasons = [f"{name} ({rows.steps[name].detail or rows.steps[name].reason})" for name in failing]
            error = FlowError(message=f"Steps failed: {', '.join(reasons)}", steps=tuple(failing))
            return await self._end(FlowEnding(status="failed", error=error, result=await self._report()))
        result: Json = {
            step.id: rows.steps[step.id].output
            for step in flow.steps
            if not self._driven.graph.followers[step.id] and rows.steps[step.id].state == "succeeded"
        }
        if flow.report is not None:
            (value,) = await self._driven.evaluated([Asked(kind="template", texts=(flow.report,))])
            if value.error is not None:
                error = FlowError(message=f"The report cannot be made: {value.error}.")
                return await self._end(FlowEnding(status="failed", error=error))
            result = value.value
        return await self._end(FlowEnding(status="succeeded", result=result))

    async def _report(self) -> Json:
        """The report of a failed run, if its steps give enough to make one."""
        if self._driven.graph.flow.report is None:
            return None
        (value,) = await self._driven.evaluated(
            [Asked(kind="template", texts=(self._driven.graph.flow.report,))]
        )
        return value.value

    async def _stop(self, status: str, error: FlowError) -> bool:
        """Ends the run and its open steps."""
        now = self._driven.clock.now()
        for row in list(self._driven.rows.steps.values()):
            if not row.is_final:
                self._driven.rows.put(ended(row, "cancelled", now, reason="cancelled", detail=error.message))
        ending = FlowEnding(status="timed_out" if status == "timed_out" else "failed", error=error)
        return await self._end(ending)

    async def _end(self, ending: FlowEnding) -> bool:
        rows = self._driven.rows
        reused = sum(row.reused for row in rows.steps.values())
        if reused:
            rows.say(
                self._driven.clock.now(),
                f"{reused} steps were reused from run {self._driven.run.resumed_from}.",
            )
        if self._driven.lent.withheld:
            many = self._driven.lent.withheld
            text = f"{many} steps ran again because the workspace has changed since that run."
            rows.say(self._driven.clock.now(), text)
        await self._driven.write(ending=ending)
        await persist(lambda: self._driven.resources.commands.call_off(self._driven.run.id))
        return True
