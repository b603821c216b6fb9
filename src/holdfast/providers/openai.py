"""The OpenAI chat format as it streams back, from OpenAI and from everyone who more or less speaks it."""

from collections.abc import Sequence
from urllib.parse import quote

import msgspec

from holdfast.core.errors import AttemptFailed
from holdfast.core.shapes import Json
from holdfast.providers.decoding import Decoder
from holdfast.providers.encoding import stable_text
from holdfast.providers.failures import Endpoint, format_of
from holdfast.providers.families import ProviderFamily, key_headers
from holdfast.providers.input_repair import Parsed, parse_input
from holdfast.providers.interface import (
    Event,
    Finished,
    ModelRequest,
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
from holdfast.providers.openai_request import request_body
from holdfast.providers.text_calls import Piece as TextPiece
from holdfast.providers.text_calls import TextCalls
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
    annotations: list[dict[str, Json]] | None = None


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
    # Of other formats, which some address may answer with.
    type: str | None = None
    candidates: Json = None


_decoder = Decoder(_Chunk)
_STOPS: dict[str, StopReason] = {
    "stop": "stop",
    "length": "length",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "content_filter": "content_filter",
}


class OpenAIFormat:
    def __init__(self, family: ProviderFamily, *, by_deployment: bool = False) -> None:
        """`by_deployment`: the model stands in the path, as Azure's older addresses want it."""
        self._family = family
        self._by_deployment = by_deployment

    @property
    def kind(self) -> str:
        return self._family.kind

    def path(self, request: ModelRequest) -> str:
        if self._by_deployment:
            return f"/deployments/{quote(request.model.model, safe='')}/chat/completions"
        return "/chat/completions"

    def headers(self, request: ModelRequest, key: str | None) -> dict[str, str]:
        return key_headers(self._family, key)

    def body(self, request: ModelRequest) -> bytes:
        return request_body(request, self._family)

    def differently(self, request: ModelRequest, failed: AttemptFailed) -> bool:
        return False

    def runs(self, request: ModelRequest) -> tuple[str, ...]:
        return tuple(self._family.provider_tools)

    def reading(self, request: ModelRequest, endpoint: Endpoint) -> "OpenAIReading":
        return OpenAIReading(self._family.kind, request.model.model, endpoint, self._written_by(request))

    def _written_by(self, request: ModelRequest) -> TextCalls | None:
        """Who looks for calls in the text, if the model may write them there."""
        model = request.model
        wanted = model.text_tool_calls
        if wanted == "off" or (wanted == "auto" and not self._family.writes_calls):
            return None
        if not request.tools or not model.tools or request.tool_choice == "none":
            return None
        return TextCalls([tool.name for tool in request.tools])


class OpenAIReading:
    def __init__(self, kind: str, model: str, endpoint: Endpoint, written: TextCalls | None = None) -> None:
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
        # Who looks for calls in the text, until one comes as it should.
        self._written = written
        self._details: list[dict[str, Json]] = []
        # The calls by the index under which their pieces come, and the one that grew last.
        self._keys: dict[int, tuple[int, str]] = {}
        self._calls = 0
        self._open: int | None = None
        # Of a call without an index and a name that came before: what was written of its input.
        self._loose = ""
        # Calls whose name has not come yet, by index: their ids and what was written of their inputs.
        self._nameless: dict[int, tuple[str, list[str]]] = {}
        self._counted = False

    def read(self, payload: bytes) -> Sequence[Event]:
        if self.done or not payload:
            return ()
        if payload == b"[DONE]":
            self.done = True
            return ()
        chunk = _decoder.decode(payload)
        if chunk is None:
            raise self._endpoint.unreadable(payload)
        if chunk.choices is None and not chunk.error:
            found = format_of(chunk.type, None, chunk.candidates)
            if found is not None:
                raise self._endpoint.other_format("chat", found)
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
            report = read_usage(counts)
            # Some end with a report of nothing, after one that said it all.
            if report.usage.total or not self._counted:
                self._counted = True
                events.append(report)
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
        if (
            isinstance(content, str)
            and content
            and plain
            and not self._reasons
            and self._tags is None
            and self._written is None
            and delta.annotations is None
        ):
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
        for annotation in delta.annotations or ():
            self._cite(annotation, events)
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
        if self._written is not None:
            self._tell(self._written.end(), events)

    def _say(self, pieces: Sequence[Piece], events: list[Event]) -> None:
        for kind, text in pieces:
            if kind == "reasoning":
                self._reasons = True
                events.append(ReasoningDelta(text))
            else:
                events.extend(self._end_reasoning())
                if self._written is None:
                    events.append(TextDelta(text))
                else:
                    self._tell(self._written.feed(text), events)

    def _tell(self, pieces: Sequence[TextPiece], events: list[Event]) -> None:
        """Text, and the calls that were found in it."""
        for piece in pieces:
            if isinstance(piece, str):
                events.append(TextDelta(piece))
                continue
            key = self._calls
            self._calls += 1
            events.append(ToolCallStart(key, piece.call.name, "", self._kind))
            events.append(ToolCallText(key, piece.call.input))
            events.append(ToolCallEnd(key))

    def _cite(self, annotation: dict[str, Json], events: list[Event]) -> None:
        found = _object(annotation.get("url_citation")) or annotation
        url, title = found.get("url"), found.get("title")
        if isinstance(url, str) and url:
            events.append(SourceFound(url, title if isinstance(title, str) else None))

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
        arguments = function.arguments
        text = arguments if isinstance(arguments, str) else stable_text(arguments) if arguments else ""
        index = call.index if call.index is not None else -1
        known = self._keys.get(index)
        if known is None and not function.name:
            # The name comes later than the id, at some.
            call_id, texts = self._nameless.setdefault(index, (call.id or "", []))
            self._nameless[index] = (call_id or call.id or "", texts)
            texts.append(text)
            return
        if known is None or self._is_another(call, function, index, known[1]):
            known = self._begin_call(call, function, index, events)
        self._open = known[0]
        if text:
            if index == -1:
                self._loose += text
            events.append(ToolCallText(known[0], text))

    def _is_another(self, call: _CallDelta, function: _Function, index: int, known_id: str) -> bool:
        """The same index again with another id is another call: some servers give every call the index 0, or
        none."""
        if call.id and known_id and call.id != known_id:
            return bool(function.name)
        if index != -1 or not function.name or call.id:
            return False
        # Neither index nor id: the name again begins another call, unless the input before is not whole.
        return not self._loose.strip() or isinstance(parse_input(self._loose, cut=True), Parsed)

    def _begin_call(
        self, call: _CallDelta, function: _Function, index: int, events: list[Event]
    ) -> tuple[int, str]:
        if self._open is not None:
            events.append(ToolCallEnd(self._open))
        early_id, early = self._nameless.pop(index, ("", []))
        key, call_id = self._calls, call.id or early_id
        self._calls += 1
        self._keys[index] = (key, call_id)
        self._loose = ""
        data = {"extra_content": call.extra_content} if call.extra_content else None
        events.append(ToolCallStart(key, function.name or "", call_id, self._kind, data))
        events.extend(ToolCallText(key, text) for text in early if text)
        return key, call_id

    def _close(self) -> list[Event]:
        """Everything that is still open is whole, now that the answer is."""
        events: list[Event] = []
        self._end_text(events)
        events.extend(self._end_reasoning())
        for index, (call_id, _) in list(self._nameless.items()):
            # Nobody said which tool: the model is told.
            self._begin_call(_CallDelta(id=call_id), _Function(), index, events)
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
            total=counts.get("total_tokens"),
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
