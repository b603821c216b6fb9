"""Sending and the queue: what enters, what waits and where, holds, steers (rules 1 to 3 and the table of
sends)."""

from datetime import timedelta
from typing import Any

import pytest

from holdfast.chats.commands import (
    BeginAttempt,
    Command,
    DeleteQueued,
    EditQueued,
    FailTurn,
    FinishInterrupt,
    FinishTurn,
    HoldQueued,
    Interrupt,
    LapseHolds,
    MoveQueued,
    Promote,
    ReleaseQueued,
    Send,
    Stop,
)
from holdfast.chats.facts import Facts
from holdfast.chats.view import Queued, View
from holdfast.core.chats import Status
from holdfast.core.ids import MessageId, QueueItemId
from holdfast.core.messages import Busy, Message
from holdfast.core.parts import Text
from tests.chats.making import (
    FAILURE,
    NOW,
    OWNER,
    after,
    call,
    changed,
    item,
    notice,
    numbered,
    refused,
    results_in,
    text,
    texts_in,
    view,
)

BUSIES: tuple[Busy, ...] = ("queue", "interrupt", "steer")
FULL = tuple(item(n) for n in range(1, 21))
HELD_FULL = (item(1, held=True), *(item(n) for n in range(2, 21)))
LATER = NOW + timedelta(seconds=121)


def send(busy: Busy = "queue", **more: Any) -> Send:
    return Send(parts=text("hello"), busy=busy, created_by=OWNER, **more)


def said(view: View) -> list[str]:
    """What waits, in order."""
    return [part.text for waiting in view.queue for part in waiting.parts if isinstance(part, Text)]


# --- sending ---


@pytest.mark.parametrize("busy", BUSIES)
@pytest.mark.parametrize("status", ["idle", "error"])
def test_what_is_sent_to_a_resting_chat_enters_and_runs(status: Status, busy: Busy) -> None:
    change = changed(view(status), send(busy))
    assert isinstance(change.answer, Message)
    assert change.messages == (change.answer,)
    assert texts_in(change) == ["hello"]
    assert change.after is not None
    assert change.after.chat.status == "running"
    assert change.after.chat.turn == 3


def test_in_error_with_a_queue_it_is_appended_and_the_head_enters() -> None:
    change = changed(view("error", queue=(item(1), item(2))), send())
    assert texts_in(change) == ["item 1"]
    assert isinstance(change.answer, Queued)
    assert change.after is not None
    assert said(change.after) == ["item 2", "hello"]


def test_in_error_with_a_queue_a_steer_is_a_plain_item() -> None:
    waiting = after(view("error", queue=(item(1),)), send("steer")).queue
    assert [each.busy for each in waiting] == ["queue"]


def test_in_error_with_a_queue_an_interrupt_enters_before_the_head() -> None:
    change = changed(view("error", queue=(item(1),)), send("interrupt"))
    assert texts_in(change) == ["hello"]
    assert change.after is not None
    assert said(change.after) == ["item 1"]


def test_in_error_with_a_held_head_it_enters_at_once() -> None:
    change = changed(view("error", queue=(item(1, held=True), item(2))), send())
    assert texts_in(change) == ["hello"]
    assert change.after is not None
    assert said(change.after) == ["item 1", "item 2"]


@pytest.mark.parametrize("status", ["running", "interrupting"])
def test_while_busy_it_is_appended(status: Status) -> None:
    before = view(status, queue=(item(1),))
    change = changed(before, send())
    assert change.messages == ()
    assert change.after is not None
    assert said(change.after) == ["item 1", "hello"]
    assert change.after.chat.status == status


@pytest.mark.parametrize("status", ["running", "interrupting"])
def test_an_interrupt_goes_behind_earlier_interrupts_and_before_the_rest(status: Status) -> None:
    queue = (item(1, "interrupt"), item(2, "interrupt"), item(3), item(4, "steer"))
    state = after(view(status, queue=queue), send("interrupt"))
    assert said(state) == ["item 1", "item 2", "hello", "item 3", "item 4"]
    assert state.chat.status == "interrupting"


