"""What every model provider offers: a `ModelRequest` goes in, a stream of events comes out. Everything
specific to one wire format stays inside its adapter."""

from collections.abc import AsyncGenerator, Mapping
from typing import Literal, Protocol, cast

import msgspec

from holdfast.core.chats import ProviderTool
from holdfast.core.ids import FileId
from holdfast.core.parts import Parts
from holdfast.core.shapes import Json, Record
from holdfast.core.usage import Usage
from holdfast.providers.configs import ModelConfig
from holdfast.providers.exchanges import ExchangeLog

Purpose = Literal["turn", "compaction", "title", "commit_message"]
StopReason = Literal["stop", "tool_calls", "length", "content_filter", "pause"]


class PromptMessage(Record, frozen=True, kw_only=True):
    """One message as a model is to see it. `user` holds text, files and notices; `assistant` text, reasoning,
    calls (and the results of calls the provider ran itself); `tool` the results of the assistant message
    before it, one for each of its calls and before anything else follows."""

    role: Literal["user", "assistant", "tool"]
    parts: Parts


class ToolSpec(Record, frozen=True, kw_only=True):
    name: str
    description: str
    input_schema: Json

    def schema(self) -> dict[str, Json]:
        """The schema as every provider takes it: that of an object."""
        schema = self.input_schema
        given = cast(dict[str, Json], schema) if isinstance(schema, dict) else {}
        return given if given.get("type") == "object" else {**given, "type": "object"}


class NamedTool(Record, frozen=True, kw_only=True):
    """The model must call this one."""

    name: str


ToolChoice = Literal["auto", "none", "required"] | NamedTool


class ModelRequest(Record, frozen=True, kw_only=True):
    """One model call. The same system text, tools and messages always become the same bytes."""

    model: ModelConfig
    # Segments from the most to the least stable; providers that cache explicitly do so behind the last one.
    system: tuple[str, ...] = ()
    messages: tuple[PromptMessage, ...]
    tools: tuple[ToolSpec, ...] = ()
    tool_choice: ToolChoice = "auto"
    effort: str | None = None
    # Fewer than the model's config allows, for calls that only need a line.
    max_output: int | None = None
    # The bytes of the files that the messages name. One that is missing is described in words.
    files: Mapping[FileId, bytes] = msgspec.field(default_factory=dict[FileId, bytes])
    # Calls with the same key share a prefix (a chat's id): some providers route by it.
    cache_key: str | None = None
    purpose: Purpose = "turn"
    # The turn of the chat that the call belongs to.
    turn: int = 0
    # Tools that the provider runs itself, by our names for them.
    provider_tools: tuple[ProviderTool, ...] = ()
    # Which try at the step this is, from 1. Only the demo model looks at it.
    attempt: int = 1
    # Who keeps the HTTP requests that this takes; None: nobody. It never refers to a request that has it.
    exchanges: ExchangeLog | None = None
    # The span of the call, for a provider that traces (W3C traceparent).
    trace_parent: str | None = None


class _Event(msgspec.Struct, frozen=True, gc=False):
    pass


class TextDelta(_Event, frozen=True, gc=False):
    text: str


class TextEnd(_Event, frozen=True, gc=False):
    """The text so far is one part; `provider_data` is what its provider wants back with it."""

    provider_data: Json | msgspec.UnsetType = msgspec.UNSET


class ReasoningDelta(_Event, frozen=True, gc=False):
    text: str


class ReasoningEnd(_Event, frozen=True, gc=False):
    """The reasoning so far is one part; `provider_data` is what its provider wants back with it."""

    provider_data: Json | msgspec.UnsetType = msgspec.UNSET


class ToolCallStart(_Event, frozen=True, gc=False):
    """`key` names the call within this answer, `kind` says whose id `provider_id` is. `data` is what else the
    provider wants back with the call."""

    key: int
    name: str
    provider_id: str
    kind: str
    data: Mapping[str, Json] | None = None


class ToolCallText(_Event, frozen=True, gc=False):
    """A piece of the call's input, which is JSON when it is whole."""

    key: int
    text: str


class ToolCallEnd(_Event, frozen=True, gc=False):
    """The input of this call is whole. `whole` is all of it where the provider repeats it at the end: it
    counts, whatever the pieces were."""

    key: int
    whole: str | None = None


class ProviderCall(_Event, frozen=True, gc=False):
    """A call that the provider ran itself, with its result. `data` is what the provider wants back."""

    name: str
    input: Json
    output: Json
    failed: bool
    data: Json


class SourceFound(_Event, frozen=True, gc=False):
    url: str
    title: str | None


class ReportedUsage(_Event, frozen=True, gc=False):
    """Everything used so far; a later report replaces an earlier one. `cost_usd` only where the provider says
    it."""

    usage: Usage
    cost_usd: float | None = None


class Finished(_Event, frozen=True, gc=False):
    """The last event of every whole answer."""

    stop_reason: StopReason
    response_id: str | None
    model: str | None


Event = (
    TextDelta
    | TextEnd
    | ReasoningDelta
    | ReasoningEnd
    | ToolCallStart
    | ToolCallText
    | ToolCallEnd
    | ProviderCall
    | SourceFound
    | ReportedUsage
    | Finished
)


class Adapter(Protocol):
    @property
    def kind(self) -> str:
        """The family of providers this speaks to, as stored in `provider_data`."""
        ...

    def body(self, request: ModelRequest) -> bytes:
        """The request as it is sent, which holds no secret."""
        ...

    def stream(self, request: ModelRequest) -> AsyncGenerator[Event, None]:
        """The answer as it comes, ending with `Finished`, or `AttemptFailed`. Iterate inside
        `contextlib.aclosing`: leaving it early, or being cancelled inside it, closes the connection at
        once."""
        ...
