"""`run_workflow`: an agent starts a workflow and waits for its result. A call starts one run however often it
is tried; the result is delivered once, with the call. A run whose call nobody waits for any more is cancelled
by the run duty."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from holdfast.core.errors import HoldfastError, TryAgain
from holdfast.core.ids import ChatId
from holdfast.core.runs import OVER, AskedBy, Run
from holdfast.core.shapes import Json
from holdfast.scripts.runs import prompt_text
from holdfast.scripts.runs.run_start import RunRequest, Runs
from holdfast.store import budgets, journals, named_agents, runs, settings_rules
from holdfast.tools.choice import narrowed
from holdfast.tools.contract import Input, Tool, ToolAnswer, ToolContext, ToolError
from holdfast.tools.family import AgentFamily
from holdfast.tools.waits import heard, patient

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
    fresh: Annotated[bool, Meta(description="Reuse nothing that an earlier run finished.")] = False
    reuse: Annotated[
        bool,
        Meta(
            description="Reuse what an earlier run with the same arguments finished, also if it succeeded. "
            "Without it only a run that failed or was cancelled is gone on with."
        ),
    ] = False


class ReadWorkflow(Input, frozen=True, kw_only=True):
    name: Annotated[
        str | None,
        Meta(
            description="All of one workflow: its arguments, when to use it, its script. Without a name: "
            "which workflows there are, and how scripts are written.",
            examples=["review-code"],
        ),
    ] = None


def workflow_tools(commands: Runs, family: AgentFamily) -> tuple[Tool, ...]:
    return workflow_tool(commands, family), _reading_tool(commands)


def _reading_tool(commands: Runs) -> Tool:
    async def read(context: ToolContext, wanted: ReadWorkflow) -> ToolAnswer:
        library = commands.library
        try:
            found = await library.listed(context.workspace_id, context.owner_id)
            if wanted.name is None:
                return ToolAnswer(output=f"Workflows:\n{prompt_text.listed(found)}\n\n{prompt_text.WORDS}")
            one = await library.find(wanted.name, context.workspace_id, context.owner_id)
        except TryAgain:
            raise
        except HoldfastError as error:
            raise ToolError(error.text) from None
        return ToolAnswer(output=prompt_text.whole(one))

    return Tool(
        name="read_workflow",
        description="Read a workflow before you run it; or the list of all, with how scripts are written.",
        input=ReadWorkflow,
        run=read,
        effect="read",
    )


# Those of the catalogue, as a model is told of them with the tool itself: they are everywhere.
BUILT_IN = "bounty-hunt, deep-research, find-issues, multi-review, plan-verify, review-code"


def workflow_tool(commands: Runs, family: AgentFamily) -> Tool:
    return Tool(
        name="run_workflow",
        description=(
            "Run a workflow, in which a script lets many agents work together, and wait for its result. For "
            "work in many independent parts: reviews from several sides, research, searches in rounds. "
            f"Always there: {BUILT_IN}; read_workflow tells what each takes, and the words to write one: "
            "agent(prompt, options), parallel(functions), pipeline(items, ...stages), phase, log, budget."
        ),
        input=RunWorkflow,
        run=patient(_Workflows(commands, family).run),
        # A repeated call finds the run that the first one started.
        effect="idempotent",
        traits=("waits_for_children",),
        timeout_seconds=None,
    )


class _Workflows:
    def __init__(self, commands: Runs, family: AgentFamily) -> None:
        self._commands = commands
        self._family = family
        self._store = family.store

    async def run(self, context: ToolContext, wanted: RunWorkflow) -> ToolAnswer:
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

    async def _start(self, context: ToolContext, wanted: RunWorkflow) -> Run:
        try:
            return await self._commands.start(await self._wanted(context, wanted), context.fence)
        except TryAgain:
            raise
        except HoldfastError as error:
            raise ToolError(error.text) from None

    async def _wanted(self, context: ToolContext, wanted: RunWorkflow) -> RunRequest:
        """With the permissions, the model and the remaining budget of the chat that asks."""
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
            raise ToolError("The budget is spent: nothing is left for a workflow. Finish with what you have.")
        return RunRequest(
            owner_id=context.owner_id,
            name=wanted.name,
            script=wanted.script,
            language=None if wanted.script is None else wanted.language,
            args=wanted.args,
            budget=min(left, default=None),
            model=view.chat.turn_model or chosen.model or (agent.model if agent else None),
            effort=view.chat.turn_effort or chosen.effort or (agent.effort if agent else None),
            workspace_id=context.workspace_id,
            fresh=wanted.fresh,
            reuse=wanted.reuse,
            asked_by=AskedBy(chat_id=context.chat_id, call_id=context.call_id),
            tools=narrowed(chosen.tools, None if agent is None else agent.tools),
        )

    async def _check_place(self, root_id: ChatId) -> None:
        root = await self._store.view(root_id)
        if root is not None and root.chat.run_id is not None:
            raise ToolError("You work inside a workflow, which cannot start another one: do it yourself.")

    async def _told(self, run: Run) -> ToolAnswer:
        found = await self._store.read(journals.details(run.id))
        if found is None:
            raise ToolError("The run was deleted.")
        run = found.run
        output: dict[str, Json] = {"run_id": run.id, "status": run.status}
        if run.reuse is not None:
            output |= {"reused_calls": found.reused, "reuse": run.reuse}
        match run.status:
            case "succeeded":
                return ToolAnswer(output={**output, "result": run.result})
            case "failed" if run.error is not None:
                said = [line.text for line in found.lines[-SHOWN_LINES:]]
                failed = {**output, "error": run.error.message, "line": run.error.line, "log": said}
                return ToolAnswer(output=failed, outcome="failed")
            case _:
                return ToolAnswer(output=output, outcome="failed")