def test_a_steer_is_marked_while_there_is_a_turn_to_join() -> None:
    asking = view("requires_action", calls=(call(0, "waiting"),))
    assert after(view(), send("steer")).queue[0].busy == "steer"
    assert after(asking, send("steer")).queue[0].busy == "steer"
    assert after(view("interrupting"), send("steer")).queue[0].busy == "queue"


def test_while_an_action_is_required_it_waits() -> None:
    state = after(view("requires_action", calls=(call(0, "waiting"),)), send())
    assert state.chat.status == "requires_action"
    assert said(state) == ["hello"]


def test_an_interrupt_answers_what_is_asked_and_enters() -> None:
    before = view(
        "requires_action", calls=(call(0, "waiting"), call(1, "finished")), queue=(item(1, "steer"),)
    )
    change = changed(before, send("interrupt"))
    results = results_in(change)
    assert results["call-0"].outcome == "cancelled"
    assert "not run" in str(results["call-0"].output)
    assert results["call-1"].output == "output 1"
    assert [message.role for message in change.messages] == ["tool", "user"]
    assert [(end.number, end.outcome) for end in change.turns_ended] == [(2, "interrupted")]
    assert change.after is not None
    assert change.after.chat.status == "running"
    assert [(each.busy, each.id) for each in change.after.queue] == [("queue", item(1).id)]


def test_a_message_needs_a_part() -> None:
    assert refused(view("idle"), Send(parts=(), created_by=OWNER)).code == "invalid_input"


def test_the_turn_takes_model_and_effort_of_its_message() -> None:
    state = after(view("idle"), send(model="large", effort="high"))
    assert (state.chat.turn_model, state.chat.turn_effort) == ("large", "high")
    assert after(view("idle", turn_model="old"), send()).chat.turn_model is None


def test_what_no_engine_can_carry_is_replaced_before_it_is_queued() -> None:
    state = after(view(), Send(parts=text("a\0b\ud800"), model="m\0", created_by=OWNER))
    assert said(state) == ["a\ufffdb\ufffd"]
    assert state.queue[0].model == "m\ufffd"


# --- rule 1: at most 20 ---


@pytest.mark.parametrize("busy", BUSIES)
@pytest.mark.parametrize(
    "before",
    [
        view(queue=FULL),
        view("interrupting", queue=FULL),
        view(queue=HELD_FULL),
    ],
    ids=["running", "interrupting", "held"],
)
def test_the_21st_is_refused_whatever_its_kind(before: View, busy: Busy) -> None:
    assert refused(before, send(busy)).code == "queue_full"


def test_another_limit_may_be_configured() -> None:
    before = view(queue=FULL[:2])
    assert refused(before, send(queue_limit=2)).code == "queue_full"
    assert len(after(before, send(queue_limit=3)).queue) == 3


@pytest.mark.parametrize("busy", ["queue", "steer"])
@pytest.mark.parametrize(
    "before",
    [view("requires_action", calls=(call(0, "waiting"),), queue=FULL), view("error", queue=FULL)],
    ids=["requires_action", "error"],
)
def test_the_21st_that_would_wait_is_refused(before: View, busy: Busy) -> None:
    assert refused(before, send(busy)).code == "queue_full"


@pytest.mark.parametrize(
    "before, busy",
    [
        (view("idle", queue=HELD_FULL), "queue"),
        (view("idle", queue=HELD_FULL), "steer"),
        (view("error", queue=HELD_FULL), "queue"),
        (view("error", queue=FULL), "interrupt"),
        (view("requires_action", calls=(call(0, "waiting"),), queue=FULL), "interrupt"),
    ],
)
def test_what_enters_at_once_is_not_queued_and_not_refused(before: View, busy: Busy) -> None:
    change = changed(before, send(busy))
    assert isinstance(change.answer, Message)
    assert change.after is not None
    assert len(change.after.queue) == 20


