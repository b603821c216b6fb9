"""The list of things to do that an agent keeps in view. Its newest call is the list: nothing is stored
beside."""

from typing import Annotated, Literal

from msgspec import Meta

from holdfast.core.shapes import Json
from holdfast.tools.contract import Answer, Context, Input, Tool


class Item(Input, frozen=True, kw_only=True):
    text: Annotated[str, Meta(description="What is to be done.", examples=["Write the tests"])]
    status: Annotated[Literal["pending", "in_progress", "completed"], Meta(description="How far it is.")] = (
        "pending"
    )


class Todo(Input, frozen=True, kw_only=True):
    items: Annotated[
        list[Item],
        Meta(
            description="The whole list, in order.",
            examples=[[{"text": "Write the tests", "status": "in_progress"}, {"text": "Run them"}]],
        ),
    ]


async def _run(_: Context, call_input: Todo) -> Answer:
    items: list[Json] = [{"text": item.text, "status": item.status} for item in call_input.items]
    return Answer(output={"items": items})


TODO = Tool(
    name="todo",
    description=(
        "Write down the steps of the work and their status, so that the user can follow. Give the whole list "
        "each time; keep exactly one item in progress."
    ),
    input=Todo,
    run=_run,
    effect="idempotent",
)
