"""The little language that the demo model follows, and where in a script a conversation is. Both are pure:
the position is read from the history, so a server that was killed continues where it was."""

import json
import re
from collections.abc import Sequence
from textwrap import dedent
from typing import cast, get_args

from holdfast.core.parts import Notice, Text, ToolResult
from holdfast.core.shapes import Record
from holdfast.providers.demo_plays import play_of
from holdfast.providers.error_bodies import FailureKind
from holdfast.providers.interface import PromptMessage, StopReason
from holdfast.providers.wording import output_text

MOST_STEPS = 10_000
MOST_SECONDS = 3600.0


class Say(Record, frozen=True, kw_only=True):
    text: str
    slowly: bool = False
    reasoning: bool = False


class ScriptedWait(Record, frozen=True, kw_only=True):
    seconds: float


class Pace(Record, frozen=True, kw_only=True):
    """The pause between words of what is said slowly from here on."""

    seconds: float


class ScriptedFailure(Record, frozen=True, kw_only=True):
    """Fails the attempt; with `times`, only the first so many attempts."""

    kind: FailureKind
    times: int | None = None


class Called(Record, frozen=True, kw_only=True):
    name: str
    # As written: what is not JSON is sent like that, as a model might.
    input: str


class Calls(Record, frozen=True, kw_only=True):
    calls: tuple[Called, ...]


class Cite(Record, frozen=True, kw_only=True):
    url: str
    title: str | None


class Report(Record, frozen=True, kw_only=True):
    """The usage this answer claims, instead of an estimate."""

    counts: dict[str, int]


class ScriptedStop(Record, frozen=True, kw_only=True):
    reason: StopReason


class Mistake(Record, frozen=True, kw_only=True):
    """A line that looks like a step but is none; said to the person instead of guessed at."""

    line: str
    reason: str


Step = Say | ScriptedWait | Pace | ScriptedFailure | Calls | Cite | Report | ScriptedStop | Mistake

VERBS = (
    *("say slowly", "say", "think slowly", "think", "calls", "call"),
    *("wait", "pace", "fail", "repeat", "source", "usage", "stop"),
)
_STEP = re.compile(rf"(?P<verb>{'|'.join(VERBS)})(?: (?P<number>\d+))?:(?: (?P<rest>.*))?$")
_CALL = re.compile(r"\s*(?P<name>[^\s{;]+)\s*")
_FAIL = re.compile(r"(?P<kind>[a-z_]+)(?: (?P<times>\d+)(?: times?)?)?")
_KINDS = cast(tuple[str, ...], get_args(FailureKind))
_STOPS = cast(tuple[str, ...], get_args(StopReason))


def parse_script(text: str) -> tuple[Step, ...]:
    """The steps in a message; none when it is an ordinary message. A line that begins with a blank continues
    the one before, any other line that is no step is a remark."""
    lines: list[str] = []
    for line in text.splitlines():
        if line[:1] in (" ", "\t") and lines:
            lines[-1] += "\n" + line.rstrip()
        elif _STEP.match(line):
            lines.append(line.rstrip())
    steps: list[Step] = []
    for line in map(_dedented, lines):
        steps.extend(_steps(line))
        if len(steps) > MOST_STEPS:
            return (
                *steps[:MOST_STEPS],
                Mistake(line=line[:80], reason=f"a script has at most {MOST_STEPS} steps"),
            )
    return tuple(steps)


def _dedented(line: str) -> str:
    """Without the indentation that all continuing lines have in common."""
    first, _, rest = line.partition("\n")
    return f"{first}\n{dedent(rest)}" if rest else line


def answers(steps: Sequence[Step]) -> tuple[tuple[Step, ...], ...]:
    """The script cut into answers: a call ends one, because its result must come first."""
    found: list[tuple[Step, ...]] = []
    current: list[Step] = []
    for step in steps:
        current.append(step)
        if isinstance(step, (Calls, ScriptedStop)):
            found.append(tuple(current))
            current = []
    return (*found, tuple(current)) if current else tuple(found)


class ScriptPosition(Record, frozen=True, kw_only=True):
    """Where a conversation stands: the newest user message, its script, and how many answers it has had."""

    said: str
    script: tuple[tuple[Step, ...], ...]
    answered: int
    results: tuple[ToolResult, ...]


def find_place(messages: Sequence[PromptMessage]) -> ScriptPosition:
    said, start = "", 0
    for number in range(len(messages) - 1, -1, -1):
        if messages[number].role == "user" and not _is_beside(messages[number]):
            said, start = _text(messages[number]), number
            break
    after = messages[start + 1 :]
    results: tuple[ToolResult, ...] = ()
    if messages and messages[-1].role == "tool":
        results = tuple(part for part in messages[-1].parts if isinstance(part, ToolResult))
    return ScriptPosition(
        said=said,
        script=answers(parse_script(play_of(said) or said)),
        answered=sum(message.role == "assistant" for message in after),
        results=results,
    )