def test_the_20th_is_accepted() -> None:
    assert len(after(view(queue=FULL[:19]), send()).queue) == 20


@pytest.mark.parametrize(
    "command",
    [
        Promote(item_id=item(9).id),
        MoveQueued(item_id=item(9).id, position=0),
        EditQueued(item_id=item(9).id, parts=text("x")),
        HoldQueued(item_id=item(9).id),
        ReleaseQueued(item_id=item(9).id),
        DeleteQueued(item_id=item(9).id),
    ],
    ids=lambda command: command.kind,
)
def test_an_item_already_taken_is_answered_with_its_message(command: Command) -> None:
    sent = Facts(sent={item(9).id: MessageId(numbered(0x777))})
    refusal = refused(view(queue=(item(1),)), command, facts=sent)
    assert (refusal.code, refusal.data) == ("already_sent", {"message_id": numbered(0x777)})
    assert refused(view(queue=(item(1),)), command).code == "not_found"


# --- promote, move, edit, delete ---


def test_send_now_releases_and_enters_a_held_head() -> None:
    change = changed(view("idle", queue=(item(1, held=True), item(2))), Promote(item_id=item(1).id))
    assert texts_in(change) == ["item 1"]
    assert isinstance(change.answer, Message)
    assert change.answer.queue_item_id == item(1).id
    assert change.after is not None
    assert said(change.after) == ["item 2"]


def test_send_now_in_error_enters() -> None:
    change = changed(view("error", queue=(item(1), item(2))), Promote(item_id=item(2).id))
    assert texts_in(change) == ["item 2"]
    assert change.after is not None
    assert change.after.chat.last_error is None


@pytest.mark.parametrize("status", ["running", "interrupting"])
def test_send_now_while_busy_goes_to_the_head_and_interrupts(status: Status) -> None:
    queue = (item(1, "interrupt"), item(2), item(3, "steer", held=True))
    state = after(view(status, queue=queue), Promote(item_id=item(3).id))
    assert said(state) == ["item 3", "item 1", "item 2"]
    assert (state.queue[0].busy, state.queue[0].held) == ("interrupt", False)
    assert state.chat.status == "interrupting"


def test_send_now_while_an_action_is_required_is_an_interrupt() -> None:
    before = view("requires_action", calls=(call(0, "waiting"),), queue=(item(1), item(2, "steer")))
    change = changed(before, Promote(item_id=item(2).id))
    assert results_in(change)["call-0"].outcome == "cancelled"
    assert texts_in(change)[-1] == "item 2"
    assert change.after is not None
    assert change.after.chat.status == "running"
    assert said(change.after) == ["item 1"]


@pytest.mark.parametrize("position, order", [(0, [3, 1, 2]), (1, [1, 3, 2]), (2, [1, 2, 3])])
def test_move(position: int, order: list[int]) -> None:
    before = view(queue=(item(1), item(2), item(3)))
    change = changed(before, MoveQueued(item_id=item(3).id, position=position))
    assert change.after is not None
    assert [each.id for each in change.after.queue] == [item(n).id for n in order]
    assert isinstance(change.answer, Queued)
    assert change.answer.id == item(3).id
    places = [each.place for each in change.after.queue]
    assert places == sorted(set(places))


@pytest.mark.parametrize("position", [-1, 3])
def test_move_out_of_the_queue_is_refused(position: int) -> None:
    before = view(queue=(item(1), item(2), item(3)))
    assert refused(before, MoveQueued(item_id=item(1).id, position=position)).code == "invalid_input"


def test_moving_a_held_head_away_starts_the_next() -> None:
    before = view("idle", queue=(item(1, held=True), item(2)))
    change = changed(before, MoveQueued(item_id=item(1).id, position=1))
    assert texts_in(change) == ["item 2"]
    # Who moved is told of what was moved, not of what started.
    assert isinstance(change.answer, Queued)
    assert change.answer.id == item(1).id


