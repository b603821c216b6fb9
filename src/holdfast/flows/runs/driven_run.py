"""A flow run while a process drives it: its rows, what was read with them, and how they are written."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from holdfast.chats.change import Refusal
from holdfast.chats.start import NewAgent
from holdfast.core.clock import Clock, SteadyClock
from holdfast.core.flow_runs import FlowDetails, FlowRun, FlowStep
from holdfast.core.ids import Ids
from holdfast.core.runs import Run
from holdfast.duties.persistence import persist
from holdfast.flows import definition
from holdfast.flows.definition import (
    AgentStep,
)
from holdfast.flows.evaluator_messages import Asked, Value
from holdfast.flows.runs.flow_start import FlowRuns
from holdfast.flows.runs.lending import Lent
from holdfast.flows.runs.run_rows import RunRows
from holdfast.flows.runs.step_inputs import StepInputs, agent_call, asked_of
from holdfast.flows.schedule import Graph
from holdfast.scripts.engines.messages import AgentCall
from holdfast.scripts.runs.agent_chats import AgentChats
from holdfast.scripts.runs.settings import RunSettings
from holdfast.store import flow_rows
from holdfast.store.flow_rows import FlowEnding
from holdfast.store.interface import Store
from holdfast.store.query import Query, joined
from holdfast.worker.agent_starts import AgentStarts


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


class DrivenRun:
    def __init__(self, run: FlowRun, resources: FlowResources, agent_starts: AgentStarts) -> None:
        self.run = run
        self.version = run.version
        self.resources = resources
        self.agent_starts = agent_starts
        # Deadlines are stored; a jump of the wall clock while the run is driven must not end an agent.
        self.clock: Clock = SteadyClock(resources.clock)
        self.settings = resources.settings()
        self.graph = Graph(definition.decode(run.definition))
        self.lent = Lent()
        # The calls of agent steps, by step and attempt; worked out again after a takeover.
        self.calls: dict[tuple[str, int], AgentCall] = {}
        # None until the rows are read for the first time.
        self.loaded: RunRows | None = None

    @property
    def rows(self) -> RunRows:
        assert self.loaded is not None
        return self.loaded

    def load(self, details: FlowDetails) -> None:
        self.run = details.run
        self.loaded = RunRows(details)
        self.version = details.run.version

    async def evaluated(self, asked: Sequence[Asked]) -> tuple[Value, ...]:
        return await self.resources.inputs.evaluate(self.run, self.rows.steps, asked)

    async def call(self, step: AgentStep, row: FlowStep) -> AgentCall:
        known = self.calls.get((row.id, row.attempt))
        if known is None:
            asked = asked_of(step)
            (value,) = await self.evaluated([] if asked is None else [asked])
            known = self.calls[row.id, row.attempt] = agent_call(self.run, step, row, str(value.value))
        return known

    async def write(
        self,
        agents: Sequence[NewAgent] = (),
        beside: Query[Run] | None = None,
        *,
        ending: FlowEnding | None = None,
        waits: bool = False,
        wake_at: int | None = None,
    ) -> Sequence[Refusal | None]:
        rows = self.rows
        for row in rows.moved:
            self._tell(row)
        key = self.resources.ids.uuid7(self.clock.now())
        entries = rows.unwritten(key, ending=ending, waits=waits, wake_at=wake_at)
        if entries is None:
            return []
        record = flow_rows.record(self.run.id, self.run.lease_number, rows.version, entries)
        if beside is not None:
            record = joined(record, beside, read=lambda version, _: version)
        version, refusals = await persist(lambda: self.agent_starts.make(agents, record))
        rows.written(version)
        self.version = version
        return refusals

    def _tell(self, row: FlowStep) -> None:
        """A log line for each step that failed or is tried again."""
        if row.state in ("failed", "timed_out") or row.reason == "retry":
            what = "is tried again" if row.reason == "retry" else row.state.replace("_", " ")
            self.rows.say(
                self.clock.now(),
                f"{row.id} {what}: {row.detail or row.reason}",
                step_id=row.id,
                warning=True,
            )
