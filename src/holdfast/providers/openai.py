"""The OpenAI chat format as it streams back, from OpenAI and from everyone who speaks it more or less."""

from collections.abc import Sequence

import msgspec

from holdfast.core.shapes import Json
from holdfast.providers.decoding import Decoder
from holdfast.providers.encoding import stable_text
from holdfast.providers.failures import Endpoint
from holdfast.providers.families import ProviderFamily
from holdfast.providers.interface import (
    Event,
    Finished,
    ModelRequest,
    ReasoningDelta,
    ReasoningEnd,
    ReportedUsage,
    StopReason,
    TextDelta,
    ToolCallEnd,
    ToolCallStart,
    ToolCallText,
)
from holdfast.providers.openai_request import request_body
from holdfast.providers.think_tags import Piece, ThinkTags
from holdfast.providers.usage import usage


class _Function(msgspec.Struct, gc=False):
    name: str | None = None
    # An object from servers that skip the encoding.
    arguments: str | dict[str, Json] | None = None


class _CallDelta(msgspec.Struct, gc=False):
    index: int | None = None
    id: str | None = None
    function: _Function | None = None
    # What Gemini wants back with the call: the signature of its thoughts.
    extra_content: dict[str, Json] | None = None


class _Thought(msgspec.Struct, gc=False):
    text: str = ""


class _ContentChunk(msgspec.Struct, gc=False):
    type: str = ""
    text: str | None = None
    thinking: list[_Thought] | str | None = None


class _Delta(msgspec.Struct, gc=False):
    content: str | list[_ContentChunk] | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    reasoning_details: list[dict[str, Json]] | None = None
    tool_calls: list[_CallDelta] | None = None
    # The one call that servers of the first version of the format knew.
    function_call: _Function | None = None
    refusal: str | None = None


class _Choice(msgspec.Struct, gc=False):
    delta: _Delta | None = None
    finish_reason: str | None = None
    index: int | None = None


class _PerGroq(msgspec.Struct, gc=False):
    usage: dict[str, Json] | None = None
    error: Json = None


class _Chunk(msgspec.Struct, gc=False):
    choices: list[_Choice] | None = None
    usage: dict[str, Json] | None = None
    error: Json = None
    id: str | None = None
    model: str | None = None
    x_groq: _PerGroq | None = None


_decoder = Decoder(_Chunk)
_STOPS: dict[str, StopReason] = {
    "stop": "stop",
    "length": "length",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "content_filter": "content_filter",
}


class OpenAIFormat:
    path = "/chat/completions"

    def __init__(self, family: ProviderFamily) -> None:
        self._family = family

    @property
    def kind(self) -> str:
        return self._family.kind

    def headers(self, request: ModelRequest, key: str | None) -> dict[str, str]:
        return {"Authorization": f"Bearer {key}"} if key else {}

    def body(self, request: ModelRequest) -> bytes:
        return request_body(request, self._family)

    def reading(self, request: ModelRequest, endpoint: Endpoint) -> "OpenAIReading":
        return OpenAIReading(self._family.kind, request.model.model, endpoint)


