"""A history as a model is shown it: from the newest summary on, and legal for every provider whatever
happened before. Each call is followed at once by exactly one result; what has no call is left out; nothing is
empty. Messages are only ever added, and what was shown once is shown the same again, so that provider caches
hit."""

from collections.abc import Iterable

from msgspec.structs import replace

from holdfast.chats.synthetic import UNANSWERED, unanswered
from holdfast.core.ids import CallId
from holdfast.core.messages import Message
from holdfast.core.parts import File, Notice, Part, Reasoning, Source, Text, ToolCall, ToolResult
from holdfast.core.shapes import encode_text
from holdfast.providers.interface import PromptMessage
from holdfast.providers.repair import RAW

INTERRUPTED = Notice(code="interrupted", text="The user interrupted the answer above before it was complete.")
CONTINUED = Notice(code="continued", text="This conversation continues an earlier one.")
EMPTY = Notice(code="empty", text="The user sent a message without any text.")

_CONTINUED = PromptMessage(role="user", parts=(CONTINUED,))

_Results = dict[CallId, ToolResult]


class PromptHistory:
    def __init__(self, messages: Iterable[Message] = ()) -> None:
        self._shown: list[PromptMessage] = []
        # The calls of the newest message that have no result yet.
        self._open: tuple[ToolCall, ...] = ()
        self._interrupted = False
        # Results by their call, for histories of old in which they stand at the wrong place.
        self._results: _Results = {}
        self.extend(messages)

    def extend(self, messages: Iterable[Message]) -> None:
        shown = [message for message in messages if not message.removed and message.visibility != "user"]
        self._results = {}
        for message in shown:
            if message.role == "tool":
                self._results |= _results_of(message)
        for message in shown:
            self._add(message)

    def shown(self) -> tuple[PromptMessage, ...]:
        """All of it, as it may be sent now."""
        return (*self._shown, *self._closing()) or (_CONTINUED,)

    def _add(self, message: Message) -> None:
        if is_boundary(message):
            self._shown, self._open, self._interrupted = [], (), False
        match message.role:
            case "assistant":
                self._close()
                self._assistant(message)
            case "tool":
                self._answer(_results_of(message))
            case "user" | "system":
                self._close()
                parts = tuple(part for part in message.parts if _is_word(part))
                if parts or message.role == "user":
                    self._shown.append(PromptMessage(role="user", parts=parts or (EMPTY,)))

    def _assistant(self, message: Message) -> None:
        parts = _answer_parts(message.parts)
        # Reasoning alone says nothing, and providers refuse a message that is nothing else.
        if not any(not isinstance(part, (Reasoning, Source)) for part in parts):
            return
        if not self._shown:
            self._shown.append(_CONTINUED)
        self._shown.append(PromptMessage(role="assistant", parts=parts))
        self._open = unanswered(parts, ())
        self._interrupted = message.interrupted

    def _answer(self, results: _Results) -> None:
        """Results for calls that nobody made are left out."""
        if self._open:
            self._shown.append(_results_message(self._open, self._results | results))
            self._open = ()

    def _close(self) -> None:
        self._shown.extend(self._closing())
        self._open, self._interrupted = (), False

    def _closing(self) -> Iterable[PromptMessage]:
        """What must stand between the newest message and whatever follows."""
        if self._open:
            yield _results_message(self._open, self._results)
        if self._interrupted:
            yield PromptMessage(role="user", parts=(INTERRUPTED,))


def is_boundary(message: Message) -> bool:
    """Whether the message is a summary that stands for everything before it."""
    return message.compaction and message.visibility == "model" and not message.removed


def _results_of(message: Message) -> _Results:
    return {part.call_id: part for part in message.parts if isinstance(part, ToolResult)}


def _results_message(calls: tuple[ToolCall, ...], results: _Results) -> PromptMessage:
    return PromptMessage(
        role="tool",
        parts=tuple(
            results.get(call.call_id)
            or ToolResult(call_id=call.call_id, name=call.name, output=UNANSWERED, outcome="uncertain")
            for call in calls
        ),
    )


def _is_word(part: Part) -> bool:
    """Whether a user may say it, and it says something."""
    match part:
        case Text(text=text) | Notice(text=text):
            return bool(text.strip())
        case File():
            return True
        case ToolCall() | ToolResult() | Reasoning() | Source():
            return False


def _answer_parts(parts: Iterable[Part]) -> tuple[Part, ...]:
    """What a model may have said: no call twice, and only results of calls that its provider ran itself."""
    kept: list[Part] = []
    calls: dict[CallId, ToolCall] = {}
    for part in parts:
        match part:
            case Text(text=text):
                fits = bool(text.strip())
            case Reasoning(text=text, provider_data=data):
                fits = bool(text.strip()) or bool(data)
            case ToolCall(call_id=call_id):
                fits = call_id not in calls
                part = _with_object(part)
                calls.setdefault(call_id, part)
            case ToolResult(call_id=call_id):
                fits = call_id in calls and calls[call_id].provider_executed
            case Source():
                fits = True
            case File() | Notice():
                fits = False
        if fits:
            kept.append(part)
    return tuple(kept)


def _with_object(call: ToolCall) -> ToolCall:
    """Providers take nothing back but an object, as our calls have had for long."""
    if isinstance(call.input, dict):
        return call
    return replace(call, input={RAW: encode_text(call.input)})
