"""Assembles an answer from its events, in one place for all providers. Each event becomes at most one live
part at once; the parts of the message are made when the answer is over, complete or not."""

from collections.abc import Callable
from datetime import datetime
from typing import Literal, assert_never

import msgspec

from holdfast.core.ids import CallId
from holdfast.core.parts import (
    LivePart,
    Part,
    Parts,
    Reasoning,
    Source,
    Text,
    ToolCall,
    ToolCallDelta,
    ToolResult,
)
from holdfast.core.shapes import Json, Record
from holdfast.core.text import clean, clean_deep
from holdfast.core.titles import reasoning_title
from holdfast.core.usage import Usage
from holdfast.providers.input_repair import RAW, REASON, Invalid, Parsed, invalid_input, parse_input
from holdfast.providers.interface import (
    Event,
    Finished,
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

_MIB = 1024 * 1024
NAME_CHARACTERS = 200
# About as many, whatever the model.
CHARACTERS_A_TOKEN = 4


class AnswerLimits(Record, frozen=True, kw_only=True):
    """An answer that reaches one of these ends there, as if the model had stopped at its length."""

    characters: int = 8 * _MIB
    calls: int = 512
    parts: int = 4096


class ModelAnswer(Record, frozen=True, kw_only=True):
    parts: Parts
    usage: Usage
    stop_reason: StopReason
    response_id: str | None = None
    # The model as the provider names it, which may be more exact than what was asked for.
    model: str | None = None
    # What the provider itself says this cost.
    cost_usd: float | None = None


class _Block:
    """A part that is still growing."""

    __slots__ = ("call", "data", "ended", "finished_at", "started_at", "texts", "type")
    type: Literal["text", "reasoning", "call"]

    def __init__(self, type: Literal["text", "reasoning", "call"], call: ToolCallStart | None = None) -> None:  # noqa: A002
        self.type = type
        self.texts: list[str] = []
        self.data: Json | msgspec.UnsetType = msgspec.UNSET
        self.call = call
        self.ended = False
        self.started_at: datetime | None = None
        self.finished_at: datetime | None = None


class Assembler:
    """`now` dates the reasoning; without it reasoning has no times."""

    def __init__(
        self,
        new_call_id: Callable[[], CallId],
        limits: AnswerLimits | None = None,
        now: Callable[[], datetime] | None = None,
    ) -> None:
        self._new_call_id = new_call_id
        self._now = now
        self._limits = limits or AnswerLimits()
        self._blocks: list[_Block | Parts] = []
        self._current: _Block | None = None
        self._calls: dict[int, tuple[_Block, CallId]] = {}
        self._characters = 0
        self._usage = Usage()
        self._cost_usd: float | None = None
        self._finished: Finished | None = None
        # Whether a limit was reached: stop reading, the answer is what there is.
        self.full = False

    def add(self, event: Event) -> LivePart | None:
        """Takes the event; what watchers should see of it."""
        match event:
            case TextDelta(text):
                return self._grow("text", text)
            case ReasoningDelta(text):
                return self._grow("reasoning", text)
            case ToolCallText(key, text):
                return self._grow_call(key, text)
            case ReasoningEnd(data):
                block = self._current if self._current and self._current.type == "reasoning" else None
                if block is None and data is not msgspec.UNSET:
                    # Encrypted reasoning has no text but must go back all the same.
                    block = self._begin(_Block("reasoning"))
                if block is not None:
                    block.data = _cleaned(data)
                self._leave()
                return None
            case TextEnd(data):
                if self._current is not None and self._current.type == "text":
                    self._current.data = _cleaned(data)
                    self._leave()
                return None
            case ToolCallStart():
                return self._start_call(event)
            case ToolCallEnd(key, whole):
                self._end_call(key, whole)
                return None
            case ProviderCall():
                return self._provider_call(event)
            case SourceFound(url, title):
                source = Source(url=clean(url), title=None if title is None else clean(title))
                self._insert((source,))
                return source
            case ReportedUsage(usage, cost_usd):
                self._usage = usage
                self._cost_usd = cost_usd if cost_usd is not None else self._cost_usd
                return None
            case Finished():
                self._finished = event
                self._leave()
                return None
            case _:
                assert_never(event)

    @property
    def started(self) -> bool:
        return bool(self._blocks)

    @property
    def reported(self) -> Usage:
        """What the provider counted so far; most count only at the end."""
        return self._usage

    @property
    def output_estimate(self) -> int:
        """Tokens of what came so far."""
        return -(-self._characters // CHARACTERS_A_TOKEN)

    def answer(self) -> ModelAnswer:
        """The complete answer; call it after `Finished`, or when `full`."""
        finished = self._finished
        stop: StopReason = finished.stop_reason if finished is not None else "length"
        if self.full:
            stop = "length"
        parts = self._parts(cut=stop == "length", whole=finished is not None and not self.full)
        if stop in ("stop", "tool_calls"):
            # Providers disagree on this; what there is to do decides.
            waits = any(isinstance(part, ToolCall) and not part.provider_executed for part in parts)
            stop = "tool_calls" if waits else "stop"
        return ModelAnswer(
            parts=parts,
            usage=self._usage,
            stop_reason=stop,
            response_id=finished.response_id if finished else None,
            model=finished.model if finished else None,
            cost_usd=self._cost_usd,
        )

    def partial(self) -> ModelAnswer:
        """What has arrived of an answer that was interrupted: its text, and the calls that were received
        completely."""
        parts = tuple(
            part
            for part in self._parts(cut=False, whole=False)
            if not isinstance(part, ToolCall) or invalid_input(part) is None
        )
        return ModelAnswer(parts=parts, usage=self._usage, stop_reason="length")

    def _grow(self, type: Literal["text", "reasoning"], text: str) -> LivePart | None:  # noqa: A002
        if not text or not self._fits(text):
            return None
        text = clean(text)
        block = self._current
        if block is None or block.type != type:
            block = self._begin(_Block(type))
            if self.full:
                return None
        block.texts.append(text)
        return Text(text=text) if type == "text" else Reasoning(text=text)

    def _start_call(self, event: ToolCallStart) -> LivePart | None:
        if len(self._calls) >= self._limits.calls:
            self.full = True
            return None
        call_id = self._new_call_id()
        block = self._begin(_Block("call", event))
        if self.full:
            return None
        self._calls[event.key] = (block, call_id)
        return ToolCallDelta(call_id=call_id, name=_name(event), text="")

    def _grow_call(self, key: int, text: str) -> LivePart | None:
        found = self._calls.get(key)
        if found is None or not text or not self._fits(text):
            return None
        block, call_id = found
        text = clean(text)
        block.texts.append(text)
        assert block.call is not None
        return ToolCallDelta(call_id=call_id, name=_name(block.call), text=text)

    def _end_call(self, key: int, whole: str | None) -> None:
        found = self._calls.get(key)
        if found is None:
            return
        block, _ = found
        block.ended = True
        if whole is not None and whole != "".join(block.texts) and self._fits(whole):
            block.texts = [clean(whole)]

    def _provider_call(self, event: ProviderCall) -> LivePart | None:
        call_id = self._new_call_id()
        name = clean(event.name)[:NAME_CHARACTERS]
        call = ToolCall(
            call_id=call_id,
            name=name,
            input=clean_deep(event.input),
            provider_executed=True,
            provider_data=clean_deep(event.data),
        )
        result = ToolResult(
            call_id=call_id,
            name=name,
            output=clean_deep(event.output),
            outcome="failed" if event.failed else "succeeded",
        )
        self._insert((call, result))
        return msgspec.structs.replace(call, provider_data=msgspec.UNSET)

    def _begin(self, block: _Block) -> _Block:
        if len(self._blocks) >= self._limits.parts:
            self.full = True
            return block
        self._leave()
        self._blocks.append(block)
        self._current = block
        if block.type == "reasoning" and self._now is not None:
            block.started_at = self._now()
        return block

    def _leave(self) -> None:
        """Whatever comes next is another part."""
        if self._current is not None and self._current.started_at is not None and self._now is not None:
            self._current.finished_at = self._now()
        self._current = None

    def _insert(self, parts: Parts) -> None:
        if len(self._blocks) >= self._limits.parts:
            self.full = True
            return
        self._blocks.append(parts)
        # A source does not end the sentence it stands in, but a part cannot hold another.
        self._leave()

    def _fits(self, text: str) -> bool:
        self._characters += len(text)
        if self._characters > self._limits.characters:
            self.full = True
        return not self.full

    def _parts(self, *, cut: bool, whole: bool) -> Parts:
        ids = {id(block): call_id for block, call_id in self._calls.values()}
        last = self._blocks[-1] if self._blocks else None
        parts: list[Part] = []
        for block in self._blocks:
            if isinstance(block, tuple):
                parts.extend(block)
                continue
            text = "".join(block.texts)
            match block.type:
                case "text":
                    # Providers refuse text that is nothing but space; nobody misses it.
                    if text.strip():
                        parts.append(Text(text=text, provider_data=block.data))
                case "reasoning":
                    if text.strip() or block.data is not msgspec.UNSET:
                        parts.append(
                            Reasoning(
                                text=text,
                                title=reasoning_title(text),
                                started_at=block.started_at,
                                finished_at=block.finished_at,
                                provider_data=block.data,
                            )
                        )
                case "call":
                    assert block.call is not None
                    if block.ended or whole:
                        parts.append(_call(block.call, ids[id(block)], text, cut=cut and block is last))
        return tuple(parts)


def _cleaned(data: Json | msgspec.UnsetType) -> Json | msgspec.UnsetType:
    return data if data is msgspec.UNSET else clean_deep(data)


def _name(event: ToolCallStart) -> str:
    return clean(event.name)[:NAME_CHARACTERS]


def _call(event: ToolCallStart, call_id: CallId, text: str, *, cut: bool) -> ToolCall:
    data: dict[str, Json] = {"kind": event.kind, "id": clean(event.provider_id)[:NAME_CHARACTERS]}
    if event.data:
        data |= clean_deep(dict(event.data))
    match parse_input(text, cut=cut):
        case Parsed(value=value):
            return ToolCall(call_id=call_id, name=_name(event), input=value, provider_data=data)
        case Invalid(text=raw, reason=reason):
            # An object all the same: every provider takes it back, and the model sees what it wrote.
            data[REASON] = reason
            return ToolCall(call_id=call_id, name=_name(event), input={RAW: raw}, provider_data=data)
