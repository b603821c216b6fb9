"""Spans, made from the rows of turns, steps and calls. Pure: no engine."""

from datetime import datetime, timedelta
from typing import Any

from holdfast.chats.view import Call
from holdfast.core.calls import Approval
from holdfast.core.failures import Failure
from holdfast.core.ids import CallId, MessageId, StepId
from holdfast.core.messages import Message
from holdfast.core.parts import Text, ToolCall, ToolResult
from holdfast.core.segments import StepCache
from holdfast.core.shapes import Json
from holdfast.core.spans import Span
from holdfast.core.steps import Step, Turn
from holdfast.core.usage import Usage
from holdfast.telemetry.spans import SHOWN, spans
from tests.chats.making import CHAT, NOW, call, message

ASKED, ANSWER = MessageId(message(1, ()).id), MessageId(message(2, ()).id)
USAGE = Usage(input=100, output=10, cache_read=60, cache_write=20, total=110)


CACHE = StepCache(read=60, write=20, fresh=20, hit_rate=0.6)


def at(seconds: float) -> datetime:
    return NOW + timedelta(seconds=seconds)


def turn(**more: Any) -> Turn:
    fields: dict[str, Any] = {
        "number": 1,
        "kind": "message",
        "message_id": ASKED,
        "started_at": at(0),
        **more,
    }
    return Turn(**fields)


def step(number: int = 1, **more: Any) -> Step:
    fields: dict[str, Any] = {
        "id": StepId(f"s{number}"),
        "turn": 1,
        "number": number,
        "message_id": ANSWER,
        "model": "default",
        "usage": USAGE,
        "started_at": at(1),
        "finished_at": at(3),
        **more,
    }
    return Step(**fields)


def made(n: int, **more: Any) -> Call:
    fields: dict[str, Any] = {
        "message_id": ANSWER,
        "turn": 1,
        "started_at": at(4),
        "finished_at": at(4.5),
        **more,
    }
    return call(n, "finished", **fields)


def messages(*inputs: Json, said: str = "Let me see") -> list[Message]:
    calls = tuple(
        ToolCall(call_id=CallId(f"call-{n}"), name="execute", input=given)
        for n, given in enumerate(inputs, start=1)
    )
    return [
        message(1, (Text(text="Do it"),)),
        message(2, (Text(text=said), *calls), "assistant"),
    ]


def by_id(found: tuple[Span, ...]) -> dict[str, Span]:
    assert len({span.id for span in found}) == len(found)
    return {span.id: span for span in found}


def test_a_turn_its_step_its_model_call_and_its_calls() -> None:
    approval = Approval(by="rule", rule="auto: none", at=NOW)
    found = spans(
        CHAT,
        [turn(finished_at=at(9), outcome="finished")],
        [step()],
        [made(1, approval=approval), made(2, outcome="failed", output="no")],
        messages({"path": "a"}, {"path": "b"}),
    )
    assert [(span.id, span.parent_id, span.kind, span.name) for span in found] == [
        ("turn-1", None, "turn", "message"),
        ("step-1-1", "turn-1", "step", "step 1"),
        ("model-1-1", "step-1-1", "model_call", "default"),
        ("call-call-1", "step-1-1", "tool_call", "execute"),
        ("call-call-2", "step-1-1", "tool_call", "execute"),
    ]
    whole, of_step, of_model, first, second = found
    assert (whole.input, whole.outcome, whole.duration_ms) == ("Do it", "finished", 9000)
    assert (of_step.usage, of_step.duration_ms, of_step.outcome) == (USAGE, 2000, "finished")
    assert of_model.input == {"attempts": 1, "failures": []}
    assert of_model.output == "Let me see"
    assert of_model.cache == CACHE
    assert (first.input, first.output, first.duration_ms) == ({"path": "a"}, "output 1", 500)
    assert first.approved_by == approval
    assert (second.outcome, second.output) == ("failed", "no")


def test_a_call_knows_when_it_was_asked_for_and_when_it_began() -> None:
    said = messages({})
    asked = said[1].created_at
    waits = call(1, "waiting", message_id=ANSWER, turn=1, waits_for="approval")
    span = by_id(spans(CHAT, [turn()], [step()], [waits], said))["call-call-1"]
    assert (span.asked_at, span.started_at) == (asked, None)
    # A person took their time; the span begins when the call did.
    late = made(1, started_at=asked + timedelta(hours=1), finished_at=asked + timedelta(hours=1, seconds=2))
    span = by_id(spans(CHAT, [turn()], [step()], [late], said))["call-call-1"]
    assert (span.asked_at, span.started_at) == (asked, asked + timedelta(hours=1))
    assert span.duration_ms == 2000


