"""What has ended in a flow run: answers of agents and workflows are collected, earlier attempts are waited
for, and chats and workflow runs whose step is over are stopped."""

from datetime import datetime, timedelta

from msgspec.structs import replace

from holdfast.core.flow_runs import FlowStep
from holdfast.core.ids import ChatId, RunId
from holdfast.core.runs import OVER as RUN_OVER
from holdfast.core.shapes import Json
from holdfast.core.usage import Usage
from holdfast.duties.persistence import persist
from holdfast.flows.definition import (
    AgentStep,
)
from holdfast.flows.runs.driven_run import DrivenRun
from holdfast.flows.schedule import ended, failed
from holdfast.scripts.runs.ends import CallFinished, KeepWaiting, Remind, meaning
from holdfast.store import agent_ends, flow_runs, runs
from holdfast.store.agent_ends import AgentEnd

# How long an agent may take to react to the ends of its sub-agents; after that, its last answer counts.
HEARING_SECONDS = 10.0


class StepEnds:
    def __init__(self, driven: DrivenRun) -> None:
        self._driven = driven
        # Agents whose sub-agents have all ended and who were not woken by it, and since when.
        self._resting: dict[ChatId, datetime] = {}
        # Agents that wait for a person.
        self.asking: frozenset[ChatId] = frozenset()
        self.look_for_people = True

    async def collect(self) -> None:
        run_id = RunId(self._driven.run.id)
        found = await persist(lambda: self._driven.resources.store.read(agent_ends.ends_alone(run_id)))
        if found is None:
            found = await persist(lambda: self._driven.resources.store.read(agent_ends.ends(run_id)))
        for end in found:
            await self._settle(end)
        ended_workflows = await self._collect_workflows()
        if found or ended_workflows:
            self._driven.rows.spent = await persist(
                lambda: self._driven.resources.store.read(flow_runs.spent(self._driven.run.id))
            )
        await self._settle_previous()
        if self.look_for_people:
            self.look_for_people = False
            await self._who_asks()

    async def _settle(self, end: AgentEnd) -> None:
        chat_id, rows = end.key.child_id, self._driven.rows
        row = rows.step_of_chat(chat_id)
        step = None if row is None else self._driven.graph.steps[row.id]
        if row is None or not isinstance(step, AgentStep):
            rows.take([end.key])  # of an earlier attempt, which no longer counts
            return
        call = await self._driven.call(step, row)
        chats = self._driven.resources.agent_chats
        answers = () if call.options.schema is None else await persist(lambda: chats.answers(chat_id))
        match meaning(call, end, answers):
            case CallFinished(ended=done, remark=remark):
                if done.outcome != "succeeded" and remark is None and done.error is not None:
                    remark = done.error.message
                await self._part(step, row, end, done.outcome, done.value, remark)
            case Remind():
                rows.take([end.key])
                await persist(lambda: chats.remind(self._driven.run, chat_id))
            case KeepWaiting():
                await self._hold(step, row, end)

    async def _hold(self, step: AgentStep, row: FlowStep, end: AgentEnd) -> None:
        """The ends of its sub-agents should wake the agent. If they do not, its last answer counts."""
        chat_id, now = end.key.child_id, self._driven.clock.now()
        at_rest = await persist(lambda: self._driven.resources.store.read(agent_ends.at_rest((chat_id,))))
        if chat_id not in at_rest:
            self._resting.pop(chat_id, None)
        elif now - self._resting.setdefault(chat_id, now) >= timedelta(seconds=HEARING_SECONDS):
            await self._part(step, row, end, "succeeded", end.said, None)

    async def _part(
        self, step: AgentStep, row: FlowStep, end: AgentEnd, outcome: str, value: Json, remark: str | None
    ) -> None:
        rows, now = self._driven.rows, self._driven.clock.now()
        rows.take([end.key])
        self._resting.pop(end.key.child_id, None)
        row = replace(row, usage=_more(row.usage, end.usage))
        if step.isolation is not None and (
            left := await self._driven.resources.agent_chats.put_away(end.key.child_id)
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
        for row in list(self._driven.rows.steps.values()):
            if row.state != "running" or row.workflow_run_id is None:
                continue
            found = await persist(
                lambda run_id=row.workflow_run_id: self._driven.resources.store.read(runs.run(run_id))
            )
            if found is not None and found.status not in RUN_OVER:
                continue
            some, step, now = True, self._driven.graph.steps[row.id], self._driven.clock.now()
            if found is not None and found.status == "succeeded":
                self._driven.rows.put(ended(replace(row, output=found.result), "succeeded", now))
            elif found is not None and found.status == "cancelled":
                self._driven.rows.put(
                    ended(row, "cancelled", now, reason="cancelled", detail="Its run was cancelled.")
                )
            else:
                detail = "Its run is gone." if found is None or found.error is None else found.error.message
                self._driven.rows.put(failed(step, row, now, reason="error", detail=detail))
        return some

    async def _settle_previous(self) -> None:
        """Stops chats of earlier attempts; the next attempt waits until they are at rest."""
        waiting = [row for row in self._driven.rows.steps.values() if row.previous_chat_id is not None]
        chats = tuple(row.previous_chat_id for row in waiting if row.previous_chat_id is not None)
        if not chats:
            return
        at_rest = await persist(lambda: self._driven.resources.store.read(agent_ends.at_rest(chats)))
        for row in waiting:
            chat_id = row.previous_chat_id
            assert chat_id is not None
            if chat_id in at_rest or not await persist(
                lambda c=chat_id: self._driven.resources.agent_chats.exists(c)
            ):
                self._driven.rows.put(replace(row, previous_chat_id=None))
            else:
                await persist(lambda c=chat_id: self._driven.resources.agent_chats.stop(c))

    async def stop_strays(self) -> None:
        """Stops chats and workflow runs whose step has ended."""
        chats, workflows = await persist(
            lambda: self._driven.resources.store.read(flow_runs.strayed(self._driven.run.id))
        )
        for chat_id in chats:
            await persist(lambda c=chat_id: self._driven.resources.agent_chats.stop(c))
        for run_id in workflows:
            await persist(lambda r=run_id: self._driven.resources.commands.workflows.cancel(r))

    async def _who_asks(self) -> None:
        found = await persist(
            lambda: self._driven.resources.store.read(agent_ends.asking(RunId(self._driven.run.id)))
        )
        before, self.asking = self.asking, found
        for chat_id in before ^ found:
            if (row := self._driven.rows.step_of_chat(chat_id)) is not None:
                self._driven.rows.touch(row.id)


def _more(before: Usage | None, usage: Usage) -> Usage:
    return usage if before is None else before + usage
