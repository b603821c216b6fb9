"""The counters move exactly as the design's table says. The stateful test finds commands that move them
otherwise; here is what each is for."""

from datetime import timedelta

import pytest

from holdfast.chats.change import Change
from holdfast.chats.commands import (
    Acquire,
    BeginAttempt,
    Command,
    Edit,
    FailTurn,
    FinishCall,
    FinishTurn,
    HoldQueued,
    Interrupt,
    LapseHolds,
    MoveQueued,
    NewStep,
    NoteRetry,
    NoteStep,
    Notify,
    Reconcile,
    Release,
    RequestCompaction,
    RetryTurn,
    Send,
    StartCalls,
)
from holdfast.chats.facts import Facts, Target
from holdfast.chats.view import View
from holdfast.core.ids import CallId, MessageId
from holdfast.core.usage import Usage
from tests.chats.making import (
    FAILURE,
    LATER_WORKER,
    NOW,
    OWNER,
    after,
    call,
    changed,
    item,
    notice,
    numbered,
    step,
    text,
    view,
)

PAID = NewStep(started_at=NOW, usage=Usage(input=3, total=3))
SEND = Send(parts=text("hello"), created_by=OWNER)
FINISH = FinishCall(call_id=CallId("call-0"), run=1, outcome="succeeded", output="done")


def moved(change: Change) -> set[str]:
    """Which of the counters are at the new version."""
    assert change.after is not None
    chat = change.after.chat
    return {
        name
        for name in ("version", "history_version", "queue_version", "retry_version")
        if getattr(chat, name) == change.before + 1
    }


@pytest.mark.parametrize(
    "before, command, counters",
    [
        (view("idle"), SEND, {"version", "history_version"}),
        (view(), SEND, {"version", "queue_version"}),
        (view("error", queue=(item(1),)), SEND, {"version", "history_version", "queue_version"}),
        (view(queue=(item(1),)), HoldQueued(item_id=item(1).id), {"version", "queue_version"}),
        (
            view(queue=(item(1), item(2))),
            MoveQueued(item_id=item(2).id, position=0),
            {"version", "queue_version"},
        ),
        (view(), Interrupt(), {"version"}),
        (view(), Notify(source="agent", key="k", text="t"), {"version"}),
        (view(), Release(), {"version"}),
        (
            view(lease=None),
            Acquire(worker_id=LATER_WORKER, expires_at=NOW + timedelta(seconds=15)),
            {"version"},
        ),
        (view(), BeginAttempt(), {"version"}),
        (view(calls=(call(0, "finished"),)), BeginAttempt(), {"version", "history_version"}),
        (
            view(queue=(item(1, "steer"),)),
            BeginAttempt(),
            {"version", "history_version", "queue_version"},
        ),
        (view(inbox=(notice(1),)), BeginAttempt(), {"version", "history_version"}),
        (view(attempt=1), NoteRetry(failure=FAILURE, delay_ms=1), {"version", "retry_version"}),
        (view(attempt=1), step(), {"version", "history_version"}),
        (view("idle"), NoteStep(turn=1, step=PAID), {"version"}),
        (view(), RequestCompaction(), {"version"}),
        (view(calls=(call(0),)), StartCalls(call_ids=(CallId("call-0"),)), {"version"}),
        (view(calls=(call(0, "started"),)), FINISH, {"version"}),
        (view(), FinishTurn(), {"version"}),
        (view(queue=(item(1),)), FinishTurn(), {"version", "history_version", "queue_version"}),
        (view(), FailTurn(failure=FAILURE), {"version"}),
    ],
    ids=lambda value: type(value).__name__.lower(),
)
def test_what_moves(before: View, command: Command, counters: set[str]) -> None:
    assert moved(changed(before, command)) == counters


