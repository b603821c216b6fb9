"""`apply_changes`: an agent whose writes wait for review asks a person to apply them."""

from typing import Annotated

from msgspec import Meta

from holdfast.changes.control import ChangeControl
from holdfast.changes.selection import ChangeSelection
from holdfast.core.errors import HoldfastError
from holdfast.store import chats
from holdfast.store.interface import Store
from holdfast.tools.contract import Input, Tool, ToolAnswer, ToolContext, ToolError


class ApplyChanges(Input, frozen=True, kw_only=True):
    paths: Annotated[
        list[str] | None,
        Meta(description="Only these files; without it, all that wait.", examples=[["src/main.py"]]),
    ] = None


def apply_tool(store: Store, control: ChangeControl) -> Tool:
    async def run(context: ToolContext, given: ApplyChanges) -> ToolAnswer:
        chat = await store.read(chats.chat(context.chat_id))
        if chat is None:
            raise ToolError("This chat is gone.")
        selection = ChangeSelection(everything=not given.paths, paths=tuple(given.paths or ()))
        try:
            done = await control.apply(chat, selection, context.approved_by)
        except HoldfastError as error:
            raise ToolError(error.text) from error
        return ToolAnswer(
            output={
                "applied": [item.path for item in done.items],
                "conflicts": [{"path": one.path, "reason": one.reason} for one in done.conflicts],
            },
            outcome="failed" if done.conflicts and not done.items else "succeeded",
        )

    return Tool(
        name="apply_changes",
        description=(
            "When your writes wait for review (in a draft), ask the user to apply them to the workspace now. "
            "Answers with what was applied and what is in conflict with what others wrote. Without a draft "
            "there is nothing to apply: your writes are in the workspace already."
        ),
        input=ApplyChanges,
        run=run,
        effect="idempotent",
        # It always writes outside of the draft that the agent may write to.
        always_asks=True,
    )