def test_editing_an_item() -> None:
    change = changed(view(queue=(item(1), item(2))), EditQueued(item_id=item(1).id, parts=text("better")))
    assert change.after is not None
    assert said(change.after) == ["better", "item 2"]
    assert isinstance(change.answer, Queued)
    assert refused(view(queue=(item(1),)), EditQueued(item_id=item(1).id, parts=())).code == "invalid_input"


def test_deleting_an_item() -> None:
    change = changed(view("error", queue=(item(1), item(2))), DeleteQueued(item_id=item(1).id))
    assert change.queue_dropped == (item(1).id,)
    assert change.messages == ()
    assert change.after is not None
    assert said(change.after) == ["item 2"]


def test_deleting_a_held_head_starts_the_next() -> None:
    change = changed(view("idle", queue=(item(1, held=True), item(2))), DeleteQueued(item_id=item(1).id))
    assert texts_in(change) == ["item 2"]
    assert isinstance(change.answer, Queued)
    assert change.answer.id == item(1).id


# --- rule 2: steers ---


def test_steers_and_notices_enter_before_the_next_model_call_after_the_results_in_order() -> None:
    before = view(
        calls=(call(0, "finished"), call(1, "finished")),
        queue=(item(1, "steer"), item(2), item(3, "steer")),
        inbox=(notice(1), notice(2, wake=False)),
    )
    change = changed(before, BeginAttempt())
    assert [message.role for message in change.messages] == ["tool", "user", "user", "system", "system"]
    assert texts_in(change) == ["output 0", "output 1", "item 1", "item 3", "notice 1", "notice 2"]
    assert change.after is not None
    assert said(change.after) == ["item 2"]
    assert change.after.inbox == ()
    assert change.after.chat.turn == before.chat.turn


def test_a_steer_joins_the_turn_and_does_not_start_one() -> None:
    change = changed(view(queue=(item(1, "steer"),)), BeginAttempt())
    assert change.turns == ()
    assert change.messages[0].queue_item_id == item(1).id
    assert change.messages[0].turn == 2


def test_a_held_steer_waits_on() -> None:
    state = after(view(queue=(item(1, "steer", held=True), item(2, "steer"))), BeginAttempt())
    assert said(state) == ["item 1"]


def test_nothing_enters_before_a_compaction() -> None:
    before = view(calls=(call(0, "finished"),), queue=(item(1, "steer"),), inbox=(notice(1),))
    change = changed(before, BeginAttempt(admit=False))
    assert [message.role for message in change.messages] == ["tool"]
    assert change.after is not None
    assert (len(change.after.queue), len(change.after.inbox)) == (1, 1)


@pytest.mark.parametrize(
    "before, command",
    [
        (view(queue=(item(1, held=True), item(2, "steer"), item(3))), FinishTurn()),
        (view("interrupting", queue=(item(1, held=True), item(2, "steer"), item(3))), FinishInterrupt()),
        (view(queue=(item(1), item(2, "steer"), item(3))), FailTurn(failure=FAILURE)),
    ],
    ids=["finish_turn", "finish_interrupt", "fail_turn"],
)
def test_steers_left_at_the_end_of_the_turn_are_plain_items_at_their_place(
    before: View, command: Command
) -> None:
    state = after(before, command)
    assert said(state) == ["item 1", "item 2", "item 3"]
    assert {each.busy for each in state.queue} == {"queue"}


def test_a_leftover_steer_at_the_head_starts_the_next_turn() -> None:
    change = changed(view(queue=(item(1, "steer"),)), FinishTurn())
    assert texts_in(change) == ["item 1"]
    assert change.after is not None
    assert (change.after.chat.status, change.after.chat.turn) == ("running", 3)


@pytest.mark.parametrize("more", [{"model": "large"}, {"effort": "high"}])
@pytest.mark.parametrize("before", [view(), view("idle"), view("error", queue=(item(1),))])
def test_a_steer_cannot_change_the_model(before: View, more: dict[str, str]) -> None:
    assert refused(before, send("steer", **more)).code == "invalid_input"


