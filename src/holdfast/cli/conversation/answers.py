"""What an agent asks of a person, one thing after the other, and what the person's line means. A line that
is no clear answer is none: nothing is ever approved or refused by a guess."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import cast

import msgspec

from holdfast.cli.conversation.parts import parts_of
from holdfast.cli.safe_text import neutral_line, neutral_request
from holdfast.core.calls import ActionCall, Scope, Verdict
from holdfast.core.shapes import Json, Record, encode_text


class AskedQuestion(Record, frozen=True, kw_only=True):
    id: str
    text: str
    options: tuple[str, ...] | None = None
    multiple: bool = False


class _Questions(Record, frozen=True, kw_only=True):
    questions: tuple[AskedQuestion, ...]


@dataclass(frozen=True, slots=True)
class DecisionAnswer:
    call: ActionCall
    decision: Verdict
    scope: Scope = "once"
    note: str | None = None


@dataclass(frozen=True, slots=True)
class Submit:
    call: ActionCall
    output: Json


@dataclass(frozen=True, slots=True)
class Unclear:
    """What to type instead."""

    text: str


@dataclass(frozen=True, slots=True)
class Part:
    """The next part of what is asked, and what is asked with it read."""

    text: str
    asking: "Asking"


@dataclass(frozen=True, slots=True)
class Asking:
    """A call that waits for a person, the answers to the first of its questions, and what of the request has
    not been shown yet."""

    call: ActionCall
    answers: tuple[Json, ...] = ()
    unread: tuple[str, ...] = ()

    def begun(self, columns: int, rows: int) -> Part:
        """The first part of the request, as much as the screen holds. Questions are short and asked whole."""
        text = self.request()
        first, *rest = (text,) if self.call.kind == "question" else parts_of(text, columns, rows)
        return Part(first, replace(self, unread=tuple(rest)))

    def request(self) -> str:
        """Everything that is asked for, in full: what is approved must be what was seen."""
        call = self.call
        match call.kind:
            case "approval" if call_asks_for_path(call):
                return f"The agent wants to read outside the workspace:\n{_shown(call.input)}"
            case "approval":
                return f"{neutral_line(call.name, 100)} wants to run:\n{_shown(call.input)}"
            case "uncertain":
                return (
                    f"The server stopped while this was running, so it may or may not have finished: "
                    f"{neutral_line(call.name, 100)}\n{_shown(call.input)}"
                )
            case "plan":
                return f"A plan:\n{neutral_request(str(_field(call.input, 'plan') or _shown(call.input)))}"
            case "question":
                return _asked(self._question())
            case "client_tool":
                return (
                    f"{neutral_line(call.name, 100)} is answered by the program that provides it, not by you."
                )

    def keys(self) -> str:
        """What can be typed."""
        if self.unread:
            lines = sum(part.count("\n") + 1 for part in self.unread)
            return f"{lines} more lines · m show more · n deny"
        match self.call.kind:
            case "approval" if call_asks_for_path(self.call):
                return "y allow once, for this turn · a allow for this chat · always allow this path · n deny"
            case "approval":
                return "y allow once · a allow for this chat · always allow (rule) · n deny · n REASON"
            case "uncertain":
                return "r run again · d it finished · s skip"
            case "plan":
                return "y accept · or type what should change"
            case "question":
                question = self._question()
                return (
                    "numbers, such as 1,3 · or type an answer"
                    if question.multiple
                    else "a number · or type an answer"
                )
            case "client_tool":
                return ""

    def understand(self, line: str) -> "DecisionAnswer | Submit | Asking | Part | Unclear":
        """The answer, or what to show next, or that the line was neither. What was not shown to its end can
        be refused, but not approved."""
        line = line.strip()
        if not line:
            return Unclear(self.keys())
        if self.unread:
            return self._half_read(line)
        match self.call.kind:
            case "approval":
                return self._approval(line)
            case "uncertain":
                meanings: dict[str, Verdict] = {"r": "retry", "d": "done", "s": "skip"}
                meant = meanings.get(line.lower())
                return Unclear(self.keys()) if meant is None else DecisionAnswer(self.call, meant)
            case "plan":
                approved = line.lower() in ("y", "yes")
                return Submit(
                    self.call, {"approved": True} if approved else {"approved": False, "note": line}
                )
            case "question":
                return self._answered(line)
            case "client_tool":
                return Unclear(self.request())

    def _half_read(self, line: str) -> DecisionAnswer | Part | Unclear:
        if line.lower() in ("m", "more"):
            return Part(self.unread[0], replace(self, unread=self.unread[1:]))
        meant = self._approval(line) if self.call.kind == "approval" else Unclear("")
        refused = isinstance(meant, DecisionAnswer) and meant.decision == "deny"
        return meant if refused else Unclear(self.keys())

    def _approval(self, line: str) -> DecisionAnswer | Unclear:
        word, _, why = line.partition(" ")
        match word.lower().rstrip(",:"), why.strip():
            case (("y" | "yes"), ""):
                return DecisionAnswer(self.call, "approve")
            case (("a" | "chat"), ""):
                return DecisionAnswer(self.call, "approve", "chat")
            case "always", "":
                return DecisionAnswer(self.call, "approve", "always")
            case (("n" | "no"), note):
                return DecisionAnswer(self.call, "deny", note=note.removeprefix("because ").strip() or None)
            case _:
                return Unclear(self.keys())

    def _question(self) -> AskedQuestion:
        return questions_of(self.call)[len(self.answers)]

    def _answered(self, line: str) -> "Submit | Asking":
        questions = questions_of(self.call)
        answers = (*self.answers, _meant(self._question(), line))
        if len(answers) < len(questions):
            return replace(self, answers=answers)
        given = {question.id: answer for question, answer in zip(questions, answers, strict=True)}
        return Submit(self.call, {"answers": given})


def call_asks_for_path(call: ActionCall) -> bool:
    return call.name == "request_access"


def questions_of(call: ActionCall) -> tuple[AskedQuestion, ...]:
    """At least one: a call that cannot be read is asked as it is."""
    try:
        found = msgspec.convert(call.input, _Questions).questions
    except msgspec.ValidationError:
        found = ()
    return found or (AskedQuestion(id="answer", text=_shown(call.input)),)


def _meant(question: AskedQuestion, line: str) -> Json:
    """Numbers choose among the options; anything else is the answer itself."""
    options = question.options or ()
    numbers = [word.strip() for word in line.split(",")]
    if options and all(number.isdecimal() and 1 <= int(number) <= len(options) for number in numbers):
        chosen = [options[int(number) - 1] for number in numbers]
        if question.multiple:
            return chosen
        if len(chosen) == 1:
            return chosen[0]
    return [line] if question.multiple else line


def _asked(question: AskedQuestion) -> str:
    lines = [neutral_request(question.text)]
    lines += [
        f"  {number}. {neutral_line(option, 300)}" for number, option in enumerate(question.options or (), 1)
    ]
    return "\n".join(lines)


def _shown(given: Json) -> str:
    """An input with every field of it, texts as they are."""
    if not isinstance(given, Mapping):
        return neutral_request(encode_text(given))
    lines: list[str] = []
    for name, value in cast(Mapping[str, Json], given).items():
        text = value if isinstance(value, str) else encode_text(value)
        lines.append(f"  {neutral_line(name, 60)}: " + neutral_request(text).replace("\n", "\n    "))
    return "\n".join(lines) or "  (no input)"


def _field(given: Json, name: str) -> Json:
    return cast(Mapping[str, Json], given).get(name) if isinstance(given, Mapping) else None
