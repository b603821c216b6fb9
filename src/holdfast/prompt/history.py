"""A history as a model is shown it: from the newest summary on, and valid for every provider whatever
happened before. Each call is directly followed by exactly one result; results without a call are left out;
nothing is empty. Messages are only ever appended, and what was shown once is shown identically again, so that
provider caches hit."""

from collections.abc import Iterable

from msgspec.structs import replace

from holdfast.chats.synthetic import UNANSWERED, unanswered
from holdfast.core.ids import CallId, MessageId
from holdfast.core.messages import HistoryEntry
from holdfast.core.parts import File, Notice, Part, Parts, Reasoning, Source, Text, ToolCall, ToolResult
from holdfast.core.segments import Segments
from holdfast.core.shapes import encode_text
from holdfast.prompt.notices import CONTINUED, EMPTY, INTERRUPTED
from holdfast.prompt.segments import message_pieces, segments_of
from holdfast.providers.input_repair import RAW
from holdfast.providers.interface import PromptMessage

_CONTINUED = PromptMessage(role="user", parts=(CONTINUED,))

_Results = dict[CallId, ToolResult]


class PromptHistory:
    def __init__(self, entries: Iterable[HistoryEntry] = ()) -> None:
        self._shown: list[PromptMessage] = []
        # The history entry that each of these was made from; and the segments of those that were measured.
        self._ids: list[MessageId | None] = []
        self._measured: list[Segments] = []
        # The parts that are shown.
        self.files: list[File] = []
        # The calls of the newest message that have no result yet.
        self._open: tuple[ToolCall, ...] = ()
        self._interrupted = False
        # Results by their call, for old histories in which they are in the wrong place.
        self._results: _Results = {}
        self.extend(entries)

    def extend(self, entries: Iterable[HistoryEntry]) -> None:
        entries = tuple(entries)
        self._results = {}
        for entry in entries:
            if entry.role == "tool":
                self._results |= _results_of(entry)
        for entry in entries:
            self._add(entry)

    def shown(self) -> tuple[PromptMessage, ...]:
        """The whole history, valid to be sent now."""
        return (*self._shown, *self._closing()) or (_CONTINUED,)

    def segments(self) -> Segments:
        """The segments of what `shown` returns. Each message is measured once."""
        for number in range(len(self._measured), len(self._shown)):
            message_id = self._ids[number] if number < len(self._ids) else None
            self._measured.append(segments_of(message_pieces(self._shown[number], message_id)))
        added = [segments_of(message_pieces(message)) for message in self._unstored()]
        return tuple(segment for segments in (*self._measured, *added) for segment in segments)

    def _unstored(self) -> Iterable[PromptMessage]:
        """The messages that `shown` adds and that are not stored."""
        closing = tuple(self._closing())
        return closing if closing or self._shown else (_CONTINUED,)

    def _add(self, entry: HistoryEntry) -> None:
        before = len(self._shown)
        self._enter(entry)
        self._ids += [None] * (len(self._shown) - len(self._ids))
        if self._ids and (len(self._shown) > before or entry.boundary):
            # Messages before it were inserted; the last one is this entry.
            self._ids[-1] = entry.id

    def _enter(self, entry: HistoryEntry) -> None:
        if entry.boundary:
            self._shown, self.files, self._open, self._interrupted = [], [], (), False
            self._ids, self._measured = [], []
        if entry.role == "tool":
            self._answer(_results_of(entry))
            return
        if self._open or self._interrupted:
            self._close()
        if entry.role == "assistant":
            self._assistant(entry)
        else:
            self._word(entry)

    def _word(self, entry: HistoryEntry) -> None:
        parts = entry.parts
        if not _is_plain(parts):
            parts = tuple([part for part in parts if _is_word(part)])
            self.files += [part for part in parts if isinstance(part, File)]
        if parts or entry.role == "user":
            self._shown.append(PromptMessage(role="user", parts=parts or (EMPTY,)))

    def _assistant(self, entry: HistoryEntry) -> None:
        parts = entry.parts
        if not _is_plain(parts):
            parts = _answer_parts(parts)
            # Providers refuse a message of reasoning alone.
            if all(isinstance(part, (Reasoning, Source)) for part in parts):
                return
            self._open = unanswered(parts, ())
        if not self._shown:
            self._shown.append(_CONTINUED)
        self._shown.append(PromptMessage(role="assistant", parts=parts))
        self._interrupted = entry.interrupted

    def _answer(self, results: _Results) -> None:
        """Results for calls that were never made are left out."""
        if self._open:
            self._shown.append(_results_message(self._open, self._results | results))
            self._open = ()

    def _close(self) -> None:
        self._shown.extend(self._closing())
        self._open, self._interrupted = (), False

    def _closing(self) -> Iterable[PromptMessage]:
        """What must be inserted between the newest message and the next one."""
        if self._open:
            yield _results_message(self._open, self._results)
        if self._interrupted:
            yield PromptMessage(role="user", parts=(INTERRUPTED,))


def files_of(shown: Iterable[PromptMessage]) -> list[File]:
    return [part for message in shown for part in message.parts if isinstance(part, File)]


def _results_of(entry: HistoryEntry) -> _Results:
    return {part.call_id: part for part in entry.parts if isinstance(part, ToolResult)}


def _results_message(calls: tuple[ToolCall, ...], results: _Results) -> PromptMessage:
    return PromptMessage(
        role="tool",
        parts=tuple(
            results.get(call.call_id)
            or ToolResult(call_id=call.call_id, name=call.name, output=UNANSWERED, outcome="uncertain")
            for call in calls
        ),
    )


def _is_plain(parts: Parts) -> bool:
    """Whether it is plain text, like most of a long history: then it is valid in any role."""
    return len(parts) == 1 and isinstance(part := parts[0], Text) and bool(part.text.strip())


def _is_word(part: Part) -> bool:
    """Whether the part may be in a user message and is not empty."""
    match part:
        case Text(text=text) | Notice(text=text):
            return bool(text.strip())
        case File():
            return True
        case ToolCall() | ToolResult() | Reasoning() | Source():
            return False


def _answer_parts(parts: Iterable[Part]) -> tuple[Part, ...]:
    """The parts of an answer: no call twice, and only results of calls that the provider ran itself."""
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
    """Providers accept only objects as input."""
    if isinstance(call.input, dict):
        return call
    return replace(call, input={RAW: encode_text(call.input)})
