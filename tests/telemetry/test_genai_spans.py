"""Rows as spans of the conventions for generative AI, without anybody to send them to."""

import json
from datetime import UTC, datetime, timedelta

from msgspec.structs import replace

from holdfast.chats.view import Call
from holdfast.core.failures import Failure
from holdfast.core.ids import CallId, ChatId, MessageId, RunId, StepId, UserId
from holdfast.core.messages import Message, Role
from holdfast.core.parts import Part, Text, ToolCall, ToolResult
from holdfast.core.runs import Run
from holdfast.core.steps import Step, Turn
from holdfast.core.trace_parents import TraceParent, call_span, model_span, span_id_of, turn_span
from holdfast.core.usage import Usage
from holdfast.store.hints import newest
from holdfast.store.steps import Traced
from holdfast.telemetry.genai_spans import (
    MOST_CHARACTERS,
    ExportedSpan,
    NamedModel,
    TracedAgent,
    run_span_of,
    turn_spans,
)
from holdfast.telemetry.trace_context import SpanPlace
from tests.telemetry.hinting import hint_of

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
CHAT = ChatId("chat")
OUTSIDE = TraceParent(trace_id="0" * 31 + "1", span_id="0" * 15 + "2")
PLACE = SpanPlace(span=OUTSIDE.below(*turn_span(CHAT, 1)), parent=OUTSIDE)
KEY = "sk-ant-api03-0123456789abcdef0123456789"


def at(seconds: float) -> datetime:
    return NOON + timedelta(seconds=seconds)


def message(name: str, role: Role, *parts: Part) -> Message:
    return Message(
        id=MessageId(name), chat_id=CHAT, turn=1, role=role, parts=parts, revision=1, created_at=NOON
    )


def step(number: int, answer: str | None, **more: object) -> Step:
    made = Step(
        id=StepId(f"s{number}"),
        turn=1,
        number=number,
        message_id=None if answer is None else MessageId(answer),
        model="default",
        provider="fake",
        usage=Usage(input=100, output=20, cache_read=60, cache_write=10, reasoning=5, total=120),
        started_at=at(number),
        first_part_at=at(number + 0.25),
        finished_at=at(number + 0.5),
    )
    return replace(made, **more)


def rows(*steps: Step, turn: Turn | None = None) -> Traced:
    call = CallId("call_1")
    return Traced(
        turns=(
            turn
            or Turn(
                number=1,
                kind="message",
                message_id=MessageId("1"),
                started_at=at(0),
                finished_at=at(9),
                outcome="finished",
            ),
        ),
        steps=steps or (step(1, "2"), step(2, "4")),
        calls=(
            Call(
                call_id=call,
                message_id=MessageId("2"),
                turn=1,
                position=0,
                name="look",
                state="answered",
                outcome="denied",
                output=f"no, {KEY}",
                finished_at=at(1.8),
            ),
        ),
        messages=(
            message("1", "user", Text(text="Please look.")),
            message("2", "assistant", ToolCall(call_id=call, name="look", input={"at": "x" * 50_000})),
            message("3", "tool", ToolResult(call_id=call, name="look", output="no", outcome="denied")),
            message("4", "assistant", Text(text="I may not.")),
        ),
    )


def spans(found: Traced, **more: bool) -> tuple[ExportedSpan, ...]:
    agent = TracedAgent(id="a1", name="reviewer")
    named = NamedModel(model="claude-x", provider="anthropic")
    return turn_spans(CHAT, PLACE, found, lambda _provider, _model: named, agent=agent, **more)


def test_a_turn_its_model_calls_and_its_tools() -> None:
    turn, first, second, call = spans(rows())
    assert turn.name == "invoke_agent reviewer"
    assert (turn.parent, turn.error) == (OUTSIDE, None)
    assert turn.attributes["gen_ai.agent.id"] == "a1"
    assert first.name == "chat claude-x"
    assert (first.kind, first.parent) == ("client", PLACE.span)
    assert first.place.span_id == span_id_of(*model_span(CHAT, 1, 1))
    assert first.attributes["gen_ai.usage.cache_read.input_tokens"] == 60
    assert first.attributes["gen_ai.usage.cache_creation.input_tokens"] == 10
    assert first.attributes["gen_ai.usage.reasoning.output_tokens"] == 5
    assert first.attributes["gen_ai.response.time_to_first_chunk"] == 0.25
    assert second.place.span_id != first.place.span_id
    # A call that never began still took a moment, and its outcome is why it has nothing to show.
    assert (call.name, call.error, call.kind) == ("execute_tool look", "denied", "internal")
    assert call.place.span_id == span_id_of(*call_span(CHAT, "call_1"))
    assert call.started_at == call.finished_at == at(1.8)


def test_nothing_that_was_said_unless_asked_for() -> None:
    told = str(spans(rows()))
    assert not any(said in told for said in ("look.", "may not", "xxx", "no,"))


def test_what_was_said_is_bounded_and_without_keys() -> None:
    turn, first, second, call = spans(rows(), content=True)
    assert json.loads(str(turn.attributes["gen_ai.input.messages"])) == [
        {"role": "user", "parts": [{"type": "text", "content": "Please look."}]}
    ]
    assert "I may not." in str(turn.attributes["gen_ai.output.messages"])
    # To each model call what is new to it.
    assert "Please look." in str(first.attributes["gen_ai.input.messages"])
    assert [one["role"] for one in json.loads(str(second.attributes["gen_ai.input.messages"]))] == ["tool"]
    assert len(str(call.attributes["gen_ai.tool.call.arguments"])) == MOST_CHARACTERS
    assert KEY not in str((turn, first, second, call))


def test_failures() -> None:
    overloaded = Failure(kind="overloaded", message="Too busy: here is what you asked", retryable=True)
    failed = Turn(
        number=1, kind="message", started_at=at(0), finished_at=at(9), outcome="failed", failure=overloaded
    )
    again = step(1, None, attempts=3, failures=(overloaded, overloaded), outcome="failed")
    turn, first, _ = spans(rows(again, turn=failed))
    assert (turn.error, first.error) == ("overloaded", "overloaded")
    assert [event.name for event in first.events] == ["holdfast.attempt_failed"] * 2
    assert "what you asked" not in str((turn, first))


def test_what_is_not_over_is_not_exported() -> None:
    assert spans(rows(turn=Turn(number=1, kind="message", started_at=at(0)))) == ()


def test_beside_a_turn() -> None:
    title = step(1_000_001, None, kind="title")
    (only,) = spans(rows(step(1, "2"), title), beside=True)
    assert only.attributes["holdfast.step.kind"] == "title"


def test_a_run() -> None:
    run = Run(
        id=RunId("r"),
        owner_id=UserId("u"),
        name="deep-research",
        language="python",
        status="failed",
        created_at=at(0),
        finished_at=at(5),
        args_hash="",
        script="",
    )
    span = run_span_of(run, PLACE)
    assert span is not None
    assert (span.name, span.error) == ("invoke_workflow deep-research", "failed")
    assert run_span_of(replace(run, finished_at=None), PLACE) is None


def test_hints_of_one_commit_name_all_turns_that_ended() -> None:
    (kept,) = newest([hint_of(1, ended=(1,)), hint_of(2, ended=(2, 3)), hint_of(3)])
    assert kept == hint_of(3, ended=(1, 2, 3))
