"""A chat as a watcher holds it: events go in, what to show for good comes out, and what is under way can be
looked at. Nothing is shown twice: text that streamed is not repeated by its message, nor by another attempt
that says the same; one that says something else is announced."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime

from holdfast.cli.entries import (
    Begun,
    CallEntry,
    Entry,
    FailureEntry,
    Interrupted,
    Said,
    TextEntry,
    Thought,
    UserEntry,
    Withdrawn,
)
from holdfast.cli.events import Event, Lost, Reconnected
from holdfast.core.calls import Action
from holdfast.core.chats import Chat, Status, Waiting
from holdfast.core.collisions import Collision
from holdfast.core.events import Episode
from holdfast.core.failures import Failure, Retry
from holdfast.core.feed_events import (
    CaughtUp,
    Closing,
    HistoryReset,
    MessageData,
    PartData,
    PreviewReset,
    QueueData,
    StatusData,
)
from holdfast.core.ids import CallId, MessageId
from holdfast.core.messages import Message, QueueItem
from holdfast.core.parts import (
    File,
    LivePart,
    Notice,
    Part,
    Reasoning,
    Source,
    Text,
    ToolCall,
    ToolCallDelta,
    ToolResult,
)
from holdfast.core.shapes import Json
from holdfast.core.spans import Span
from holdfast.core.usage import Usage


@dataclass(frozen=True, slots=True)
class OpenCall:
    """A call without its result in history. `outcome` is there when it has ended all the same."""

    name: str
    input: Json = None
    started_at: datetime | None = None
    outcome: str | None = None


@dataclass(slots=True)
class _Run:
    """Live parts of one kind that follow each other."""

    kind: type[Text] | type[Reasoning]
    # Its place among the runs of its kind.
    place: int
    text: str = ""
    started_at: datetime | None = None
    finished_at: datetime | None = None


@dataclass(slots=True)
class _Shown:
    """What of the message under way was shown for good, by the place of each run."""

    texts: list[str] = field(default_factory=list[str])
    thoughts: int = 0


def at_once(text: str) -> int:
    """For output that cannot be changed later and need not: every piece is finished as it comes."""
    return len(text)


class Transcript:
    """`finished` says how much of a text that still grows may be shown for good."""

    def __init__(self, finished: Callable[[str], int] = at_once) -> None:
        self.chat: Chat | None = None
        self.status: Status = "idle"
        self.waiting: Waiting | None = None
        self.retry: Retry | None = None
        self.action: Action | None = None
        self.usage: Usage | None = None
        self.queue: tuple[QueueItem, ...] = ()
        self.caught_up = False
        self.lost: str | None = None
        self._finished = finished
        self._seen: set[MessageId] = set()
        # Calls without a result; and those that are still being said.
        self._calls: dict[CallId, OpenCall] = {}
        self._forming: dict[CallId, OpenCall] = {}
        self._failure: Failure | None = None
        self._episode: Episode | None = None
        self._n = 0
        self._runs: list[_Run] = []
        self._shown = _Shown()

    @property
    def busy(self) -> bool:
        return self.status in ("running", "interrupting")

    @property
    def calls(self) -> tuple[OpenCall, ...]:
        return (*self._calls.values(), *self._forming.values())

    @property
    def tail(self) -> str:
        """Of the text that is being said, what is not shown for good yet."""
        run = self._runs[-1] if self._runs else None
        if run is None or run.kind is not Text:
            return ""
        shown = self._shown.texts[run.place] if run.place < len(self._shown.texts) else ""
        return run.text[len(shown) :] if run.text.startswith(shown) else ""

    @property
    def thinking(self) -> str | None:
        """The thought that is being thought; None: there is none."""
        run = self._runs[-1] if self._runs else None
        return run.text if run is not None and run.kind is Reasoning else None

    def apply(self, event: Event) -> list[Entry]:
        return list(self._apply(event))

    def _apply(self, event: Event) -> Iterator[Entry]:
        match event:
            case MessageData():
                yield from self._message(event.message)
            case PartData():
                yield from self._part(event)
            case StatusData():
                yield from self._status(event.status, event.waiting)
            case Chat():
                self.chat, self.action, self.retry = event, event.action, event.retry
                self.usage = event.usage
                yield from self._status(event.status, event.waiting)
            case QueueData():
                self.queue = event.items
            case Retry():
                self.retry = event
            case Failure():
                if event != self._failure:
                    self._failure = event
                    yield FailureEntry(event)
            case Action():
                self.action = event
            case Span():
                self._span(event)
            case Usage():
                self.usage = event
            case PreviewReset():
                self._forget_preview()
            case HistoryReset():
                self._forget_preview()
                self._shown = _Shown()
                self._seen.clear()
                self._calls.clear()
                yield Begun()
            case CaughtUp():
                self.caught_up = True
            case Lost():
                self.lost = event.why
            case Reconnected():
                self.lost = None
            case Collision() | Closing():
                pass  # a collision is in history too, as a notice

    # --- live parts ---

    def _part(self, event: PartData) -> Iterator[Entry]:
        if event.episode != self._episode:
            self._forget_preview()
            self._episode = event.episode
        if event.n <= self._n:
            return
        self._n = event.n
        self.retry = None
        part = event.part
        if not isinstance(part, Text | Reasoning):
            yield from self._end_run()
            self._live_call(part)
            return
        if not self._runs or self._runs[-1].kind is not type(part):
            yield from self._end_run()
            place = sum(run.kind is type(part) for run in self._runs)
            self._runs.append(_Run(type(part), place))
        run = self._runs[-1]
        run.text += part.text
        if isinstance(part, Reasoning):
            run.started_at = run.started_at or part.started_at
            run.finished_at = part.finished_at or run.finished_at
        else:
            yield from self._show_text(run.place, run.text, whole=False)

    def _live_call(self, part: LivePart) -> None:
        if isinstance(part, ToolCall | ToolCallDelta):
            given = part.input if isinstance(part, ToolCall) else None
            self._forming[part.call_id] = OpenCall(part.name, given)

    def _end_run(self) -> Iterator[Entry]:
        """The run before is whole."""
        run = self._runs[-1] if self._runs else None
        if run is None:
            return
        if run.kind is Text:
            yield from self._show_text(run.place, run.text, whole=True)
        else:
            yield from self._show_thought(run.place, run.text, _seconds(run.started_at, run.finished_at))

    def _show_text(self, place: int, text: str, *, whole: bool) -> Iterator[Entry]:
        shown = self._shown.texts
        if place >= len(shown):
            shown.append("")
        before = shown[place]
        if before.startswith(text):
            return
        if not text.startswith(before):
            yield Withdrawn()
            shown[place:] = [""]
            before = ""
        new = text[len(before) :]
        size = len(new) if whole else self._finished(new)
        if size:
            shown[place] = before + new[:size]
            yield TextEntry(new[:size], goes_on=bool(before))

    def _show_thought(self, place: int, text: str, seconds: float | None) -> Iterator[Entry]:
        if place >= self._shown.thoughts:
            self._shown.thoughts = place + 1
            if text.strip():
                yield Thought(text, seconds)

    def _forget_preview(self) -> None:
        self._episode, self._n, self._runs, self._forming = None, 0, [], {}

    # --- messages ---

    def _message(self, message: Message) -> Iterator[Entry]:
        if message.id in self._seen or message.removed:
            return
        self._seen.add(message.id)
        if message.role == "assistant":
            yield from self._answer(message)
            return
        if message.role == "user":
            text = "\n".join(part.text for part in message.parts if isinstance(part, Text))
            yield UserEntry(text, message.created_at)
        for part in message.parts:
            if not (message.role == "user" and isinstance(part, Text)):
                yield from self._whole(part)

    def _answer(self, message: Message) -> Iterator[Entry]:
        """What of it streamed already is not repeated."""
        places = {Text: 0, Reasoning: 0}
        for part in _joined(message.parts):
            match part:
                case Text():
                    yield from self._show_text(places[Text], part.text, whole=True)
                    places[Text] += 1
                case Reasoning():
                    seconds = _seconds(part.started_at, part.finished_at)
                    yield from self._show_thought(places[Reasoning], part.text, seconds)
                    places[Reasoning] += 1
                case _:
                    yield from self._whole(part)
        for part in message.parts:
            if isinstance(part, ToolCall) and not part.provider_executed:
                self._calls[part.call_id] = OpenCall(part.name, part.input)
        self._forget_preview()
        self._shown = _Shown()
        if message.interrupted:
            yield Interrupted()

    def _whole(self, part: Part) -> Iterator[Entry]:
        match part:
            case ToolResult():
                known = self._calls.pop(part.call_id, None)
                yield CallEntry(part, None if known is None else known.input)
            case Text() | Notice():
                yield Said(part.text)
            case Source():
                yield Said(f"Source: {part.title or ''} {part.url}".replace("  ", " "))
            case File():
                yield Said(f"File: {part.name}, {part.size} bytes")
            case ToolCall() | Reasoning():
                pass

    # --- state ---

    def _status(self, status: Status, waiting: Waiting | None) -> Iterator[Entry]:
        self.status, self.waiting = status, waiting
        if status != "error":
            self._failure = None
        if not self.busy and status != "requires_action":
            self._calls.clear()
            self._forget_preview()
            if any(self._shown.texts):
                yield Withdrawn()
            self._shown = _Shown()

    def _span(self, span: Span) -> None:
        call_id = CallId(span.id.removeprefix("call-"))
        if span.kind == "tool_call" and call_id in self._calls:
            self._calls[call_id] = replace(
                self._calls[call_id], started_at=span.started_at, outcome=span.outcome
            )


def _joined(parts: tuple[Part, ...]) -> Iterator[Part]:
    """With neighbours of text, and of reasoning, as one: live parts do not tell where one ends."""
    held: Text | Reasoning | None = None
    for part in parts:
        match held, part:
            case Text(), Text():
                held = Text(text=held.text + part.text)
            case Reasoning(), Reasoning():
                held = Reasoning(
                    text=held.text + part.text, started_at=held.started_at, finished_at=part.finished_at
                )
            case _:
                if held is not None:
                    yield held
                held = part if isinstance(part, Text | Reasoning) else None
                if held is None:
                    yield part
    if held is not None:
        yield held


def _seconds(start: datetime | None, end: datetime | None) -> float | None:
    return None if start is None or end is None else (end - start).total_seconds()
