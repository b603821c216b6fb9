"""The OpenAI responses format as it streams back: items of output, each with its own events. What an item
says when it is done counts more than its pieces."""

import re
from collections.abc import Callable, Sequence
from typing import cast

import msgspec

from holdfast.core.errors import AttemptFailed
from holdfast.core.shapes import Json
from holdfast.core.text import clean
from holdfast.providers.chains import AnswerShape, Chains, answer_shape
from holdfast.providers.configs import PROVIDER_TOOLS
from holdfast.providers.decoding import Decoder
from holdfast.providers.failures import Endpoint, format_of
from holdfast.providers.families import ProviderFamily, key_headers
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
from holdfast.providers.responses_request import input_items, request_body
from holdfast.providers.usage import usage

_Object = dict[str, Json]
_UNKNOWN_RESPONSE = re.compile(r"previous[ _]response", re.IGNORECASE)
_INCOMPLETE: dict[str, StopReason] = {"max_output_tokens": "length", "content_filter": "content_filter"}
# What the provider ran itself, by the type of its item.
_RAN = {
    "web_search_call": "web_search",
    "code_interpreter_call": "code_execution",
    "file_search_call": "file_search",
    "mcp_call": "mcp",
    "image_generation_call": "image_generation",
    "shell_call": "shell",
}


class _Incoming(msgspec.Struct, gc=False):
    type: str = ""
    delta: str | _Object | None = None
    output_index: int | None = None
    item_id: str | None = None
    summary_index: int | None = None
    content_index: int | None = None
    item: _Object | None = None
    response: _Object | None = None
    annotation: _Object | None = None
    arguments: str | _Object | None = None
    text: str | None = None
    refusal: str | None = None
    error: Json = None
    code: Json = None
    message: Json = None
    # Of other formats, which some address may answer with.
    choices: Json = None
    candidates: Json = None


_decoder = Decoder(_Incoming)


class ResponsesFormat:
    def __init__(self, family: ProviderFamily, path: str = "/responses") -> None:
        self._family = family
        self._path = path
        self._chains = Chains()

    @property
    def kind(self) -> str:
        """Encrypted reasoning is read only by who wrote it."""
        return f"{self._family.kind}-responses"

    def path(self, request: ModelRequest) -> str:
        return self._path

    def headers(self, request: ModelRequest, key: str | None) -> dict[str, str]:
        return key_headers(self._family, key)

    def body(self, request: ModelRequest) -> bytes:
        items = input_items(request, self.kind)
        if (found := self._chains.previous(request, items, self.kind)) is None:
            return request_body(request, items, None)
        previous, count = found
        return request_body(request, items[count:], previous)

    def differently(self, request: ModelRequest, failed: AttemptFailed) -> bool:
        """A conversation that the provider does not know any more is sent as a whole."""
        failure = failed.failure
        said = f"{failure.message} {failure.detail or ''}"
        items = input_items(request, self.kind)
        if _UNKNOWN_RESPONSE.search(said) is None or not self._chains.previous(request, items, self.kind):
            return False
        self._chains.forget(request)
        return True

    def runs(self, request: ModelRequest) -> tuple[str, ...]:
        return PROVIDER_TOOLS if request.model.tools else ()

    def reading(self, request: ModelRequest, endpoint: Endpoint) -> "ResponsesReading":
        def finished(response_id: str, answer: AnswerShape) -> None:
            self._chains.extend(request, input_items(request, self.kind), response_id, answer)

        chained = finished if request.model.chain and request.purpose == "turn" else None
        return ResponsesReading(self.kind, request.model.model, endpoint, chained)


class _Item:
    """An item that is still open, or done."""

    __slots__ = ("arguments", "done", "id", "index", "key", "summaries", "type", "written")

    def __init__(self, index: int, fields: _Object) -> None:
        self.index = index
        self.id = _text(fields, "id")
        self.type = _text(fields, "type")
        # Of a call: its number among the calls.
        self.key = -1
        self.done = False
        self.arguments: list[str] = []
        # Whether any of its text was shown.
        self.written = False
        self.summaries: tuple[int | None, int | None] | None = None


