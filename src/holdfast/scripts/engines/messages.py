"""The protocol between the server and a sandbox: JSON, one message per line. Everything from a sandbox is
checked when it is read here, whatever has become of the process on the other side."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from holdfast.core.runs import CallError, Language
from holdfast.core.shapes import Json, Record
from holdfast.scripts.engines.limits import ScriptLimits

Text = Annotated[str, Meta(max_length=4096)]
Number = Annotated[int, Meta(ge=1, le=2**31)]
# thrown: by the script. result: it cannot be stored. budget: spent, and not caught. time, memory, output: a
# limit. stuck: waits for nothing. contradiction: it did not make a call that is answered. crashed, broken:
# the sandbox.
FailureKind = Literal[
    "thrown", "result", "budget", "time", "memory", "output", "stuck", "contradiction", "crashed", "broken"
]


class AgentOptions(Record, frozen=True, kw_only=True):
    label: Text | None = None
    phase: Text | None = None
    model: Text | None = None
    effort: Text | None = None
    schema: dict[str, Json] | None = None
    agent: Text | None = None
    tools: tuple[Text, ...] | None = None
    max_steps: int | None = None
    max_tool_calls: int | None = None
    # Seconds.
    timeout: float | None = None
    budget: int | None = None
    isolation: Literal["worktree"] | None = None


# What the script asks for. The number is its place in the order of all calls.


class AgentCall(Record, frozen=True, kw_only=True, tag="agent"):
    number: Number
    prompt: str
    options: AgentOptions
    phase: Text | None
    branch: Text | None


class WorkflowCall(Record, frozen=True, kw_only=True, tag="workflow"):
    """Another workflow, by its name or by the path of its script."""

    number: Number
    name: Text | None
    script_path: Text | None
    args: Json | msgspec.UnsetType = msgspec.UNSET
    phase: Text | None
    branch: Text | None


class PauseCall(Record, frozen=True, kw_only=True, tag="pause"):
    number: Number
    seconds: float
    phase: Text | None
    branch: Text | None


Call = AgentCall | WorkflowCall | PauseCall


# What a script sends to the server.


class ScriptLog(Record, frozen=True, kw_only=True, tag="log"):
    text: str


class Warned(Record, frozen=True, kw_only=True, tag="warning"):
    text: str


class PhaseBegun(Record, frozen=True, kw_only=True, tag="phase"):
    title: Text


Said = Call | ScriptLog | Warned | PhaseBegun


# Why it stopped.


class ScriptWaiting(Record, frozen=True, kw_only=True, tag="waiting"):
    """Until an answer comes."""


class ScriptDone(Record, frozen=True, kw_only=True, tag="done"):
    value: Json


class ScriptFailed(Record, frozen=True, kw_only=True, tag="failed"):
    kind: FailureKind
    message: str
    line: int | None = None


Stop = ScriptWaiting | ScriptDone | ScriptFailed


class ScriptTurn(Record, frozen=True, kw_only=True):
    """From one answer to the next: what the script said, in order, and where it stopped."""

    said: tuple[Said, ...]
    stop: Stop


# What the server sends to a script.


class ScriptStart(Record, frozen=True, kw_only=True):
    language: Language
    program: str
    args: Json | msgspec.UnsetType = msgspec.UNSET
    budget_total: int | None = None
    budget_spent: int = 0
    # Called by another workflow, so it cannot call one itself.
    nested: bool = False
    limits: ScriptLimits = ScriptLimits()


class CallAnswer(Record, frozen=True, kw_only=True):
    call: int
    # What the run had spent when the answer was given.
    spent: int
    value: Json = None
    error: CallError | None = None


Heard = (
    AgentCall
    | WorkflowCall
    | PauseCall
    | ScriptLog
    | Warned
    | PhaseBegun
    | ScriptWaiting
    | ScriptDone
    | ScriptFailed
)
decode = msgspec.json.Decoder(Heard).decode