# --- rule 3: holds ---


def test_a_hold_answers_with_its_token_and_lasts_two_minutes() -> None:
    change = changed(view(queue=(item(1),)), HoldQueued(item_id=item(1).id))
    assert isinstance(change.answer, Queued)
    assert change.answer.hold_token
    assert change.answer.hold_until == NOW + timedelta(minutes=2)


def test_renewing_needs_the_token_and_counts_anew() -> None:
    held = view(queue=(item(1, held=True),))
    renewed = changed(held, HoldQueued(item_id=item(1).id, hold_token="hold-1")).answer
    assert isinstance(renewed, Queued)
    assert (renewed.hold_token, renewed.hold_until) == ("hold-1", NOW + timedelta(minutes=2))
    assert refused(held, HoldQueued(item_id=item(1).id, hold_token="other")).code == "wrong_state"
    assert refused(held, HoldQueued(item_id=item(1).id)).code == "wrong_state"


def test_editing_and_releasing_need_the_token() -> None:
    held = view(queue=(item(1, held=True),))
    item_id = item(1).id
    for token in (None, "other"):
        assert (
            refused(held, EditQueued(item_id=item_id, parts=text("x"), hold_token=token)).code
            == "wrong_state"
        )
        assert refused(held, ReleaseQueued(item_id=item_id, hold_token=token)).code == "wrong_state"
    assert said(after(held, EditQueued(item_id=item_id, parts=text("x"), hold_token="hold-1"))) == ["x"]
    assert not after(held, ReleaseQueued(item_id=item_id, hold_token="hold-1")).queue[0].held


def test_moving_deleting_and_sending_now_need_no_token() -> None:
    held = view(queue=(item(1, held=True), item(2)))
    item_id = item(1).id
    for command in (
        MoveQueued(item_id=item_id, position=1),
        DeleteQueued(item_id=item_id),
        Promote(item_id=item_id),
    ):
        assert not changed(held, command).is_empty


@pytest.mark.parametrize("swept", [False, True])
def test_a_lapsed_hold_is_none_whether_swept_or_not(swept: bool) -> None:
    """The token of a hold that is over opens nothing, and nobody needs one."""
    before = view(queue=(item(1, lapsed=True),))
    if swept:
        before = after(before, LapseHolds())
    item_id = item(1).id
    edit, hold = EditQueued(item_id=item_id, parts=text("x")), HoldQueued(item_id=item_id)
    assert said(after(before, edit)) == ["x"]
    assert (
        refused(before, EditQueued(item_id=item_id, parts=text("x"), hold_token="hold-1")).code
        == "wrong_state"
    )
    taken = changed(before, hold).answer
    assert isinstance(taken, Queued)
    assert taken.hold_token not in (None, "hold-1")
    assert refused(before, HoldQueued(item_id=item_id, hold_token="hold-1")).code == "wrong_state"
    for token in (None, "hold-1"):
        assert not after(before, ReleaseQueued(item_id=item_id, hold_token=token)).queue[0].held


def test_a_hold_is_over_at_the_very_moment_it_lapses() -> None:
    before = view("idle", queue=(item(1, held=True),))
    ends = before.queue[0].hold_until
    assert ends is not None
    just_before = ends - timedelta(microseconds=1)
    edit = EditQueued(item_id=item(1).id, parts=text("x"))
    assert refused(before, edit, now=just_before).code == "wrong_state"
    assert said(after(before, edit, now=ends)) == ["x"]
    assert changed(before, LapseHolds(), now=just_before).is_empty
    assert texts_in(changed(before, LapseHolds(), now=ends)) == ["item 1"]


def test_items_behind_a_held_head_wait() -> None:
    state = after(view(queue=(item(1, held=True), item(2))), FinishTurn())
    assert state.chat.status == "idle"
    assert said(state) == ["item 1", "item 2"]


