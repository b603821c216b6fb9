"""Short words for people, the end of a turn, and the waterfall."""

from datetime import timedelta

import pytest

from holdfast.cli.events import Event
from holdfast.cli.trace import waterfall
from holdfast.cli.transcript import Transcript
from holdfast.cli.turn import OwnTurn, TurnOutcome
from holdfast.cli.wording import about, ago, amount, duration, money, outcome
from holdfast.core.calls import Action, ActionCall
from holdfast.core.failures import Failure
from holdfast.core.feed_events import CaughtUp, QueueData, StatusData
from holdfast.core.ids import CallId, QueueItemId
from holdfast.core.parts import ToolResult
from holdfast.core.spans import Span, SpanKind
from holdfast.core.usage import Usage
from tests.cli.making import CHAT_ID, NOW, chat, message, said


@pytest.mark.parametrize(
    "seconds, shown",
    [
        (-1, "0 ms"),
        (0.0123, "12 ms"),
        (0.9999, "1.0 s"),
        (3.21, "3.2 s"),
        (59, "59 s"),
        (61, "1 min 1 s"),
        (7384, "2 h 3 min"),
    ],
)
def test_durations(seconds: float, shown: str) -> None:
    assert duration(seconds) == shown


def test_amounts_money_and_times() -> None:
    assert [amount(n) for n in (0, 999, 1234, 12_345, 999_499, 1_234_567)] == [
        "0",
        "999",
        "1.2k",
        "12k",
        "999k",
        "1.2M",
    ]
    assert [money(n) for n in (0, 1234, 1_500_000)] == ["$0.00", "$0.0012", "$1.50"]
    assert [ago(NOW - timedelta(seconds=n), NOW) for n in (1, 30, 90, 7200, 200_000)] == [
        "now",
        "30 s ago",
        "1 min ago",
        "2 h ago",
        "2 d ago",
    ]


@pytest.mark.parametrize(
    "given, shown",
    [
        ({"path": "a.py", "content": "x" * 100}, "a.py"),
        ({"command": "make\n test", "timeout_seconds": 5}, "make test"),
        ({"edits": [{"path": "a"}, {"path": "b"}, {"path": "a"}]}, "a, b"),
        ({"questions": [{"id": "q", "text": "Which?"}]}, "Which?"),
        ({"number": 5}, '{"number":5}'),
        ({}, ""),
        (None, ""),
        ("text", "text"),
        ({"path": "\x1b[31m"}, "␛[31m"),
    ],
)
def test_what_a_call_is_about(given: object, shown: str) -> None:
    assert about(given) == shown


def test_how_a_call_ended() -> None:
    done = ToolResult(
        call_id=CallId("c"),
        name="edit_files",
        output="ok",
        outcome="succeeded",
        diff="--- a\n+++ b\n-old\n+new\n+more\n",
        started_at=NOW,
        finished_at=NOW + timedelta(seconds=3.2),
    )
    assert outcome(done) == "3.2 s · +2 −1 · succeeded"
    failed = ToolResult(call_id=CallId("c"), name="execute", output="exit 1\nno", outcome="failed")
    assert outcome(failed) == "failed · exit 1 no"


# --- one's own turn ---


def span(
    kind: SpanKind, span_id: str, parent: str | None, start: float, end: float | None, **more: object
) -> Span:
    return Span(
        id=span_id,
        parent_id=parent,
        chat_id=CHAT_ID,
        turn=int(span_id.split("-")[1]) if kind != "tool_call" else 1,
        kind=kind,
        name=str(more.pop("name", kind)),
        started_at=NOW + timedelta(seconds=start),
        finished_at=None if end is None else NOW + timedelta(seconds=end),
        duration_ms=None if end is None else round((end - start) * 1000),
        **more,  # pyright: ignore[reportArgumentType]
    )


IDLE = StatusData(status="idle")
FAILURE = Failure(kind="auth", message="No key.")


