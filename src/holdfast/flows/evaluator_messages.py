"""The messages between the server and the evaluator process: JSON, one per line."""

from typing import Annotated, Literal

import msgspec

from holdfast.core.shapes import Json, Record
from holdfast.flows.definition import Flow

Sentence = Annotated[str, msgspec.Meta(max_length=20_000)]


class ReadFlow(Record, frozen=True, kw_only=True, tag="read"):
    text: str


class Asked(Record, frozen=True, kw_only=True):
    """condition: true or false. choice: the number of the first expression that is true, or null. template: a
    text. values: any JSON in which every text is a template."""

    kind: Literal["condition", "choice", "template", "values"]
    texts: tuple[str, ...] = ()
    value: Json = None


class Evaluate(Record, frozen=True, kw_only=True, tag="evaluate"):
    asked: tuple[Asked, ...]
    args: Json = None
    results: dict[str, Json] = msgspec.field(default_factory=dict[str, Json])
    states: dict[str, str] = msgspec.field(default_factory=dict[str, str])
    run: dict[str, Json] = msgspec.field(default_factory=dict[str, Json])


Question = ReadFlow | Evaluate


class FlowRead(Record, frozen=True, kw_only=True, tag="flow"):
    flow: Flow


class FlowRefused(Record, frozen=True, kw_only=True, tag="refused"):
    sentence: Sentence
    line: int | None = None
    column: int | None = None


class Value(Record, frozen=True, kw_only=True):
    """A value, or the expression that has none and its error."""

    value: Json = None
    error: Sentence | None = None
    expression: Annotated[str, msgspec.Meta(max_length=1000)] | None = None


class Evaluated(Record, frozen=True, kw_only=True, tag="evaluated"):
    values: tuple[Value, ...]


class EvaluatorBroke(Record, frozen=True, kw_only=True, tag="broke"):
    """The child process ended without an answer."""

    reason: Literal["time", "memory", "crashed"]


Reply = FlowRead | FlowRefused | Evaluated | EvaluatorBroke
