"""The tool through which an agent gives an answer that matches a schema. An answer that does not match is
sent back with the reasons before anything runs; one that matches ends the turn."""

from dataclasses import dataclass
from functools import cached_property

from typing_extensions import override

from holdfast.core.calls import STRUCTURED_OUTPUT
from holdfast.core.shapes import Json
from holdfast.tools.contract import Input, Tool, ToolAnswer, ToolContext, ToolError
from holdfast.tools.schema import Object, Shape

# How often an answer that does not match is sent back.
CORRECTIONS = 5


class AnswerInput(Input, frozen=True, kw_only=True):
    """The input is not examined here: the answer is kept as the input of the call."""


@dataclass(frozen=True, kw_only=True)
class AnswerTool(Tool):
    wanted: Object

    @cached_property
    def _shape(self) -> Shape:
        return Shape(self.wanted)

    @cached_property
    @override
    def schema(self) -> Object:
        return self.wanted

    @override
    def parse(self, value: Json) -> Input:
        if complaints := self._shape.complaints(value):
            raise ToolError(
                f"Your answer does not match the schema. Correct it and call again. {' '.join(complaints)}"
            )
        return AnswerInput()


def answer_tool(schema: Object) -> Tool:
    return AnswerTool(
        name=STRUCTURED_OUTPUT,
        description="Give your final answer. It must match the schema and ends your work: do everything else "
        "first.",
        input=AnswerInput,
        run=_taken,
        effect="read",
        traits=("ends_turn",),
        wanted=schema,
    )


async def _taken(_: ToolContext, __: Input) -> ToolAnswer:
    return ToolAnswer(output="Taken.")