class ResponsesReading:
    def __init__(
        self,
        kind: str,
        model: str,
        endpoint: Endpoint,
        finished: Callable[[str, AnswerShape], None] | None = None,
    ) -> None:
        self.done = False
        self._kind = kind
        self._asked_model = model
        self._endpoint = endpoint
        self._finished = finished
        self._response_id: str | None = None
        self._model: str | None = None
        self._items: dict[int, _Item] = {}
        # Pieces of input that came before their call.
        self._early: dict[int, list[str]] = {}
        self._calls: list[str] = []
        self._texts: list[str] = []
        self._sources: set[str] = set()
        self._refused = False
        self._stop: StopReason = "stop"

    def read(self, payload: bytes) -> Sequence[Event]:
        if self.done or not payload or payload == b"[DONE]":
            return ()
        incoming = _decoder.decode(payload)
        if incoming is None:
            raise self._endpoint.unreadable(payload)
        match incoming.type:
            case "response.output_text.delta":
                return self._say(incoming)
            case "response.function_call_arguments.delta":
                return self._input(incoming)
            case "response.reasoning_summary_text.delta" | "response.reasoning_text.delta":
                return self._think(incoming)
            case "response.refusal.delta":
                self._refused = True
                return self._say(incoming)
            case "response.output_item.added":
                return self._add(incoming)
            case "response.output_item.done":
                return self._item_done(incoming.output_index, incoming.item or {})
            case "response.output_text.annotation.added":
                return self._cite(incoming.annotation or {})
            case "response.created" | "response.in_progress" | "response.queued":
                self._begin(incoming.response or {})
                return ()
            case "response.completed" | "response.incomplete" | "response.failed" | "response.cancelled":
                return self._end(incoming.type, incoming.response or {})
            case "error":
                raise self._complaint(incoming)
            case _:
                # What is invented later, and what says again what was said.
                if incoming.error:
                    raise self._complaint(incoming)
                found = format_of(incoming.type, incoming.choices, incoming.candidates)
                if found not in (None, "responses"):
                    raise self._endpoint.other_format("responses", found)
                return ()

    def end(self) -> Sequence[Event]:
        if not self.done:
            raise self._endpoint.cut_off()
        if (
            self._response_id is not None
            and self._finished is not None
            and self._stop in ("stop", "tool_calls")
        ):
            self._finished(self._response_id, answer_shape(clean("".join(self._texts)), self._calls))
        return (Finished(self._stop, self._response_id, self._model),)

    def _begin(self, response: _Object) -> None:
        self._response_id = self._response_id or _text(response, "id") or None
        self._model = self._model or _text(response, "model") or None

    def _say(self, incoming: _Incoming) -> Sequence[Event]:
        text = incoming.delta
        if not isinstance(text, str) or not text:
            return ()
        item = self._items.get(incoming.output_index or 0)
        if item is not None:
            if item.done:
                return ()  # the item is whole: what comes after is not part of it
            item.written = True
        self._texts.append(text)
        return (TextDelta(text),)

    def _think(self, incoming: _Incoming) -> Sequence[Event]:
        text = incoming.delta
        if not isinstance(text, str) or not text:
            return ()
        item = self._items.get(incoming.output_index or 0)
        if item is None:
            return (ReasoningDelta(text),)
        place = (incoming.summary_index, incoming.content_index)
        # Each summary is a paragraph of its own.
        apart = item.summaries is not None and item.summaries != place
        item.summaries, item.written = place, True
        return (ReasoningDelta(f"\n\n{text}" if apart else text),)

    def _input(self, incoming: _Incoming) -> Sequence[Event]:
        text = incoming.delta
        if not isinstance(text, str) or not text:
            return ()
        index = self._index(incoming)
        item = self._items.get(index)
        if item is None:
            self._early.setdefault(index, []).append(text)
            return ()
        if item.key < 0 or item.done:
            return ()
        item.arguments.append(text)
        return (ToolCallText(item.key, text),)

    def _index(self, incoming: _Incoming) -> int:
        if incoming.output_index is not None:
            return incoming.output_index
        found = (item.index for item in self._items.values() if item.id == incoming.item_id)
        return next(found, max(self._items, default=0))

    def _add(self, incoming: _Incoming) -> Sequence[Event]:
        index = incoming.output_index
        if index is None:
            index = max(self._items, default=-1) + 1
        return self._open(index, incoming.item or {})

    def _open(self, index: int, fields: _Object) -> Sequence[Event]:
        known = self._items.get(index)
        if known is not None and known.id == _text(fields, "id") and known.type == _text(fields, "type"):
            return ()
        item = self._items[index] = _Item(index, fields)
        if item.type != "function_call":
            return ()
        item.key = len(self._calls)
        call_id = _text(fields, "call_id") or item.id
        self._calls.append(call_id)
        events: list[Event] = [ToolCallStart(item.key, _text(fields, "name"), call_id, self._kind)]
        for text in self._early.pop(index, ()):
            item.arguments.append(text)
            events.append(ToolCallText(item.key, text))
        return events

    def _item_done(self, index: int | None, fields: _Object) -> Sequence[Event]:
        if index is None:
            same = (item.index for item in self._items.values() if item.id == _text(fields, "id"))
            index = next(same, max(self._items, default=-1) + 1)
        events = list(self._open(index, fields))
        item = self._items[index]
        if item.done:
            return events
        item.done = True
        match item.type:
            case "function_call":
                arguments = fields.get("arguments")
                whole = arguments if isinstance(arguments, str) else None
                if isinstance(arguments, dict):
                    whole = msgspec.json.encode(arguments).decode()
                events.append(ToolCallEnd(item.key, whole or "".join(item.arguments)))
            case "message":
                events.extend(self._message_done(item, fields))
            case "reasoning":
                if not item.written:
                    events.extend(ReasoningDelta(text) for text in _summaries(fields))
                events.append(ReasoningEnd({"kind": self._kind, "item": _kept_reasoning(fields)}))
            case name if name in _RAN:
                events.append(self._ran(_RAN[name], fields))
            case _:
                pass
        return events

    def _message_done(self, item: _Item, fields: _Object) -> Sequence[Event]:
        events: list[Event] = []
        for chunk in _objects(fields.get("content")):
            if not item.written and (text := _text(chunk, "text") or _text(chunk, "refusal")):
                self._texts.append(text)
                events.append(TextDelta(text))
            self._refused = self._refused or _text(chunk, "type") == "refusal"
        phase = _text(fields, "phase")
        events.append(TextEnd({"kind": self._kind, "phase": phase} if phase else msgspec.UNSET))
        for chunk in _objects(fields.get("content")):
            for annotation in _objects(chunk.get("annotations")):
                events.extend(self._cite(annotation))
        return events

    def _cite(self, annotation: _Object) -> Sequence[Event]:
        """A page that is cited several times is one source."""
        url = _text(annotation, "url")
        if not url or url in self._sources:
            return ()
        self._sources.add(url)
        return (SourceFound(url, _text(annotation, "title") or None),)

    def _ran(self, name: str, fields: _Object) -> Event:
        given: Json = _object(fields.get("action"))
        output: Json = None
        if name == "code_execution":
            given, output = {"code": fields.get("code")}, fields.get("outputs")
        elif name == "mcp":
            given, output = fields.get("arguments"), fields.get("output")
        status = _text(fields, "status")
        return ProviderCall(
            name,
            given,
            output if output is not None else status,
            status in ("failed", "incomplete"),
            {"kind": self._kind, "item": fields},
        )

    def _end(self, kind: str, response: _Object) -> Sequence[Event]:
        self._begin(response)
        if kind in ("response.failed", "response.cancelled"):
            error = response.get("error") or {"code": "server_error", "message": kind}
            raise self._endpoint.complained(self._asked_model, error)
        events: list[Event] = []
        cut = kind == "response.incomplete"
        for index, fields in enumerate(_objects(response.get("output"))):
            # What no event said. Of an answer that was cut, an item that is not done is not whole.
            if not cut or _text(fields, "status") in ("", "completed"):
                events.extend(self._item_done(index, fields))
        if not cut:
            events.extend(ToolCallEnd(item.key) for item in self._items.values() if item.key >= 0)
        counts = response.get("usage")
        if isinstance(counts, dict):
            events.append(read_usage(cast(_Object, counts)))
        self._stop = "tool_calls" if self._calls else "stop"
        if cut:
            reason = _text(_object(response.get("incomplete_details")), "reason")
            self._stop = _INCOMPLETE.get(reason, "length")
        if self._refused:
            self._stop = "content_filter"
        self.done = True
        return events

    def _complaint(self, incoming: _Incoming) -> AttemptFailed:
        error = incoming.error or {"code": incoming.code, "message": incoming.message}
        return self._endpoint.complained(self._asked_model, error)


