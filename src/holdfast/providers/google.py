"""Google's generateContent format as it streams back: whole parts in every event, calls in one piece and
without ids, and signatures of thoughts that must go back with the part they came with."""

from collections.abc import Sequence
from typing import cast
from urllib.parse import quote

import msgspec

from holdfast.core.errors import AttemptFailed
from holdfast.core.shapes import Json
from holdfast.providers.configs import PROVIDER_TOOLS
from holdfast.providers.decoding import Decoder
from holdfast.providers.encoding import stable_text
from holdfast.providers.failures import Endpoint, format_of
from holdfast.providers.gemini_models import gemini_traits
from holdfast.providers.google_request import KIND, request_body
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
    TextEnd,
    ToolCallEnd,
    ToolCallStart,
    ToolCallText,
)
from holdfast.providers.usage import tokens, usage

_Object = dict[str, Json]


class _Call(msgspec.Struct, gc=False):
    name: str = ""
    args: Json = None
    id: str | None = None


class _Part(msgspec.Struct, gc=False, rename="camel"):
    text: str | None = None
    thought: bool | None = None
    thought_signature: str | None = None
    function_call: _Call | None = None
    executable_code: _Object | None = None
    code_execution_result: _Object | None = None
    tool_call: _Object | None = None
    tool_response: _Object | None = None


class _Content(msgspec.Struct, gc=False):
    parts: list[_Part] | None = None


class _Candidate(msgspec.Struct, gc=False, rename="camel"):
    content: _Content | None = None
    finish_reason: str | None = None
    finish_message: str | None = None
    grounding_metadata: _Object | None = None


class _Incoming(msgspec.Struct, gc=False, rename="camel"):
    candidates: list[_Candidate] | None = None
    usage_metadata: _Object | None = None
    prompt_feedback: _Object | None = None
    model_version: str | None = None
    response_id: str | None = None
    error: Json = None
    # Of other formats, which some address may answer with.
    choices: Json = None
    type: str | None = None


_decoder = Decoder(_Incoming)
_STOPS: dict[str, StopReason] = {
    "STOP": "stop",
    "CONTINUATION": "stop",
    "MAX_TOKENS": "length",
    "SAFETY": "content_filter",
    "RECITATION": "content_filter",
    "LANGUAGE": "content_filter",
    "BLOCKLIST": "content_filter",
    "PROHIBITED_CONTENT": "content_filter",
    "SPII": "content_filter",
    "IMAGE_SAFETY": "content_filter",
    "IMAGE_PROHIBITED_CONTENT": "content_filter",
    "IMAGE_RECITATION": "content_filter",
    "MODEL_ARMOR": "content_filter",
}
# The model tripped over its own call: another attempt usually does not.
_MISHAPS = frozenset(
    {"MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS", "MALFORMED_RESPONSE"}
)


class GoogleFormat:
    kind = KIND

    def path(self, request: ModelRequest) -> str:
        model = request.model.model
        # `models/x` and tuned models are full names already.
        place = model if "/" in model else f"models/{model}"
        return f"/{quote(place)}:streamGenerateContent?alt=sse"

    def headers(self, request: ModelRequest, key: str | None) -> dict[str, str]:
        return {"x-goog-api-key": key} if key else {}

    def body(self, request: ModelRequest) -> bytes:
        return request_body(request)

    def differently(self, request: ModelRequest, failed: AttemptFailed) -> bool:
        return False

    def reading(self, request: ModelRequest, endpoint: Endpoint) -> "GoogleReading":
        return GoogleReading(request.model.model, endpoint)

    def runs(self, request: ModelRequest) -> tuple[str, ...]:
        # Models before Gemini 3 take tools of the provider or ours, not both.
        modern = gemini_traits(request.model.model).modern
        return PROVIDER_TOOLS if modern or not request.tools else ()