def test_what_is_under_way_has_no_end() -> None:
    running = call(1, "started", message_id=ANSWER, turn=1)
    found = by_id(spans(CHAT, [turn()], [step()], [running], messages({})))
    assert found["turn-1"].finished_at is None
    assert found["turn-1"].duration_ms is None
    assert found["call-call-1"].outcome is None
    assert found["call-call-1"].finished_at is None


def test_the_same_thing_has_the_same_id_at_its_start_and_at_its_end() -> None:
    before = spans(CHAT, [turn()], [], [call(1, "pending", message_id=ANSWER, turn=1)], [])
    after = spans(CHAT, [turn(outcome="finished")], [step()], [made(1)], messages({}))
    assert {span.id for span in before} < {span.id for span in after}


def test_a_call_whose_step_is_not_there_belongs_to_the_turn() -> None:
    found = by_id(spans(CHAT, [turn()], [], [made(1)], []))
    assert found["call-call-1"].parent_id == "turn-1"
    assert found["call-call-1"].input is None


def test_failures_are_told_where_they_ended_something() -> None:
    failure = Failure(kind="overloaded", message="Too much to do.")
    failed = step(outcome="failed", attempts=3, failures=(failure, failure), message_id=None)
    found = by_id(spans(CHAT, [turn(outcome="failed", failure=failure)], [failed], [], messages()))
    assert found["turn-1"].failure == failure
    assert found["step-1-1"].failure == failure
    assert found["model-1-1"].input == {"attempts": 3, "failures": ["overloaded", "overloaded"]}
    # One that was overcome is no failure of the step.
    found = by_id(spans(CHAT, [turn()], [step(attempts=2, failures=(failure,))], [], messages()))
    assert found["step-1-1"].failure is None


def test_a_compaction_is_one_span_with_its_summary() -> None:
    summarised = ToolCall(call_id=CallId("s"), name="chat_summarized", input={"source": "manual"})
    result = ToolResult(
        call_id=CallId("s"), name="chat_summarized", output={"summary": "x"}, outcome="succeeded"
    )
    said = [message(2, (summarised,), "assistant"), message(3, (result,), "tool")]
    found = spans(CHAT, [turn()], [step(kind="compaction")], [], said)
    (compaction,) = [span for span in found if span.kind == "compaction"]
    assert (compaction.parent_id, compaction.output, compaction.usage) == ("turn-1", {"summary": "x"}, USAGE)
    assert compaction.cache == CACHE
    assert [span.kind for span in found] == ["turn", "compaction"]


def test_long_input_and_output_are_cut() -> None:
    given: Json = {"content": "x" * 5000}
    calls = [made(1, output="y" * 5000), made(2, output="short")]
    cut = by_id(spans(CHAT, [turn()], [step()], calls, messages(given, {"a": 1}, said="z" * 5000)))
    first = cut["call-call-1"]
    assert isinstance(first.input, str)
    assert first.input.startswith('{"content":"xxx')
    assert (len(first.input), first.output, first.truncated) == (SHOWN, "y" * SHOWN, True)
    assert cut["model-1-1"].output == "z" * SHOWN == "z" * 2000
    assert (cut["call-call-2"].input, cut["call-call-2"].truncated) == ({"a": 1}, False)
    whole = by_id(spans(CHAT, [turn()], [step()], calls, messages(given, {"a": 1}), whole=True))
    assert (whole["call-call-1"].input, whole["call-call-1"].output) == (given, "y" * 5000)


def test_by_turn_and_start_and_what_has_not_begun_last() -> None:
    found = spans(
        CHAT,
        [turn(number=2, started_at=at(50)), turn()],
        [step(), step(turn=2, started_at=at(51))],
        [
            made(1, started_at=at(60), turn=2),
            call(2, "pending", message_id=ANSWER, turn=1),
            made(3, started_at=at(2)),
        ],
        [],
    )
    assert [span.turn for span in found] == sorted(span.turn for span in found)
    assert [span.id for span in found if span.turn == 1] == [
        "turn-1",
        "step-1-1",
        "model-1-1",
        "call-call-3",
        "call-call-2",
    ]