def read_usage(counts: _Object) -> ReportedUsage:
    given, made = _object(counts.get("input_tokens_details")), _object(counts.get("output_tokens_details"))
    return ReportedUsage(
        usage(
            total_input=counts.get("input_tokens"),
            output=counts.get("output_tokens"),
            cache_read=given.get("cached_tokens") or 0,
            cache_write=given.get("cache_write_tokens") or 0,
            reasoning=made.get("reasoning_tokens") or 0,
            total=counts.get("total_tokens"),
        )
    )


def _kept_reasoning(fields: _Object) -> _Object:
    """What goes back of it; its status is the provider's own business."""
    kept = {name: fields[name] for name in ("type", "id", "encrypted_content", "content") if fields.get(name)}
    return {**kept, "summary": fields.get("summary") or []}


def _summaries(fields: _Object) -> list[str]:
    texts = [_text(one, "text") for one in _objects(fields.get("summary")) or _objects(fields.get("content"))]
    return ["\n\n".join(texts)] if texts else []


def _object(value: Json) -> _Object:
    return cast(_Object, value) if isinstance(value, dict) else {}


def _objects(value: Json) -> list[_Object]:
    if not isinstance(value, list):
        return []
    return [cast(_Object, one) for one in cast(list[Json], value) if isinstance(one, dict)]


def _text(fields: _Object, name: str) -> str:
    value = fields.get(name)
    return value if isinstance(value, str) else ""