def _is_beside(message: PromptMessage) -> bool:
    """Whether it only says something beside what a user wants: that does not end a script."""
    return bool(message.parts) and all(
        isinstance(part, Notice) and part.code in _BESIDE for part in message.parts
    )


_BESIDE = frozenset({"instructions", "instructions_renewed", "check", "loop_guard", "mode", "changes"})


def fill_in(text: str, results: Sequence[ToolResult]) -> str:
    """`{result}` and `{results}` stand for what the tools just answered."""
    if "{result" not in text:
        return text
    texts = [output_text(result) for result in results]
    return text.replace("{results}", "\n".join(texts)).replace(
        "{result}", texts[-1] if texts else "(no result)"
    )


def _text(message: PromptMessage) -> str:
    return "\n".join(part.text for part in message.parts if isinstance(part, Text))


def _steps(line: str) -> Sequence[Step]:
    match = _STEP.match(line.partition("\n")[0])
    assert match is not None
    verb, number = match["verb"], match["number"]
    rest = (match["rest"] or "") + line[match.end() :]
    if verb == "repeat":
        return _repeat(line, number, rest)
    if number is not None:
        return (Mistake(line=line[:80], reason=f"`{verb}` takes no number before the colon"),)
    return (_step(line, verb, rest),)


def _repeat(line: str, number: str | None, rest: str) -> Sequence[Step]:
    if number is None or _STEP.match(rest.partition("\n")[0]) is None:
        return (Mistake(line=line[:80], reason="it is written `repeat 3: say: hello`"),)
    steps = tuple(_steps(rest))
    # One more than there may be, so that too many are noticed; a repetition of repetitions is still that
    # many.
    return steps * min(int(number[:9]), MOST_STEPS // max(len(steps), 1) + 1)


def _step(line: str, verb: str, rest: str) -> Step:
    match verb:
        case "say" | "say slowly":
            return Say(text=rest, slowly=verb.endswith("slowly"))
        case "think" | "think slowly":
            return Say(text=rest, slowly=verb.endswith("slowly"), reasoning=True)
        case "wait" | "pace":
            seconds = _seconds(rest)
            if seconds is None:
                return Mistake(line=line[:80], reason=f"`{verb}` takes seconds, from 0 to {MOST_SECONDS:g}")
            return ScriptedWait(seconds=seconds) if verb == "wait" else Pace(seconds=seconds)
        case "call":
            return _one_call(line, rest)
        case "calls":
            return _many_calls(line, rest)
        case "fail":
            found = _FAIL.fullmatch(rest.strip())
            if found is None or found["kind"] not in _KINDS:
                return Mistake(line=line[:80], reason=f"`fail` takes one of {', '.join(_KINDS)}")
            times = int(found["times"][:9]) if found["times"] else None
            return ScriptedFailure(kind=cast(FailureKind, found["kind"]), times=times)
        case "source":
            url, _, title = rest.strip().partition(" ")
            return Cite(url=url, title=title.strip() or None)
        case "usage":
            return _report(line, rest)
        case _:
            if rest.strip() not in _STOPS:
                return Mistake(line=line[:80], reason=f"`stop` takes one of {', '.join(_STOPS)}")
            return ScriptedStop(reason=cast(StopReason, rest.strip()))


def _seconds(text: str) -> float | None:
    try:
        seconds = float(text)
    except ValueError:
        return None
    return seconds if 0 <= seconds <= MOST_SECONDS else None


def _one_call(line: str, rest: str) -> Step:
    found = _CALL.match(rest)
    if found is None:
        return Mistake(line=line[:80], reason='it is written `call: tool_name {"field": "value"}`')
    return Calls(calls=(Called(name=found["name"], input=rest[found.end() :].strip() or "{}"),))


def _many_calls(line: str, rest: str) -> Step:
    decoder = json.JSONDecoder(strict=False)
    calls: list[Called] = []
    position = 0
    while rest[position:].strip(" ;,\n"):
        position += len(rest[position:]) - len(rest[position:].lstrip(" ;,\n"))
        found = _CALL.match(rest, position)
        if found is None:
            break
        position = found.end()
        written = "{}"
        if rest[position : position + 1] == "{":
            try:
                _, end = decoder.raw_decode(rest, position)
            except ValueError as error:
                return Mistake(line=line[:80], reason=f"the input of {found['name']} is not JSON: {error}")
            written, position = rest[position:end], end
        calls.append(Called(name=found["name"], input=written))
    if not calls:
        return Mistake(line=line[:80], reason='it is written `calls: one {"a": 1}; two {"b": 2}`')
    return Calls(calls=tuple(calls))


def _report(line: str, rest: str) -> Step:
    counts: dict[str, int] = {}
    for name, value in re.findall(r"(input|output|reasoning|cache_read|cache_write)=(-?\d+)", rest):
        counts[name] = int(value[:20])
    if not counts:
        return Mistake(line=line[:80], reason="it is written `usage: input=1000 output=20 cache_read=500`")
    return Report(counts=counts)
