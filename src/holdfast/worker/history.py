"""The history of an owned chat, kept in memory so that a step reads nothing: what the model is shown, and
what it says about the turn. It grows by what was committed, and is read again when somebody else changed it;
both ways give the same result."""

from collections.abc import Iterable
from typing import cast

from holdfast.chats.commands import NewMessage
from holdfast.chats.synthetic import unanswered
from holdfast.chats.view import Call
from holdfast.core.chats import BUILD
from holdfast.core.failures import Failure
from holdfast.core.ids import CallId, MessageId
from holdfast.core.messages import HistoryEntry
from holdfast.core.parts import Notice, Text, ToolCall, ToolResult
from holdfast.core.shapes import Json
from holdfast.prompt.history import PromptHistory
from holdfast.prompt.modes import MODE
from holdfast.prompt.notices import (
    CLOSING,
    GO_ON,
    HOOK,
    IN_VAIN,
    INSTRUCTIONS,
    INSTRUCTIONS_RENEWED,
    MORE_STEPS,
    NUDGE,
    closing,
)
from holdfast.worker.repeats import Repeats


def go_on(due: bool) -> tuple[NewMessage, ...]:
    """The message after an answer that its provider paused; people do not need to see it."""
    return (NewMessage(role="system", parts=(GO_ON,), visibility="model"),) if due else ()


def in_vain(due: bool) -> tuple[NewMessage, ...]:
    return (NewMessage(role="system", parts=(IN_VAIN,)),) if due else ()


def closes(limit: Failure | None) -> tuple[NewMessage, ...]:
    """Asks the model for the closing words of a turn. Only the model sees this: people are told at the end of
    the turn why it ended."""
    return () if limit is None else (NewMessage(role="system", parts=(closing(limit),), visibility="model"),)


def nudges(due: bool) -> tuple[NewMessage, ...]:
    return (NewMessage(role="system", parts=(NUDGE,)),) if due else ()


