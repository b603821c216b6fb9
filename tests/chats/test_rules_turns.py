"""Turns: how they start and end, what an interrupt keeps, limits, compaction, retry, leases and fences
(rules 5, 6, 8 and 9)."""

from datetime import timedelta

import pytest
from msgspec.structs import replace

from holdfast.chats.commands import (
    Acquire,
    BeginAttempt,
    Command,
    CommitStep,
    Compact,
    FailTurn,
    Fence,
    FinishInterrupt,
    FinishTurn,
    NewMessage,
    NewStep,
    Reconcile,
    Release,
    RequestCompaction,
    RetryTurn,
    Send,
)
from holdfast.chats.states import State, state_of
from holdfast.chats.view import View
from holdfast.core.failures import Failure
from holdfast.core.origins import FromChat
from holdfast.core.parts import Notice
from holdfast.core.usage import Usage
from tests.chats.making import (
    EXPIRED_LEASE,
    FAILURE,
    FENCE,
    LATER_WORKER,
    LIVE_LEASE,
    NOW,
    OWNER,
    PARENT,
    STEP,
    after,
    assistant,
    call,
    changed,
    item,
    new_call,
    notice,
    refused,
    results_in,
    step,
    text,
    texts_in,
    view,
)

SEND = Send(parts=text("hello"), created_by=OWNER)
LIMIT = Failure(kind="budget_exhausted", message="The budget is spent.")
SPENT = NewStep(started_at=NOW, usage=Usage(input=5, output=2, total=7, cost_usd_micros=9))
ACQUIRE = Acquire(worker_id=LATER_WORKER, expires_at=NOW + timedelta(seconds=15))


# --- start and end ---


def test_a_turn_runs_from_its_message_to_its_end() -> None:
    started = changed(view("idle"), SEND)
    assert [(turn.number, turn.kind, turn.message_id) for turn in started.turns] == [
        (3, "message", started.messages[0].id)
    ]
    assert started.messages[0].turn == 3
    ended = changed(started.after, FinishTurn())
    assert [(end.number, end.outcome, end.failure) for end in ended.turns_ended] == [(3, "finished", None)]


@pytest.mark.parametrize(
    "before, command, outcome",
    [
        (view(), FinishTurn(), "finished"),
        (view("interrupting"), FinishInterrupt(), "interrupted"),
        (view(), FailTurn(failure=FAILURE), "failed"),
    ],
    ids=["finish_turn", "finish_interrupt", "fail_turn"],
)
def test_the_end_of_a_childs_turn_is_delivered_with_it(before: View, command: Command, outcome: str) -> None:
    child = replace(
        before, chat=replace(before.chat, origin=FromChat(chat_id=PARENT), root_id=PARENT, answer_id=None)
    )
    answered = after(replace(child, chat=replace(child.chat, status="running", attempt=1)), step())
    child = replace(child, chat=replace(child.chat, answer_id=answered.chat.answer_id))
    (delivery,) = changed(child, command).deliveries
    assert (delivery.child_id, delivery.turn, delivery.parent_id) == (child.chat.id, 2, PARENT)
    assert (delivery.outcome, delivery.answer_id) == (outcome, answered.chat.answer_id)
    assert (delivery.failure is not None) == (outcome == "failed")


def test_a_chat_without_a_parent_delivers_nothing() -> None:
    assert changed(view(), FinishTurn()).deliveries == ()


def test_each_turn_of_a_child_is_delivered_by_itself() -> None:
    child = view(origin=FromChat(chat_id=PARENT), root_id=PARENT, queue=(item(1),))
    first = changed(child, FinishTurn())
    second = changed(first.after, FinishTurn())
    assert [each.turn for each in (*first.deliveries, *second.deliveries)] == [2, 3]


def test_the_answer_of_a_turn_is_its_newest_assistant_message() -> None:
    first = changed(view(attempt=1), step())
    second = changed(first.after, step(content="more"))
    assert second.after is not None
    assert second.after.chat.answer_id == second.messages[0].id
    assert after(second.after, FinishTurn(), SEND).chat.answer_id is None


