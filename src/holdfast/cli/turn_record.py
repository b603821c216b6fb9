"""What came of a turn, for those who wait for its end: the answer, what was wrong with it, what it used."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from holdfast.cli.events import Event
from holdfast.cli.turn import TurnOutcome
from holdfast.core.chats import Chat
from holdfast.core.failures import Failure
from holdfast.core.feed_events import MessageData
from holdfast.core.ids import ChatId
from holdfast.core.messages import Message
from holdfast.core.parts import File, Notice, Text, ToolResult
from holdfast.core.shapes import Record
from holdfast.core.usage import Usage

# Notices that say what is wrong with an answer; others tell of what happened beside it.
_PROBLEMS = frozenset(
    (
        "length",
        "content_filter",
        "no_tools",
        "step_limit",
        "loop_guard",
        "budget_exhausted",
        "context_overflow",
    )
)


class Result(Record, frozen=True, kw_only=True):
    """A turn as one object, for programs. `text` is the last answer of the model."""

    chat_id: ChatId | None
    outcome: str
    text: str
    problems: tuple[str, ...]
    files: tuple[File, ...]
    failure: Failure | None
    needs: str | None
    model: str | None
    usage: Usage | None
    seconds: float


@dataclass(slots=True)
class TurnRecord:
    """Give it every event of the turn."""

    text: str = ""
    model: str | None = None
    usage: Usage | None = None
    problems: list[str] = field(default_factory=list[str])
    files: list[File] = field(default_factory=list[File])
    calls_succeeded: int = 0
    _begun_at: datetime = field(default_factory=lambda: datetime.now(UTC))

    def apply(self, event: Event, turn: int | None) -> Sequence[str]:
        """The problems that the event tells of."""
        match event:
            case MessageData() if event.message.turn == turn and not event.message.removed:
                return self._message(event.message)
            case Chat():
                self.usage = event.usage
            case Usage():
                self.usage = event
            case _:
                pass
        return ()

    @property
    def has_something(self) -> bool:
        """Whether anything usable came: an answer, or work that was done."""
        return bool(self.text.strip() or self.files or self.calls_succeeded)

    def result(self, chat_id: ChatId | None, end: TurnOutcome | None) -> Result:
        return Result(
            chat_id=chat_id,
            outcome="interrupted" if end is None else end.how,
            text=self.text,
            problems=tuple(self.problems),
            files=tuple(self.files),
            failure=None if end is None else end.failure,
            needs=None if end is None else end.what or None,
            model=self.model,
            usage=self.usage,
            seconds=round((datetime.now(UTC) - self._begun_at).total_seconds(), 3),
        )

    def _message(self, message: Message) -> Sequence[str]:
        if message.role == "user":
            return ()
        found = [part.text for part in message.parts if isinstance(part, Notice) and part.code in _PROBLEMS]
        self.problems += found
        self.files += [part for part in message.parts if isinstance(part, File)]
        self.calls_succeeded += sum(
            isinstance(part, ToolResult) and part.outcome == "succeeded" for part in message.parts
        )
        said = "".join(part.text for part in message.parts if isinstance(part, Text))
        if message.role == "assistant" and said:
            self.text, self.model = said, message.model
        return found