class OpenAIReading:
    def __init__(self, kind: str, model: str, endpoint: Endpoint) -> None:
        self.done = False
        self._kind = kind
        self._asked_model = model
        self._endpoint = endpoint
        self._response_id: str | None = None
        self._model: str | None = None
        self._finish: str | None = None
        self._refused = False
        self._reasons = False
        # Until it is known whether the text begins with reasoning in tags.
        self._tags: ThinkTags | None = ThinkTags()
        self._details: list[dict[str, Json]] = []
        # The calls by the index under which their pieces come, and the one that grew last.
        self._keys: dict[int, tuple[int, str]] = {}
        self._calls = 0
        self._open: int | None = None

    def read(self, payload: bytes) -> Sequence[Event]:
        if self.done or not payload:
            return ()
        if payload == b"[DONE]":
            self.done = True
            return ()
        chunk = _decoder.decode(payload)
        if chunk is None:
            raise self._endpoint.unreadable(payload)
        if (
            chunk.choices
            and self._response_id is not None
            and not (chunk.usage or chunk.error or chunk.x_groq)
        ):
            # What nearly every chunk is.
            return self._choice(chunk.choices[0])
        return self._whole(chunk)

    def end(self) -> Sequence[Event]:
        if self._finish is None and not self.done:
            raise self._endpoint.cut_off()
        if self._finish in ("error", "insufficient_system_resource"):
            raise self._endpoint.complained(self._asked_model, {"code": self._finish, "type": "server_error"})
        events = self._close()
        stop = _STOPS.get(self._finish or "stop", "stop")
        events.append(Finished("content_filter" if self._refused else stop, self._response_id, self._model))
        return events

    def _whole(self, chunk: _Chunk) -> Sequence[Event]:
        error = chunk.error or (chunk.x_groq.error if chunk.x_groq else None)
        if error:
            raise self._endpoint.complained(self._asked_model, error)
        if chunk.id and self._response_id is None:
            self._response_id = chunk.id
        self._model = self._model or chunk.model
        events: list[Event] = []
        for choice in chunk.choices or ():
            if not choice.index:
                events.extend(self._choice(choice))
        counts = chunk.usage or (chunk.x_groq.usage if chunk.x_groq else None)
        if counts:
            events.append(read_usage(counts))
        return events

    def _choice(self, choice: _Choice) -> Sequence[Event]:
        if self._finish is not None:
            return ()  # the answer is whole: what comes after is not part of it
        if choice.finish_reason:
            self._finish = choice.finish_reason
        delta = choice.delta
        if delta is None:
            return ()
        content = delta.content
        plain = delta.tool_calls is None and delta.function_call is None
        if isinstance(content, str) and content and plain and not self._reasons and self._tags is None:
            return (TextDelta(content),)
        return self._delta(delta)

    def _delta(self, delta: _Delta) -> Sequence[Event]:
        events: list[Event] = []
        if delta.reasoning_details:
            _merge(self._details, delta.reasoning_details)
            self._reasons = True
        # Some send the same text under both names.
        if thought := delta.reasoning_content or delta.reasoning:
            # What comes apart from the text is not looked for in it.
            self._end_text(events)
            self._reasons = True
            events.append(ReasoningDelta(thought))
        content = delta.content
        if isinstance(content, str):
            if content:
                self._text(content, events)
        elif content:
            self._chunks(content, events)
        if delta.refusal:
            self._refused = True
            events.append(TextDelta(delta.refusal))
        calls = delta.tool_calls or ()
        if delta.function_call is not None:
            calls = (*calls, _CallDelta(index=0, function=delta.function_call))
        if calls:
            self._end_text(events)
            events.extend(self._end_reasoning())
            for call in calls:
                self._call(call, events)
        return events

    def _text(self, content: str, events: list[Event]) -> None:
        if self._tags is None:
            self._say([("text", content)], events)
            return
        self._say(self._tags.feed(content), events)
        if self._tags.decided:
            self._tags = None

    def _end_text(self, events: list[Event]) -> None:
        """What was kept back because it might have been the beginning of a tag."""
        if self._tags is not None:
            self._say(self._tags.end(), events)
            self._tags = None

    def _say(self, pieces: Sequence[Piece], events: list[Event]) -> None:
        for kind, text in pieces:
            if kind == "reasoning":
                self._reasons = True
                events.append(ReasoningDelta(text))
            else:
                events.extend(self._end_reasoning())
                events.append(TextDelta(text))

    def _chunks(self, chunks: list[_ContentChunk], events: list[Event]) -> None:
        for chunk in chunks:
            thinking = chunk.thinking
            if thinking:
                self._reasons = True
                thought = thinking if isinstance(thinking, str) else "".join(piece.text for piece in thinking)
                events.append(ReasoningDelta(thought))
            elif chunk.text:
                self._text(chunk.text, events)

    def _end_reasoning(self) -> Sequence[Event]:
        if not self._reasons:
            return ()
        self._reasons = False
        data: dict[str, Json] = {"kind": self._kind}
        if self._details:
            data["details"] = list(self._details)
            self._details.clear()
        return (ReasoningEnd(data),)

    def _call(self, call: _CallDelta, events: list[Event]) -> None:
        function = call.function or _Function()
        index = call.index if call.index is not None else -1
        known = self._keys.get(index)
        # The same index again with another id is another call: some servers give every call the index 0, or
        # none.
        renamed = known is not None and call.id and call.id != known[1] and function.name
        if known is None or renamed or (index == -1 and function.name and not call.id):
            if self._open is not None:
                events.append(ToolCallEnd(self._open))
            key = self._calls
            self._calls += 1
            known = (key, call.id or "")
            self._keys[index] = known
            data = {"extra_content": call.extra_content} if call.extra_content else None
            events.append(ToolCallStart(key, function.name or "", call.id or "", self._kind, data))
        self._open = known[0]
        arguments = function.arguments
        if arguments:
            text = arguments if isinstance(arguments, str) else stable_text(arguments)
            events.append(ToolCallText(known[0], text))

    def _close(self) -> list[Event]:
        """Everything that is still open is whole, now that the answer is."""
        events: list[Event] = []
        self._end_text(events)
        events.extend(self._end_reasoning())
        events.extend(ToolCallEnd(key) for key in range(self._calls))
        return events


def read_usage(counts: dict[str, Json]) -> ReportedUsage:
    """`prompt_tokens` includes what the cache served, in every family."""
    prompt = _object(counts.get("prompt_tokens_details"))
    completion = _object(counts.get("completion_tokens_details"))
    cost = counts.get("cost")
    return ReportedUsage(
        usage(
            total_input=counts.get("prompt_tokens"),
            output=counts.get("completion_tokens"),
            cache_read=prompt.get("cached_tokens") or counts.get("prompt_cache_hit_tokens") or 0,
            cache_write=prompt.get("cache_write_tokens") or 0,
            reasoning=completion.get("reasoning_tokens") or 0,
        ),
        float(cost) if isinstance(cost, (int, float)) and 0 <= cost < 1_000_000 else None,
    )


def _object(value: Json) -> dict[str, Json]:
    return value if isinstance(value, dict) else {}  # pyright: ignore[reportUnknownVariableType]


def _merge(details: list[dict[str, Json]], pieces: list[dict[str, Json]]) -> None:
    """Streamed details come in pieces: those that follow each other with the same index are one."""
    for piece in pieces:
        last = details[-1] if details else None
        if last is None or last.get("index") != piece.get("index") or last.get("type") != piece.get("type"):
            details.append(dict(piece))
            continue
        for name, value in piece.items():
            before = last.get(name)
            if name in ("text", "summary", "data") and isinstance(before, str) and isinstance(value, str):
                last[name] = before + value
            elif value is not None:
                last[name] = value
