"""`run_workflow`: an agent starts a workflow and waits for its result. A call starts one run however often it
is tried; the result is told once, with the call. A run whose call nobody waits for any more is cancelled by
the keeper."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from holdfast.core.errors import HoldfastError, TryAgain
from holdfast.core.ids import ChatId
from holdfast.core.runs import OVER, AskedBy, Run
from holdfast.core.shapes import Json
from holdfast.scripts.runs.starting import Runs, Wanted
from holdfast.store import budgets, choices, journals, named_agents, runs
from holdfast.tools.choice import narrowed
from holdfast.tools.contract import Answer, Context, Input, Tool, ToolError
from holdfast.tools.family import Family
from holdfast.tools.patience import heard, patient

LOOK_SECONDS = 3600.0
SHOWN_LINES = 20


class RunWorkflow(Input, frozen=True, kw_only=True):
    name: Annotated[str | None, Meta(description="A workflow by its name.", examples=["review-code"])] = None
    script: Annotated[str | None, Meta(description="Or the text of a script of your own, with its meta.")] = (
        None
    )
    language: Annotated[
        Literal["javascript", "python"], Meta(description="Of the script.", examples=["javascript"])
    ] = "javascript"
    args: Annotated[
        object | msgspec.UnsetType,
        Meta(description="Arguments of the workflow, any JSON.", examples=[{"path": "src"}]),
    ] = msgspec.UNSET


def workflow_tool(commands: Runs, family: Family) -> Tool:
    return Tool(
        name="run_workflow",
        description=(
            "Run a workflow, in which a script lets many agents work together, and wait for its result. For "
            "work in many independent parts: reviews from several sides, research, searches in rounds."
        ),
        input=RunWorkflow,
        run=patient(_Workflows(commands, family).run),
        # A repeated call finds the run that the first one started.
        effect="idempotent",
        timeout_seconds=None,
    )


class _Workflows:
    def __init__(self, commands: Runs, family: Family) -> None:
        self._commands = commands
        self._family = family
        self._store = family.store

    async def run(self, context: Context, wanted: RunWorkflow) -> Answer:
        run = await self._store.read(runs.of_call(context.chat_id, context.call_id))
        if run is None:
            run = await self._start(context, wanted)
        async with self._family.bus.listen(run_id=run.id) as events:

            async def is_over() -> bool:
                found = await self._store.read(runs.run(run.id))
                return found is None or found.status in OVER

            while not await heard(events, is_over, LOOK_SECONDS):
                pass
        return await self._told(run)

    async def _start(self, context: Context, wanted: RunWorkflow) -> Run:
        try:
            return await self._commands.start(await self._wanted(context, wanted))
        except TryAgain:
            raise
        except HoldfastError as error:
            raise ToolError(error.text) from None

    async def _wanted(self, context: Context, wanted: RunWorkflow) -> Wanted:
        """With the rights, the model and what is left of the budget of the chat that asks."""
        view = await self._store.view(context.chat_id)
        caps, chosen, agent = await self._store.read(
            budgets.caps(context.chat_id),
            choices.settings(context.chat_id),
            named_agents.of_chat(context.chat_id),
        )
        if view is None or chosen is None:
            raise ToolError("This chat is gone.")
        await self._check_place(view.chat.root_id)
        left = [cap.tokens - cap.spent_tokens for cap in caps if cap.tokens is not None]
        if min(left, default=1) <= 0:
            raise ToolError("The budget is spent: nothing is left for a workflow. Finish with what you have.")
        return Wanted(
            owner_id=context.owner_id,
            name=wanted.name,
            script=wanted.script,
            language=None if wanted.script is None else wanted.language,
            args=wanted.args,
            budget=min(left, default=None),
            model=view.chat.turn_model or chosen.model or (agent.model if agent else None),
            effort=view.chat.turn_effort or chosen.effort or (agent.effort if agent else None),
            workspace_id=context.workspace_id,
            asked_by=AskedBy(chat_id=context.chat_id, call_id=context.call_id),
            tools=narrowed(chosen.tools, None if agent is None else agent.tools),
        )

    async def _check_place(self, root_id: ChatId) -> None:
        root = await self._store.view(root_id)
        if root is not None and root.chat.run_id is not None:
            raise ToolError("You work inside a workflow, which cannot start another one: do it yourself.")

    async def _told(self, run: Run) -> Answer:
        found = await self._store.read(journals.details(run.id))
        if found is None:
            raise ToolError("The run was deleted.")
        run = found.run
        output: dict[str, Json] = {"run_id": run.id, "status": run.status}
        match run.status:
            case "succeeded":
                return Answer(output={**output, "result": run.result})
            case "failed" if run.error is not None:
                said = [line.text for line in found.lines[-SHOWN_LINES:]]
                failed = {**output, "error": run.error.message, "line": run.error.line, "log": said}
                return Answer(output=failed, outcome="failed")
            case _:
                return Answer(output=output, outcome="failed")