@pytest.mark.parametrize(
    "before, ending",
    [
        (view(queue=(item(1), item(2))), FinishTurn()),
        (view("interrupting", queue=(item(1), item(2))), FinishInterrupt()),
    ],
    ids=["finish_turn", "finish_interrupt"],
)
def test_the_head_enters_in_the_same_transaction(before: View, ending: Command) -> None:
    change = changed(before, ending)
    assert texts_in(change) == ["item 1"]
    assert [turn.number for turn in change.turns] == [3]
    assert change.after is not None
    assert change.after.chat.status == "running"
    # The worker goes on with it.
    assert change.after.chat.lease == LIVE_LEASE


def test_an_idle_chat_has_no_owner() -> None:
    assert after(view(), FinishTurn()).chat.lease is None
    assert after(view("interrupting"), FinishInterrupt()).chat.lease is None
    assert after(view(), FailTurn(failure=FAILURE)).chat.lease is None


def test_a_turn_ends_with_what_its_calls_have_come_to() -> None:
    """A tool that ends the turn has answered, another was never begun."""
    change = changed(view(calls=(call(0, "finished"), call(1))), FinishTurn())
    results = results_in(change)
    assert results["call-0"].output == "output 0"
    assert (results["call-1"].outcome, "not run" in str(results["call-1"].output)) == ("cancelled", True)


def test_a_finished_turn_may_leave_a_notice() -> None:
    change = changed(view(), FinishTurn(notice=Notice(code="told", text="Something to know.")))
    assert [message.role for message in change.messages] == ["system"]
    assert texts_in(change) == ["Something to know."]


# --- limits ---


def test_a_limit_ends_the_turn_with_a_notice() -> None:
    change = changed(view(), FinishTurn(limit=LIMIT))
    (entered,) = change.messages
    assert entered.parts == (Notice(code="budget_exhausted", text="The budget is spent."),)
    assert change.after is not None
    assert change.after.chat.status == "idle"


def test_a_limit_with_a_notice_of_its_own_leaves_that_one() -> None:
    change = changed(view(), FinishTurn(limit=LIMIT, notice=Notice(code="told", text="Enough.")))
    assert texts_in(change) == ["Enough."]


@pytest.mark.parametrize("queue", [(item(1),), (item(1, held=True),), (item(1, "steer"),)])
def test_a_limit_with_a_queue_is_a_failure_and_the_queue_is_kept(queue: tuple[object, ...]) -> None:
    change = changed(view(queue=queue), FinishTurn(limit=LIMIT))  # pyright: ignore[reportArgumentType]
    assert change.messages == ()
    assert change.after is not None
    assert change.after.chat.status == "error"
    assert change.after.chat.last_error == LIMIT
    assert len(change.after.queue) == 1
    assert [end.outcome for end in change.turns_ended] == ["failed"]


def test_a_limit_does_not_wake_for_notices() -> None:
    assert after(view(inbox=(notice(1),)), FinishTurn(limit=LIMIT)).chat.status == "idle"


# --- failure, retry, reconcile ---


def test_a_failed_turn_answers_its_calls_and_keeps_the_queue() -> None:
    before = view(calls=(call(0, "started"), call(1), call(2, "finished")), queue=(item(1),))
    change = changed(before, FailTurn(failure=FAILURE))
    results = results_in(change)
    assert "may have had effects" in str(results["call-0"].output)
    assert "not run" in str(results["call-1"].output)
    assert results["call-2"].outcome == "succeeded"
    assert change.after is not None
    assert (change.after.chat.last_error, len(change.after.queue)) == (FAILURE, 1)


def test_a_failed_step_is_recorded_with_what_it_cost() -> None:
    change = changed(view(), FailTurn(failure=FAILURE, step=SPENT))
    assert [(each.outcome, each.message_id) for each in change.steps] == [("failed", None)]
    assert change.after is not None
    assert change.after.chat.usage.total == 7


@pytest.mark.parametrize("command", [SEND, RetryTurn(), Compact()], ids=lambda command: command.kind)
def test_leaving_error_clears_the_last_error(command: Command) -> None:
    assert after(view("error"), command).chat.last_error is None


def test_retry_runs_the_failed_turn_first() -> None:
    before = view("error", queue=(item(1),), turn_model="large", turn_effort="high")
    change = changed(before, RetryTurn())
    assert change.messages == ()
    assert [(turn.number, turn.kind) for turn in change.turns] == [(3, "retry")]
    assert change.after is not None
    assert (change.after.chat.turn_model, change.after.chat.turn_effort) == ("large", "high")
    assert len(change.after.queue) == 1


