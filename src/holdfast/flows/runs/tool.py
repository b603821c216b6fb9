"""`run_flow`: an agent starts a flow and waits for its result. A call starts one run, however often it is
repeated, and delivers the result once. The flow duty cancels a run whose call is no longer waited for."""

from typing import Annotated

import msgspec
from msgspec import Meta

from holdfast.core.errors import HoldfastError, TryAgain
from holdfast.core.flow_runs import OVER, FlowRun
from holdfast.core.ids import ChatId, RunId
from holdfast.core.runs import AskedBy
from holdfast.core.shapes import Json
from holdfast.flows.runs.flow_start import FlowRequest, FlowRuns
from holdfast.store import budgets, flow_runs, named_agents, settings_rules
from holdfast.tools.choice import narrowed
from holdfast.tools.contract import Input, Tool, ToolAnswer, ToolContext, ToolError
from holdfast.tools.family import AgentFamily
from holdfast.tools.waits import heard, patient

LOOK_SECONDS = 3600.0
# The catalogue's flows exist everywhere.
BUILT_IN = "research-report, review-and-fix, triage-issues, upgrade-dependency"


class RunFlow(Input, frozen=True, kw_only=True):
    name: Annotated[str | None, Meta(description="A flow by its name.", examples=["review-and-fix"])] = None
    flow: Annotated[str | None, Meta(description="Or the text of a flow of your own, as YAML.")] = None
    args: Annotated[
        object | msgspec.UnsetType,
        Meta(description="Arguments of the flow, any JSON.", examples=[{"path": "src"}]),
    ] = msgspec.UNSET
    fresh: Annotated[bool, Meta(description="Reuse nothing that an earlier run finished.")] = False


def flow_tools(commands: FlowRuns, family: AgentFamily) -> tuple[Tool, ...]:
    return (
        Tool(
            name="run_flow",
            description=(
                "Run a flow, a fixed graph of agents, code, approvals by people and switches, and wait for "
                "its result. For processes that must go the same way each time. Always there: "
                f"{BUILT_IN}; others are files of the workspace in .holdfast/flows."
            ),
            input=RunFlow,
            run=patient(_Flows(commands, family).run),
            # A repeated call finds the run that the first attempt started.
            effect="idempotent",
            traits=("waits_for_children",),
            timeout_seconds=None,
        ),
    )


class _Flows:
    def __init__(self, commands: FlowRuns, family: AgentFamily) -> None:
        self._commands = commands
        self._family = family
        self._store = family.store

    async def run(self, context: ToolContext, wanted: RunFlow) -> ToolAnswer:
        run = await self._store.read(flow_runs.of_call(context.chat_id, context.call_id))
        if run is None:
            run = await self._start(context, wanted)
        async with self._family.bus.listen(run_id=RunId(run.id)) as events:

            async def is_over() -> bool:
                found = await self._store.read(flow_runs.run(run.id))
                return found is None or found.status in OVER

            while not await heard(events, is_over, LOOK_SECONDS):
                pass
        return await self._told(run)

    async def _start(self, context: ToolContext, wanted: RunFlow) -> FlowRun:
        try:
            return await self._commands.start(await self._wanted(context, wanted), context.fence)
        except TryAgain:
            raise
        except HoldfastError as error:
            raise ToolError(error.text) from None

    async def _wanted(self, context: ToolContext, wanted: RunFlow) -> FlowRequest:
        """With the permissions, the model and the remaining budget of the calling chat."""
        view = await self._store.view(context.chat_id)
        caps, chosen, agent = await self._store.read(
            budgets.caps(context.chat_id),
            settings_rules.settings(context.chat_id),
            named_agents.of_chat(context.chat_id),
        )
        if view is None or chosen is None:
            raise ToolError("This chat is gone.")
        await self._check_place(view.chat.root_id)
        left = [cap.tokens - cap.spent_tokens for cap in caps if cap.tokens is not None]
        if min(left, default=1) <= 0:
            raise ToolError("The budget is spent: nothing is left for a flow. Finish with what you have.")
        return FlowRequest(
            owner_id=context.owner_id,
            name=wanted.name,
            flow=wanted.flow,
            args=wanted.args,
            budget=min(left, default=None),
            model=view.chat.turn_model or chosen.model or (agent.model if agent else None),
            effort=view.chat.turn_effort or chosen.effort or (agent.effort if agent else None),
            workspace_id=context.workspace_id,
            fresh=wanted.fresh,
            asked_by=AskedBy(chat_id=context.chat_id, call_id=context.call_id),
            tools=narrowed(chosen.tools, None if agent is None else agent.tools),
        )

    async def _check_place(self, root_id: ChatId) -> None:
        root = await self._store.view(root_id)
        if root is not None and root.chat.run_id is not None:
            raise ToolError("You work inside a run, which cannot start a flow: do it yourself.")

    async def _told(self, run: FlowRun) -> ToolAnswer:
        found = await self._store.read(flow_runs.details(run.id))
        if found is None:
            raise ToolError("The run was deleted.")
        output: dict[str, Json] = {"run_id": run.id, "status": found.run.status}
        if found.run.reuse is not None:
            output |= {"reused_steps": sum(row.reused for row in found.steps), "reuse": found.run.reuse}
        if found.run.status == "succeeded":
            return ToolAnswer(output={**output, "result": found.run.result})
        if found.run.error is not None:
            output["error"] = found.run.error.message
        output["steps"] = {row.id: row.state for row in found.steps}
        return ToolAnswer(output=output, outcome="failed")