class GoogleReading:
    # Only the end of the stream ends it: counts may follow the reason why the answer stopped.
    done = False

    def __init__(self, model: str, endpoint: Endpoint) -> None:
        self._asked_model = model
        self._endpoint = endpoint
        self._response_id: str | None = None
        self._model: str | None = None
        self._finish: str | None = None
        self._finish_message: str | None = None
        self._calls = 0
        self._said = False
        self._reasons = False
        self._sources: set[str] = set()
        self._searched = False
        # What the provider runs itself, until its result comes.
        self._running: _Object | None = None

    def read(self, payload: bytes) -> Sequence[Event]:
        if not payload or payload == b"[DONE]":
            return ()
        incoming = _decoder.decode(payload)
        if incoming is None:
            raise self._endpoint.unreadable(payload)
        if incoming.error:
            raise self._endpoint.complained(self._asked_model, incoming.error)
        if incoming.candidates is None:
            found = format_of(incoming.type, incoming.choices, None)
            if found is not None:
                raise self._endpoint.other_format("google", found)
        self._response_id = self._response_id or incoming.response_id
        self._model = self._model or incoming.model_version
        feedback = incoming.prompt_feedback or {}
        if blocked := feedback.get("blockReason"):
            raise self._endpoint.failed(
                "content_filter",
                f"{self._endpoint.provider} refused this because of its rules for content ({blocked}). "
                "Change the message or the model.",
            )
        events: list[Event] = []
        if incoming.candidates:
            # Only one was asked for.
            self._candidate(incoming.candidates[0], events)
        if incoming.usage_metadata:
            events.append(read_usage(incoming.usage_metadata))
        return events

    def end(self) -> Sequence[Event]:
        if self._finish is None:
            raise self._endpoint.cut_off()
        if self._finish in _MISHAPS or (self._finish == "OTHER" and not self._said and not self._calls):
            raise self._endpoint.failed(
                "server",
                f"{self._endpoint.provider} gave the answer up ({self._finish}).",
                detail=self._finish_message,
            )
        if self._finish == "MISSING_THOUGHT_SIGNATURE":
            raise self._endpoint.failed(
                "config", f"{self._endpoint.provider} misses a signature in the history.", detail=self._finish
            )
        stop = _STOPS.get(self._finish, "stop")
        if stop == "stop" and self._calls:
            stop = "tool_calls"
        return (*self._end_reasoning(), Finished(stop, self._response_id, self._model))

    def _candidate(self, candidate: _Candidate, events: list[Event]) -> None:
        if self._finish is None and candidate.content is not None:
            for part in candidate.content.parts or ():
                self._part(part, events)
        if candidate.grounding_metadata:
            self._grounding(candidate.grounding_metadata, events)
        if candidate.finish_reason and candidate.finish_reason != "FINISH_REASON_UNSPECIFIED":
            self._finish = self._finish or candidate.finish_reason
            self._finish_message = candidate.finish_message

    def _part(self, part: _Part, events: list[Event]) -> None:
        signature = part.thought_signature
        if part.function_call is not None:
            events.extend(self._end_reasoning())
            self._call(part.function_call, signature, events)
        elif part.text is not None and part.thought:
            if part.text:
                self._reasons = True
                events.append(ReasoningDelta(part.text))
            if signature:
                self._reasons = False
                events.append(ReasoningEnd({"kind": KIND, "signature": signature}))
        elif part.text is not None:
            if part.text:
                events.extend(self._end_reasoning())
                self._said = True
                events.append(TextDelta(part.text))
            if signature:
                data: _Object = {"kind": KIND, "signature": signature}
                # A signature that came by itself goes back by itself.
                events.append(TextEnd(data if part.text else {**data, "apart": True}))
        else:
            self._ran(part, signature, events)

    def _call(self, call: _Call, signature: str | None, events: list[Event]) -> None:
        key = self._calls
        self._calls += 1
        data = {"signature": signature} if signature else None
        events.append(ToolCallStart(key, call.name, call.id or "", KIND, data))
        given: Json = {} if call.args is None else call.args
        events.append(ToolCallText(key, given if isinstance(given, str) else stable_text(given)))
        events.append(ToolCallEnd(key))

    def _ran(self, part: _Part, signature: str | None, events: list[Event]) -> None:
        """Code, and searches where the model says so, come as a pair: what was run, and what came of it."""
        asked = part.executable_code or part.tool_call
        answered = part.code_execution_result or part.tool_response
        if asked is not None:
            events.extend(self._end_reasoning())
            name = "executableCode" if part.executable_code is not None else "toolCall"
            self._running = {name: asked}
            if signature:
                self._running["thoughtSignature"] = signature
        elif answered is not None and self._running is not None:
            name = "codeExecutionResult" if part.code_execution_result is not None else "toolResponse"
            result: _Object = {name: answered}
            if signature:
                result["thoughtSignature"] = signature
            events.append(_provider_call(self._running, result))
            self._searched = self._searched or name == "toolResponse"
            self._running = None

    def _grounding(self, found: _Object, events: list[Event]) -> None:
        queries = found.get("webSearchQueries")
        if queries and not self._searched:
            self._searched = True
            events.append(
                ProviderCall("web_search", {"queries": queries}, "done", False, {"kind": KIND, "parts": []})
            )
        chunks = found.get("groundingChunks")
        for chunk in cast(list[Json], chunks) if isinstance(chunks, list) else []:
            page = _object(_object(chunk).get("web"))
            url, title = page.get("uri"), page.get("title")
            if isinstance(url, str) and url and url not in self._sources:
                self._sources.add(url)
                events.append(SourceFound(url, title if isinstance(title, str) else None))

    def _end_reasoning(self) -> Sequence[Event]:
        if not self._reasons:
            return ()
        self._reasons = False
        return (ReasoningEnd({"kind": KIND}),)


def _provider_call(asked: _Object, answered: _Object) -> ProviderCall:
    data: _Object = {"kind": KIND, "parts": [asked, answered]}
    if code := asked.get("executableCode"):
        result = _object(answered.get("codeExecutionResult"))
        return ProviderCall(
            "code_execution",
            {"code": _object(code).get("code")},
            result.get("output") or "",
            result.get("outcome") not in (None, "OUTCOME_OK"),
            data,
        )
    call, response = _object(asked.get("toolCall")), _object(answered.get("toolResponse"))
    searches = "SEARCH" in str(call.get("toolType"))
    return ProviderCall(
        "web_search" if searches else str(call.get("toolType") or "tool").lower(),
        call.get("args") or {},
        response.get("response") or "done",
        False,
        data,
    )


def read_usage(counts: _Object) -> ReportedUsage:
    """The prompt includes what the cache served; thoughts are counted beside the answer."""
    thoughts = tokens(counts.get("thoughtsTokenCount"))
    return ReportedUsage(
        usage(
            total_input=tokens(counts.get("promptTokenCount"))
            + tokens(counts.get("toolUsePromptTokenCount")),
            output=tokens(counts.get("candidatesTokenCount")) + thoughts,
            cache_read=counts.get("cachedContentTokenCount") or 0,
            reasoning=thoughts,
            total=counts.get("totalTokenCount"),
        )
    )


def _object(value: Json) -> _Object:
    return cast(_Object, value) if isinstance(value, dict) else {}
