"""The Anthropic messages format as it streams back. Thinking keeps its signature, counts include the
cache."""

from collections.abc import Sequence
from typing import cast

import msgspec

from holdfast.core.errors import AttemptFailed
from holdfast.core.shapes import Json
from holdfast.providers.anthropic_request import (
    BINDING_BETA,
    CODE_BETA,
    KIND,
    request_body,
    wants_binding_beta,
)
from holdfast.providers.configs import PROVIDER_TOOLS
from holdfast.providers.decoding import Decoder
from holdfast.providers.encoding import stable_text
from holdfast.providers.failures import Endpoint, format_of
from holdfast.providers.input_repair import Parsed, parse_input
from holdfast.providers.interface import (
    Event,
    Finished,
    ModelRequest,
    ProviderCall,
    ReasoningDelta,
    ReasoningEnd,
    ReportedUsage,
    SourceFound,
    StopReason,
    TextDelta,
    ToolCallEnd,
    ToolCallStart,
    ToolCallText,
)
from holdfast.providers.usage import tokens, usage

ANTHROPIC_VERSION = "2023-06-01"


class _Delta(msgspec.Struct, gc=False):
    type: str = ""
    text: str | None = None
    thinking: str | None = None
    signature: str | None = None
    partial_json: str | None = None
    citation: dict[str, Json] | None = None
    stop_reason: str | None = None


class _Message(msgspec.Struct, gc=False):
    id: str | None = None
    model: str | None = None
    usage: dict[str, Json] | None = None


class _Incoming(msgspec.Struct, gc=False):
    type: str = ""
    index: int = 0
    delta: _Delta | None = None
    content_block: dict[str, Json] | None = None
    message: _Message | None = None
    usage: dict[str, Json] | None = None
    error: Json = None
    # Of other formats, which some address may answer with.
    choices: Json = None
    candidates: Json = None


_decoder = Decoder(_Incoming)
_STOPS: dict[str, StopReason] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "content_filter",
    "pause_turn": "pause",
}
# A usage field and the name it has in a later report; both are totals so far.
_COUNTS = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "output_tokens")


class AnthropicFormat:
    kind = KIND

    def path(self, request: ModelRequest) -> str:
        return "/v1/messages"

    def headers(self, request: ModelRequest, key: str | None) -> dict[str, str]:
        headers = {"anthropic-version": ANTHROPIC_VERSION}
        betas = [BINDING_BETA] if wants_binding_beta(request) else []
        if "code_execution" in request.provider_tools:
            betas.append(CODE_BETA)
        if betas:
            headers["anthropic-beta"] = ",".join(betas)
        if key:
            headers["x-api-key"] = key
        return headers

    def body(self, request: ModelRequest) -> bytes:
        return request_body(request)

    def differently(self, request: ModelRequest, failed: AttemptFailed) -> bool:
        return False

    def runs(self, request: ModelRequest) -> tuple[str, ...]:
        return PROVIDER_TOOLS

    def reading(self, request: ModelRequest, endpoint: Endpoint) -> "AnthropicReading":
        return AnthropicReading(request.model.model, endpoint)


class _Block:
    """A content block that is still open."""

    __slots__ = ("fields", "signature", "texts", "type")

    def __init__(self, fields: dict[str, Json]) -> None:
        self.fields = fields
        self.type = _text(fields, "type")
        self.texts: list[str] = []
        self.signature = _text(fields, "signature")