class History:
    def __init__(self, version: int, entries: Iterable[HistoryEntry]) -> None:
        # The history version this corresponds to.
        self.version = version
        self.prompt = PromptHistory()
        self.first_text: str | None = None
        # In the newest turn: what the user said, what hooks added about which of it, and how often they asked
        # for one more step.
        self.prompts: list[HistoryEntry] = []
        self.hook_keys: set[str] = set()
        self.more_steps = 0
        # What was said since the last answer or result.
        self.tail: list[HistoryEntry] = []
        self._last_answer: HistoryEntry | None = None
        self._begin()
        self._extend(entries)

    def _begin(self) -> None:
        """Starts from the newest summary, like every reader of the history."""
        self.complete = False
        # What users said since the last complete answer: a summary must not swallow it.
        self.unanswered: list[HistoryEntry] = []
        self._just_answered: list[HistoryEntry] = []
        # The calls of the newest step.
        self.calls: dict[CallId, ToolCall] = {}
        # The newest step whose context size is known: how much was used, of how much, by which model.
        self.context_used: int | None = None
        self.context_limit: int | None = None
        self.context_model: str | None = None
        # The workspace whose instructions the model was last shown; empty for a chat without one.
        self.instructed_for: str | None = None
        # The message that they are in.
        self._instructed_in: MessageId | None = None
        # A person wants them as they are now, which no message has yet.
        self.renewing = False
        # The mode that the model was last told of.
        self.mode_told = BUILD
        self._repeats = Repeats()
        self._turn = 0
        # In the newest turn: whether people were told that summaries do not help, and why the turn closes.
        self._in_vain = False
        self._closing: Failure | None = None

    @property
    def last_text(self) -> str | None:
        return None if self._last_answer is None else _text(self._last_answer)

    def extend(self, version: int, entries: Iterable[HistoryEntry]) -> None:
        self.version = version
        self._extend(entries)

    def _extend(self, entries: Iterable[HistoryEntry]) -> None:
        entries = tuple(entries)
        self.prompt.extend(entries)
        for entry in entries:
            self._look(entry)

    def _look(self, entry: HistoryEntry) -> None:
        if entry.turn != self._turn:
            self.prompts, self.hook_keys, self.more_steps = [], set(), 0
            # A new turn may retry what failed in the last one.
            self._turn, self._repeats = entry.turn, Repeats()
            self._in_vain, self._closing = False, None
        if entry.role in ("assistant", "tool") or entry.boundary:
            self.tail = []
        else:
            self.tail.append(entry)
        match entry.role:
            case "assistant":
                self._look_at_answer(entry)
            case "tool":
                self.complete = False
                results = [part for part in entry.parts if isinstance(part, ToolResult)]
                self._repeats = self._repeats.after(self.calls, results)
            case "user" | "system" if entry.boundary:
                self._begin()
                self._turn = entry.turn
                self.complete = True
            case "user" | "system":
                self._look_at_word(entry)

    def _look_at_answer(self, entry: HistoryEntry) -> None:
        self.calls = {part.call_id: part for part in entry.parts if isinstance(part, ToolCall)}
        self.complete = not (self.calls and unanswered(self.calls.values(), ()))
        if self.complete:
            self._just_answered, self.unanswered = self.unanswered, []
            self._last_answer = entry
        usage = entry.usage
        if usage is not None and usage.context_used:
            self.context_used, self.context_limit = usage.context_used, usage.context_limit
            self.context_model = entry.model

    def _look_at_word(self, entry: HistoryEntry) -> None:
        self.complete = False
        if entry.role == "user":
            self.prompts.append(entry)
        codes = [part.code for part in entry.parts if isinstance(part, Notice)]
        if HOOK in codes:
            self.hook_keys.add(_noted(entry, HOOK, "key"))
            return
        if MORE_STEPS in codes:
            self.more_steps += 1
        if INSTRUCTIONS in codes:
            self.instructed_for = _noted(entry, INSTRUCTIONS, "workspace_id")
            self._instructed_in, self.renewing = entry.id, False
            return
        if INSTRUCTIONS_RENEWED in codes:
            if self.is_replaced(_data(entry, INSTRUCTIONS_RENEWED)):
                # They are committed again, as after a summary.
                self.instructed_for, self.renewing = None, True
            return
        if MODE in codes:
            self.mode_told = _noted(entry, MODE, "mode")
            return
        if NUDGE.code in codes:
            self._repeats = self._repeats.told()
            return
        if CLOSING in codes:
            self._closing = _limit_of(entry)
            return
        if IN_VAIN.code in codes:
            self._in_vain = True
            return
        if GO_ON.code in codes:
            # The answer before it was not complete yet.
            self.unanswered = self._just_answered
        self.unanswered.append(entry)
        if self.first_text is None and entry.role == "user":
            self.first_text = _text(entry)

    def is_replaced(self, data: Json) -> bool:
        """Whether a wish for new instructions is about those that the model has now: one that came after the
        new text changes nothing any more."""
        replaced = cast(dict[str, Json], data).get("message_id") if isinstance(data, dict) else None
        return self._instructed_in is not None and replaced == self._instructed_in

    def told_in_vain(self, turn: int) -> bool:
        return self._in_vain and turn == self._turn

    def closing(self, turn: int) -> Failure | None:
        return self._closing if turn == self._turn else None

    def repeats(self, turn: int, results: Iterable[Call]) -> Repeats:
        """How often calls of this turn failed in the same way, with these results included."""
        before = self._repeats if turn == self._turn else Repeats()
        return before.after(self.calls, results)


def _limit_of(entry: HistoryEntry) -> Failure:
    for part in entry.parts:
        if isinstance(part, Notice) and part.code == CLOSING and isinstance(data := part.data, dict):
            fields = cast(dict[str, Json], data)
            return Failure(kind=str(fields.get("kind", "")), message=str(fields.get("message", "")))
    return Failure(kind="step_limit", message="The turn reached a limit.")


def _noted(entry: HistoryEntry, code: str, field: str) -> str:
    data = _data(entry, code)
    # An imported history may contain anything here.
    return str(cast(dict[str, Json], data).get(field, "")) if isinstance(data, dict) else ""


def _data(entry: HistoryEntry, code: str) -> Json:
    return next((part.data for part in entry.parts if isinstance(part, Notice) and part.code == code), None)


def _text(entry: HistoryEntry) -> str:
    return "\n".join(part.text for part in entry.parts if isinstance(part, Text))