def test_the_retry_of_a_failed_compaction_is_a_compaction() -> None:
    failed = after(after(view("idle"), Compact()), FailTurn(failure=FAILURE))
    again = after(failed, RetryTurn())
    assert (again.chat.turn_kind, again.chat.compaction) == ("compaction", "manual")


@pytest.mark.parametrize(
    "before",
    [
        view("idle", queue=(item(1), item(2, "steer"))),
        view("idle", calls=(call(0, "started"),)),
        view("idle", lease=LIVE_LEASE),
        view("error", last_error=None),
        view("requires_action", calls=(call(0),), queue=(item(1),)),
        view("requires_action", calls=(call(0, "waiting"),), lease=LIVE_LEASE),
        view("running", archived=True, calls=(call(0, "started"),)),
    ],
    ids=["queue", "calls", "lease", "no reason", "nobody", "owned action", "archived"],
)
def test_reconcile_brings_an_invalid_chat_to_error_and_says_why(before: View) -> None:
    assert state_of(before) is State.INVALID
    change = changed(before, Reconcile())
    assert change.after is not None
    chat = change.after.chat
    assert state_of(change.after) is not State.INVALID
    assert (chat.status, chat.archived) == ("error", before.chat.archived)
    assert chat.last_error is not None
    assert chat.last_error.kind == "reconciled"
    assert chat.last_error.detail
    assert len(change.after.queue) == len(before.queue)
    assert not any(waiting.busy == "steer" for waiting in change.after.queue)
    assert change.removed_from is None
    assert results_in(change).keys() == {each.call_id for each in before.calls}
    busy = before.chat.status in ("running", "requires_action")
    assert [end.outcome for end in change.turns_ended] == (["failed"] if busy else [])


# --- compaction ---


def test_compaction_on_request_is_a_turn_of_its_own_and_nobodys_task() -> None:
    child = view("idle", origin=FromChat(chat_id=PARENT), root_id=PARENT)
    asked = changed(child, Compact())
    assert asked.messages == ()
    assert [turn.kind for turn in asked.turns] == ["compaction"]
    assert asked.after is not None
    assert asked.after.chat.compaction == "manual"
    ended = changed(asked.after, FinishTurn())
    assert ended.deliveries == ()
    assert ended.after is not None
    assert ended.after.chat.compaction is None


def test_the_step_that_compacts_ends_the_request() -> None:
    asked = after(view(attempt=1), RequestCompaction())
    assert asked.chat.compaction == "overflow"
    boundary = NewMessage(role="system", parts=text("summary"), visibility="model", compaction=True)
    commit = CommitStep(step=replace(STEP, kind="compaction"), messages=(boundary,))
    change = changed(asked, commit)
    assert change.after is not None
    assert change.after.chat.compaction is None
    assert (change.messages[0].compaction, change.messages[0].visibility) == (True, "model")
    assert [each.kind for each in change.steps] == ["compaction"]
    assert after(asked, step()).chat.compaction == "overflow"


def test_instructions_enter_before_steers_and_notices() -> None:
    before = view(calls=(call(0, "finished"),), queue=(item(1, "steer"),), inbox=(notice(1),))
    instructions = NewMessage(role="system", parts=text("Be kind."), visibility="model")
    change = changed(before, BeginAttempt(messages=(instructions,)))
    assert texts_in(change) == ["output 0", "Be kind.", "item 1", "notice 1"]
    assert change.messages[1].visibility == "model"


# --- rule 6: interrupt ---


def test_what_was_streamed_is_kept_and_marked_interrupted() -> None:
    change = changed(
        view("interrupting", attempt=1), FinishInterrupt(step=SPENT, message=assistant(content="so f"))
    )
    assert [(message.role, message.interrupted) for message in change.messages] == [("assistant", True)]
    assert [(each.outcome, each.message_id) for each in change.steps] == [
        ("interrupted", change.messages[0].id)
    ]
    assert change.after is not None
    assert change.after.chat.usage.total == 7


def test_complete_calls_that_had_not_been_committed_are_kept_as_not_run() -> None:
    streamed = FinishInterrupt(
        step=SPENT,
        message=assistant("a", "b"),
        calls=(new_call("a"), new_call("b", waits_for="approval")),
    )
    change = changed(view("interrupting", attempt=1), streamed)
    assert [message.role for message in change.messages] == ["assistant", "tool"]
    for result in results_in(change).values():
        assert (result.outcome, "not run" in str(result.output)) == ("cancelled", True)
    assert [row.state for row in change.calls_put] == ["answered", "answered"]