@pytest.mark.parametrize(
    "outcome, then, end",
    [
        ("finished", (chat("idle"), IDLE), TurnOutcome("finished")),
        ("finished", (chat("running"),), TurnOutcome("finished")),
        ("finished", (CaughtUp(),), TurnOutcome("finished")),
        ("interrupted", (IDLE,), TurnOutcome("interrupted")),
        ("failed", (chat("error"), StatusData(status="error"), FAILURE), TurnOutcome("failed", FAILURE)),
    ],
)
def test_a_turn_ends_with_its_own_span_and_what_becomes_of_the_chat(
    outcome: str, then: tuple[Event, ...], end: TurnOutcome
) -> None:
    turn, transcript = OwnTurn(), Transcript()
    turn.sent()
    mine = message("user", said("hi"), turn=2)
    over = span("turn", "turn-2", None, 0, 1, outcome=outcome, failure=end.failure)
    events: tuple[Event, ...] = (
        mine,
        span("turn", "turn-1", None, 0, 1, outcome="failed"),
        chat("running"),
        span("turn", "turn-2", None, 0, None),
        StatusData(status="running"),
        over,
        *then,
    )
    told = [turn.apply(event, transcript) for event in events]
    assert turn.begun
    assert told == [*([None] * (len(events) - 1)), end]


def test_a_message_from_the_queue_is_known_again() -> None:
    turn, transcript, item = OwnTurn(), Transcript(), QueueItemId("q1")
    assert turn.apply(message("user", said("before")), transcript) is None
    turn.sent(item_id=item)
    turn.apply(message("user", said("another's")), transcript)
    assert not turn.begun
    end = turn.apply(QueueData(items=()), transcript)
    assert end is not None
    assert end.how == "failed"


def test_a_turn_that_needs_a_person_ends_the_wait() -> None:
    turn, transcript = OwnTurn(), Transcript()
    call = ActionCall(
        call_id=CallId("c"), kind="approval", name="execute", input={}, deadline_at=None, chat_id=CHAT_ID
    )
    turn.sent()
    for event in (chat("requires_action", Action(calls=(call,))), CaughtUp()):
        transcript.apply(event)
    assert turn.apply(CaughtUp(), transcript) == TurnOutcome("needs_you", what="approval: execute")


# --- the waterfall ---


def test_a_waterfall() -> None:
    usage = Usage(input=1200, output=30, total=1230, cost_usd_micros=20_000)
    spans = [
        span("turn", "turn-1", None, 0, 10, input="Do it\x1b[2J", outcome="finished"),
        span("step", "step-1-1", "turn-1", 0, 5),
        span("model_call", "model-1-1", "step-1-1", 0, 5, name="demo", usage=usage),
        span(
            "tool_call",
            "call-c1",
            "step-1-1",
            5,
            8,
            name="execute",
            input={"command": "ls"},
            outcome="failed",
        ),
        span("tool_call", "call-c2", "step-1-1", 8, None, name="execute", input={"command": "cat"}),
    ]
    lines = waterfall(spans, 100)
    assert len(lines) == 4
    turn, model, failed, running = lines
    assert turn.startswith("turn 1: Do it␛[2J ")
    assert turn.endswith("█ 10 s")
    assert model.startswith("  demo ")
    assert model.endswith("5.0 s · 1.2k in 30 out · $0.0200")
    assert failed.startswith("  execute ls ")
    assert failed.endswith("3.0 s · failed")
    assert running.rstrip().endswith("░ under way")
    assert model.index("█") < failed.index("█") < running.index("░")
    assert model.count("█") > failed.count("█")


def test_a_waterfall_of_nothing() -> None:
    assert waterfall([], 80) == []
    turn = Span(id="turn-1", parent_id=None, chat_id=CHAT_ID, turn=1, kind="turn", name="message")
    assert waterfall([turn], 80)[0].startswith("turn 1: message")