class AnthropicReading:
    def __init__(self, model: str, endpoint: Endpoint) -> None:
        self.done = False
        self._asked_model = model
        self._endpoint = endpoint
        self._response_id: str | None = None
        self._model: str | None = None
        self._stop: str | None = None
        self._counts: dict[str, int] = {}
        self._thinking = 0
        self._blocks: dict[int, _Block] = {}
        # Calls of the provider's own that wait for their results, by id.
        self._waiting: dict[str, _Block] = {}

    def read(self, payload: bytes) -> Sequence[Event]:
        if self.done or not payload:
            return ()
        incoming = _decoder.decode(payload)
        if incoming is None:
            raise self._endpoint.unreadable(payload)
        if self._stop is not None and incoming.type.startswith("content_block"):
            return ()  # the answer is whole: what comes after its stop reason is not part of it
        match incoming.type:
            case "content_block_delta":
                delta = incoming.delta
                if delta is None:
                    return ()
                if delta.text:
                    return (TextDelta(delta.text),)
                return self._delta(incoming.index, delta)
            case "content_block_start":
                return self._start(incoming.index, incoming.content_block or {})
            case "content_block_stop":
                return self._end(incoming.index)
            case "message_start":
                if incoming.message is not None:
                    self._response_id = incoming.message.id
                    self._model = incoming.message.model
                    return self._count(incoming.message.usage)
            case "message_delta":
                if incoming.delta is not None and incoming.delta.stop_reason:
                    self._stop = incoming.delta.stop_reason
                return self._count(incoming.usage)
            case "message_stop":
                self.done = True
            case "error":
                raise self._endpoint.complained(self._asked_model, {"error": incoming.error})
            case _:
                # Pings, and what is invented later.
                if incoming.error:
                    raise self._endpoint.complained(self._asked_model, {"error": incoming.error})
                found = format_of(incoming.type, incoming.choices, incoming.candidates)
                if found not in (None, "anthropic"):
                    raise self._endpoint.other_format("anthropic", found)
        return ()

    def end(self) -> Sequence[Event]:
        # Only `message_stop` says that all of it came.
        if not self.done:
            raise self._endpoint.cut_off()
        stop = _STOPS.get(self._stop or "end_turn", "stop")
        return (Finished(stop, self._response_id, self._model),)

    def _start(self, index: int, fields: dict[str, Json]) -> Sequence[Event]:
        block = _Block(fields)
        self._blocks[index] = block
        match block.type:
            case "text":
                text = _text(fields, "text")
                return (TextDelta(text),) if text else ()
            case "thinking":
                text = _text(fields, "thinking")
                return (ReasoningDelta(text),) if text else ()
            case "tool_use":
                events: list[Event] = [ToolCallStart(index, _text(fields, "name"), _text(fields, "id"), KIND)]
                given = fields.get("input")
                if given:
                    # Servers that do not stream input send it here.
                    events.append(ToolCallText(index, stable_text(given)))
                return events
            case _:
                return ()

    def _delta(self, index: int, delta: _Delta) -> Sequence[Event]:
        block = self._blocks.get(index)
        if block is None:
            return ()
        if delta.partial_json:
            if block.type == "tool_use":
                return (ToolCallText(index, delta.partial_json),)
            block.texts.append(delta.partial_json)
        elif delta.thinking:
            return (ReasoningDelta(delta.thinking),)
        elif delta.signature:
            block.signature += delta.signature
        elif delta.citation:
            url = _text(delta.citation, "url")
            if url:
                return (SourceFound(url, _text(delta.citation, "title") or None),)
        return ()

    def _end(self, index: int) -> Sequence[Event]:
        block = self._blocks.pop(index, None)
        if block is None:
            return ()
        match block.type:
            case "thinking":
                return (
                    ReasoningEnd(
                        {"kind": KIND, "signature": block.signature} if block.signature else msgspec.UNSET
                    ),
                )
            case "redacted_thinking":
                return (ReasoningEnd({"kind": KIND, "redacted": _text(block.fields, "data")}),)
            case "tool_use":
                return (ToolCallEnd(index),)
            case "server_tool_use" | "mcp_tool_use":
                self._waiting[_text(block.fields, "id")] = block
                return ()
            case _ if block.type.endswith("_tool_result"):
                return self._provider_result(block)
            case _:
                return ()

    def _provider_result(self, result: _Block) -> Sequence[Event]:
        call = self._waiting.pop(_text(result.fields, "tool_use_id"), None)
        if call is None:
            return ()
        streamed = parse_input("".join(call.texts)) if call.texts else None
        given = streamed.value if isinstance(streamed, Parsed) else call.fields.get("input") or {}
        call_block = {**call.fields, "input": given}
        content = result.fields.get("content")
        failed = "error_code" in cast(dict[str, Json], content) if isinstance(content, dict) else False
        return (
            ProviderCall(
                _text(call.fields, "name"),
                given,
                cast(Json, content),
                failed,
                {"kind": KIND, "id": _text(call.fields, "id"), "blocks": [call_block, result.fields]},
            ),
        )

    def _count(self, counts: dict[str, Json] | None) -> Sequence[Event]:
        if not counts:
            return ()
        for name in _COUNTS:
            # A later report repeats what it knows and leaves out the rest.
            if counts.get(name) is not None:
                self._counts[name] = tokens(counts[name])
        details = counts.get("output_tokens_details")
        if isinstance(details, dict):
            self._thinking = tokens(details.get("thinking_tokens"))  # pyright: ignore[reportUnknownArgumentType, reportUnknownMemberType]
        read = self._counts.get("cache_read_input_tokens", 0)
        write = self._counts.get("cache_creation_input_tokens", 0)
        return (
            ReportedUsage(
                usage(
                    total_input=self._counts.get("input_tokens", 0) + read + write,
                    output=self._counts.get("output_tokens", 0),
                    cache_read=read,
                    cache_write=write,
                    reasoning=self._thinking,
                )
            ),
        )


def _text(fields: dict[str, Json], name: str) -> str:
    value = fields.get(name)
    return value if isinstance(value, str) else ""