def test_releasing_the_head_of_an_idle_chat_starts_it() -> None:
    before = view("idle", queue=(item(1, held=True), item(2)))
    change = changed(before, ReleaseQueued(item_id=item(1).id, hold_token="hold-1"))
    assert texts_in(change) == ["item 1"]
    assert isinstance(change.answer, Message)


def test_releasing_another_item_starts_nothing() -> None:
    before = view("idle", queue=(item(1, held=True), item(2, held=True)))
    change = changed(before, ReleaseQueued(item_id=item(2).id, hold_token="hold-2"))
    assert change.messages == ()
    assert isinstance(change.answer, Queued)


def test_the_lapse_of_a_held_head_starts_it() -> None:
    before = view("idle", queue=(item(1, held=True), item(2)))
    assert changed(before, LapseHolds()).is_empty
    change = changed(before, LapseHolds(), now=LATER)
    assert texts_in(change) == ["item 1"]
    assert change.after is not None
    assert change.after.chat.status == "running"


def test_the_lapse_of_another_hold_starts_nothing() -> None:
    state = after(view("idle", queue=(item(1, held=True), item(2, lapsed=True))), LapseHolds())
    assert [each.held for each in state.queue] == [True, False]


def test_a_hold_lapses_in_a_busy_chat_and_in_error_without_starting_anything() -> None:
    for before in (view(queue=(item(1, lapsed=True),)), view("error", queue=(item(1, lapsed=True),))):
        change = changed(before, LapseHolds())
        assert change.messages == ()
        assert change.after is not None
        assert not change.after.queue[0].held
        assert change.after.chat.status == before.chat.status


def test_a_message_sent_meanwhile_enters_at_once_and_the_queue_stays() -> None:
    change = changed(view("idle", queue=(item(1, held=True), item(2))), send())
    assert texts_in(change) == ["hello"]
    assert change.after is not None
    assert said(change.after) == ["item 1", "item 2"]


# --- interrupt and stop ---


def test_an_interrupt_while_interrupting_is_accepted_and_changes_nothing() -> None:
    assert changed(view("interrupting", queue=(item(1),)), Interrupt()).is_empty


def test_an_interrupt_while_an_action_is_required_ends_the_turn() -> None:
    change = changed(view("requires_action", calls=(call(0, "waiting"),)), Interrupt())
    assert results_in(change)["call-0"].outcome == "cancelled"
    assert change.after is not None
    assert change.after.chat.status == "idle"
    assert change.after.calls == ()


def test_an_interrupt_while_an_action_is_required_lets_the_head_enter() -> None:
    change = changed(view("requires_action", calls=(call(0, "waiting"),), queue=(item(1),)), Interrupt())
    assert [message.role for message in change.messages] == ["tool", "user"]
    assert change.after is not None
    assert change.after.chat.status == "running"


def test_an_interrupt_does_not_wake_for_notices() -> None:
    before = view("requires_action", calls=(call(0, "waiting"),), inbox=(notice(1),))
    assert after(before, Interrupt()).chat.status == "idle"


def test_stop_lets_nothing_that_waits_start() -> None:
    queue = (item(1), item(2, "interrupt", held=True))
    stopped = after(view(queue=queue), Stop())
    assert (stopped.chat.status, stopped.queue) == ("interrupting", ())
    assert after(view("interrupting", queue=queue), Stop()).queue == ()
    assert (
        after(view("requires_action", queue=queue, calls=(call(0, "waiting"),)), Stop()).chat.status == "idle"
    )
    assert after(view("idle", queue=queue[1:]), Stop()).queue == ()
    assert changed(view("idle"), Stop()).is_empty


def test_ids_of_queue_items_rise() -> None:
    first = changed(view(), send())
    second = changed(first.after, send(), now=NOW - timedelta(days=3))
    assert isinstance(first.answer, Queued)
    assert isinstance(second.answer, Queued)
    assert QueueItemId(first.answer.id) < second.answer.id
