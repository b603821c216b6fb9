"""The agent's to-do list. Its newest call is the list: nothing else is stored."""

from typing import Annotated, Literal

from msgspec import Meta

from holdfast.core.shapes import Json
from holdfast.tools.contract import Input, Tool, ToolAnswer, ToolContext

Status = Literal["pending", "in_progress", "completed"]
# The names that other tools of this kind use, which models know.
_DONE = "done"


class Item(Input, frozen=True, kw_only=True):
    text: Annotated[str, Meta(description="What is to be done.", examples=["Write the tests"])]
    status: Annotated[Status | Literal["done"], Meta(description="Its status.")] = "pending"


class Todo(Input, frozen=True, kw_only=True):
    items: Annotated[
        list[Item | str],
        Meta(
            description="The whole list, in order. An item that is only a text is pending.",
            examples=[[{"text": "Write the tests", "status": "in_progress"}, {"text": "Run them"}]],
        ),
    ]


async def _run(_: ToolContext, call_input: Todo) -> ToolAnswer:
    return ToolAnswer(output={"items": [_shown(item) for item in call_input.items]})


def _shown(item: Item | str) -> Json:
    if isinstance(item, str):
        return {"text": item, "status": "pending"}
    return {"text": item.text, "status": "completed" if item.status == _DONE else item.status}


TODO = Tool(
    name="todo",
    description=(
        "Write down the steps of the work and their status, so that the user can follow. Give the whole list "
        "each time; keep exactly one item in progress."
    ),
    input=Todo,
    run=_run,
    effect="idempotent",
    planning="run",
)