def test_started_calls_get_their_real_outcome_or_may_have_had_effects() -> None:
    before = view("interrupting", calls=(call(0, "finished"), call(1, "started"), call(2)))
    results = results_in(changed(before, FinishInterrupt()))
    assert results["call-0"].output == "output 0"
    assert (results["call-1"].outcome, "may have had effects" in str(results["call-1"].output)) == (
        "cancelled",
        True,
    )
    assert (results["call-2"].outcome, "not run" in str(results["call-2"].output)) == ("cancelled", True)


def test_nothing_partial_is_kept_from_a_compaction_but_its_cost() -> None:
    before = view("interrupting", turn_kind="compaction", compaction="manual", attempt=1)
    change = changed(before, FinishInterrupt(step=replace(SPENT, kind="compaction")))
    assert change.messages == ()
    assert [(each.kind, each.outcome, each.message_id) for each in change.steps] == [
        ("compaction", "interrupted", None)
    ]
    assert change.after is not None
    assert change.after.chat.compaction is None
    assert change.after.chat.usage.total == 7


def test_nothing_can_have_been_streamed_while_calls_are_open() -> None:
    before = view("interrupting", calls=(call(0, "started"),))
    assert refused(before, FinishInterrupt(message=assistant())).code == "wrong_state"


# --- steps ---


def test_steps_are_numbered_within_their_turn_and_their_usage_adds_up() -> None:
    first = changed(view(attempt=1), CommitStep(step=SPENT, messages=(assistant(),)))
    second = changed(first.after, CommitStep(step=SPENT, messages=(assistant(),)))
    assert [(each.turn, each.number) for each in (*first.steps, *second.steps)] == [(2, 2), (2, 3)]
    assert second.after is not None
    assert second.after.chat.usage.total == 14
    assert after(second.after, FinishTurn(), SEND).chat.turn_steps == 0


# --- leases and fences ---


def test_acquiring_gives_the_next_lease_number_and_moves_the_version() -> None:
    state = after(view(lease=None), ACQUIRE)
    assert state.chat.lease is not None
    assert (state.chat.lease.number, state.chat.lease_number) == (4, 4)
    assert state.chat.lease.worker_id == LATER_WORKER
    assert state.chat.version == 8


def test_a_live_lease_is_nobody_elses() -> None:
    assert refused(view(), ACQUIRE).code == "wrong_state"
    assert after(view(lease=EXPIRED_LEASE), ACQUIRE).chat.lease_number == 4
    ends_now = replace(LIVE_LEASE, expires_at=NOW)
    assert after(view(lease=ends_now), ACQUIRE).chat.lease_number == 4


def test_a_crash_leaves_attempt_and_retry_notice_as_they_were() -> None:
    before = view(lease=EXPIRED_LEASE, attempt=2)
    assert after(before, ACQUIRE).chat.attempt == 2


def test_lease_numbers_are_never_given_twice() -> None:
    state = after(after(view(), Release(), fence=FENCE), ACQUIRE)
    assert state.chat.lease_number == 4


@pytest.mark.parametrize(
    "fence, holds",
    [
        (Fence(lease_number=3), True),
        (Fence(lease_number=3, history_version=6, status="running", attempt=1), True),
        (Fence(lease_number=2), False),
        (Fence(lease_number=4), False),
        (Fence(lease_number=3, history_version=5), False),
        (Fence(lease_number=3, status="interrupting"), False),
        (Fence(lease_number=3, attempt=2), False),
    ],
)
def test_a_commit_counts_only_if_its_whole_fence_holds(fence: Fence, holds: bool) -> None:
    before = view(attempt=1)
    if holds:
        assert not changed(before, BeginAttempt(), fence=fence).is_empty
    else:
        assert refused(before, BeginAttempt(), fence=fence).code == "stale"


def test_a_fence_never_holds_without_a_lease_or_a_chat() -> None:
    assert refused(view(lease=None), BeginAttempt(), fence=FENCE).code == "stale"
    assert refused(None, BeginAttempt(), fence=FENCE).code == "stale"