@pytest.mark.parametrize(
    "before, command",
    [
        (view("interrupting"), Interrupt()),
        (view(queue=(item(1),)), LapseHolds()),
        (view(), Reconcile()),
        (view(compaction="overflow"), RequestCompaction()),
        (view(queue=(item(1), item(2))), MoveQueued(item_id=item(1).id, position=0)),
    ],
    ids=lambda value: type(value).__name__.lower(),
)
def test_what_changes_nothing_moves_nothing(before: View, command: Command) -> None:
    change = changed(before, command)
    assert change.is_empty
    assert change.after == before


def test_several_commands_are_one_version() -> None:
    before = view(calls=(call(0, "started"), call(1)))
    change = changed(before, FINISH, StartCalls(call_ids=(CallId("call-1"),)))
    assert change.after is not None
    assert change.after.chat.version == before.chat.version + 1
    assert [each.state for each in change.after.calls] == ["finished", "started"]


def test_an_attempt_is_counted_before_each_try_at_the_step() -> None:
    once = after(view(), BeginAttempt())
    twice = after(once, BeginAttempt())
    assert (once.chat.attempt, twice.chat.attempt) == (1, 2)


def test_a_message_resets_the_attempt() -> None:
    assert after(view(attempt=3), step()).chat.attempt == 0
    assert after(view(attempt=3, queue=(item(1),)), FinishTurn()).chat.attempt == 0
    assert after(view(attempt=3), FinishTurn()).chat.attempt == 3
    # Results, steers and notices enter before the attempt is counted.
    assert after(view(attempt=3, inbox=(notice(1),)), BeginAttempt()).chat.attempt == 1


def test_attempts_of_one_history_version_never_have_the_same_number_twice() -> None:
    """Live parts are told apart by it: a retried turn goes on counting."""
    failed = after(view(attempt=3), FailTurn(failure=FAILURE))
    again = after(after(failed, RetryTurn()), BeginAttempt())
    assert again.chat.history_version == failed.chat.history_version
    assert again.chat.attempt == 4


def test_the_retry_notice_is_cleared_when_the_attempt_moves() -> None:
    noted = after(view(attempt=1), NoteRetry(failure=FAILURE, delay_ms=2_500))
    assert noted.chat.retry is not None
    assert noted.chat.retry.attempt == 1
    assert noted.chat.retry.delay_ms == 2_500
    assert noted.chat.retry.next_at == NOW + timedelta(milliseconds=2_500)
    assert noted.chat.retry.retryable
    begun = changed(noted, BeginAttempt())
    assert "retry_version" in moved(begun)
    assert begun.after is not None
    assert begun.after.chat.retry is None
    answered = after(noted, step())
    assert answered.chat.retry is None


def test_the_retry_notice_ends_with_the_turn() -> None:
    noted = after(view(attempt=1), NoteRetry(failure=FAILURE, delay_ms=1))
    assert after(noted, FailTurn(failure=FAILURE)).chat.retry is None


def test_every_message_written_carries_the_version() -> None:
    before = view(calls=(call(0, "finished"),), queue=(item(1, "steer"),), inbox=(notice(1),))
    change = changed(before, BeginAttempt())
    assert [message.role for message in change.messages] == ["tool", "user", "system"]
    assert {message.revision for message in change.messages} == {before.chat.version + 1}


def test_message_ids_rise_even_when_the_clock_goes_back() -> None:
    before = view("idle")
    long_ago = NOW - timedelta(days=400)
    edit = Edit(message_id=MessageId(numbered(0x501)), parts=text("better"), created_by=OWNER)
    change = changed(before, edit, facts=Facts(target=Target(role="user", removed=False)), now=long_ago)
    assert before.chat.last_message_id is not None
    assert change.messages[0].id > before.chat.last_message_id


def test_lists_are_sorted_by_the_start_and_end_of_turns_alone() -> None:
    before = view()
    assert after(before, BeginAttempt()).chat.active_at == before.chat.active_at
    assert after(before, SEND).chat.active_at == before.chat.active_at
    assert after(before, FinishTurn()).chat.active_at == NOW
    assert after(view("idle"), SEND).chat.active_at == NOW
