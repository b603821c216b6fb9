"""Calls: who runs them and how often, what a crash makes of them, how people answer them ("Tools" and the
second step of "The turn")."""

from datetime import timedelta

import pytest
from msgspec.structs import replace

from holdfast.chats.commands import (
    Acquire,
    BeginAttempt,
    CallResult,
    CommitStep,
    Decide,
    DeliveryKey,
    Edit,
    ExpireCalls,
    FailTurn,
    FinishCall,
    FinishInterrupt,
    FinishTurn,
    Interrupt,
    Notify,
    Release,
    RequireAction,
    Send,
    StartCalls,
    SubmitResults,
)
from holdfast.chats.facts import Facts, Target
from holdfast.chats.view import Call, View
from holdfast.core.calls import Effect, Verdict
from holdfast.core.errors import Bug
from holdfast.core.ids import CallId, MessageId
from holdfast.core.parts import Notice
from tests.chats.making import (
    EXPIRED_LEASE,
    FAILURE,
    FENCE,
    LATER_WORKER,
    NOW,
    OWNER,
    PARENT,
    STEP,
    after,
    assistant,
    call,
    changed,
    decided,
    new_call,
    numbered,
    refused,
    results_in,
    step,
    text,
    tool_call,
    tool_result,
    uncertain_call,
    view,
)

ACQUIRE = Acquire(worker_id=LATER_WORKER, expires_at=NOW + timedelta(seconds=15))
EDIT = Edit(message_id=MessageId(numbered(0x501)), parts=text("better"), created_by=OWNER)
EDITABLE = Facts(target=Target(role="user", removed=False))
END = DeliveryKey(child_id=PARENT, turn=4)


def start(*numbers: int) -> StartCalls:
    return StartCalls(call_ids=tuple(CallId(f"call-{n}") for n in numbers))


def finish(n: int, run: int = 1, **more: object) -> FinishCall:
    defaults = {"call_id": CallId(f"call-{n}"), "run": run, "outcome": "succeeded", "output": "done"}
    return FinishCall(**{**defaults, **more})  # pyright: ignore[reportArgumentType]


def answer(n: int, output: object = "yes", *, is_error: bool = False) -> SubmitResults:
    return SubmitResults(results=(CallResult(call_id=CallId(f"call-{n}"), output=output, is_error=is_error),))


def verdict(n: int, word: Verdict, **more: str) -> Decide:
    return Decide(call_id=CallId(f"call-{n}"), verdict=word, user_id=OWNER, **more)  # pyright: ignore[reportArgumentType]


def asking(*calls: Call) -> View:
    return view("requires_action", calls=calls)


def the_call(state: View, n: int = 0) -> Call:
    return next(each for each in state.calls if each.call_id == f"call-{n}")


# --- a step brings calls ---


def test_a_step_has_one_row_for_each_call_of_its_message() -> None:
    change = changed(
        view(attempt=1),
        step(
            new_call("a", effect="read"),
            new_call("b", waits_for="approval", on_uncertain="ask"),
            new_call("c", outcome="failed", output="There is no such tool."),
        ),
    )
    assert change.after is not None
    rows = change.after.calls
    assert [(row.call_id, row.position, row.state) for row in rows] == [
        ("a", 0, "pending"),
        ("b", 1, "waiting"),
        ("c", 2, "finished"),
    ]
    assert {row.message_id for row in rows} == {change.messages[0].id}
    assert [row.effect for row in rows] == ["read", "unsafe", "unsafe"]
    assert {row.run for row in rows} == {0}


def test_calls_run_by_the_provider_have_no_row() -> None:
    message = replace(assistant("a"), parts=(tool_call("p", provider_executed=True), tool_call("a")))
    state = after(view(attempt=1), CommitStep(step=STEP, messages=(message,), calls=(new_call("a"),)))
    assert [row.call_id for row in state.calls] == ["a"]


def test_calls_with_their_result_beside_them_have_no_row() -> None:
    """The visible call of a compaction."""
    messages = (
        replace(assistant("a"), compaction=True),
        replace(assistant(), role="tool", parts=(tool_result("a"),)),
    )
    change = changed(view(attempt=1, answer_id=None), CommitStep(step=STEP, messages=messages))
    assert change.after is not None
    assert change.after.calls == ()
    assert change.after.chat.answer_id is None


@pytest.mark.parametrize(
    "commit",
    [
        CommitStep(step=STEP, messages=(assistant("a"),)),
        CommitStep(step=STEP, messages=(assistant(),), calls=(new_call("a"),)),
        CommitStep(step=STEP, messages=(assistant("a"),), calls=(new_call("b"),)),
        CommitStep(step=STEP, messages=(assistant("a", "b"),), calls=(new_call("a"), new_call("a"))),
        CommitStep(step=STEP, messages=(assistant("a", "a"),), calls=(new_call("a"),)),
        CommitStep(step=STEP, messages=(assistant("a"), assistant()), calls=(new_call("a"),)),
    ],
    ids=[
        "no row",
        "no call",
        "another call",
        "twice the same row",
        "twice the same call",
        "something follows",
    ],
)
def test_a_step_whose_calls_do_not_fit_its_message_is_a_bug(commit: CommitStep) -> None:
    with pytest.raises(Bug):
        decided(view(attempt=1), commit)


def test_a_step_cannot_follow_open_calls() -> None:
    assert refused(view(calls=(call(0, "finished"),)), step()).code == "wrong_state"


# --- starting and finishing ---


def test_only_calls_that_begin_now_are_marked_started() -> None:
    state = after(view(calls=(call(0), call(1), call(2))), start(0, 2), fence=FENCE)
    assert [row.state for row in state.calls] == ["started", "pending", "started"]
    begun = the_call(state)
    assert (begun.run, begun.lease_number, begun.started_at) == (1, 3, NOW)


def test_the_next_start_is_fused_with_the_finish_that_freed_its_slot() -> None:
    state = after(view(calls=(call(0, "started"), call(1))), finish(0), start(1), fence=FENCE)
    assert [row.state for row in state.calls] == ["finished", "started"]


@pytest.mark.parametrize("state", ["waiting", "started", "finished"])
def test_only_a_pending_call_can_be_started(state: str) -> None:
    before = view(calls=(call(0, state),))  # pyright: ignore[reportArgumentType]
    assert refused(before, start(0)).code == "stale"
    assert refused(before, start(7)).code == "stale"


@pytest.mark.parametrize("status", ["running", "interrupting"])
def test_a_call_can_be_finished_while_running_and_interrupting(status: str) -> None:
    before = view(status, calls=(call(0, "started"),))  # pyright: ignore[reportArgumentType]
    change = changed(before, finish(0, output={"n": 1}, diff="-a\n+b", full_output="all"), fence=FENCE)
    assert change.after is not None
    done = the_call(change.after)
    assert (done.state, done.outcome, done.output, done.diff) == ("finished", "succeeded", {"n": 1}, "-a\n+b")
    assert done.truncated
    assert [(output.call_id, output.run, output.text) for output in change.full_outputs] == [
        ("call-0", 1, "all")
    ]
    assert change.messages == ()


def test_finishing_needs_the_lease_the_call_its_run_number_and_that_it_runs() -> None:
    before = view(
        calls=(call(0, "started"), call(1), call(2, "finished"), call(3, "started", lease_number=2))
    )
    assert refused(before, finish(0), fence=replace(FENCE, lease_number=2)).code == "stale"
    assert refused(before, finish(9), fence=FENCE).code == "stale"
    assert refused(before, finish(0, run=2), fence=FENCE).code == "stale"
    assert refused(before, finish(1), fence=FENCE).code == "stale"
    assert refused(before, finish(2), fence=FENCE).code == "stale"
    assert refused(before, finish(3), fence=FENCE).code == "stale"


def test_results_of_one_step_are_one_commit_in_the_order_of_the_calls() -> None:
    before = view(calls=(call(0, "finished"), call(1, "finished", outcome="failed", output="no")))
    change = changed(before, BeginAttempt())
    assert [message.role for message in change.messages] == ["tool"]
    assert [(part.call_id, part.outcome) for part in results_in(change).values()] == [
        ("call-0", "succeeded"),
        ("call-1", "failed"),
    ]
    assert [row.state for row in change.calls_put] == ["answered", "answered"]
    assert change.after is not None
    assert change.after.calls == ()


@pytest.mark.parametrize("state", ["pending", "waiting", "started"])
def test_no_result_is_committed_before_all_are_there(state: str) -> None:
    before = view(calls=(call(0, "finished"), call(1, state)))  # pyright: ignore[reportArgumentType]
    assert refused(before, BeginAttempt()).code == "wrong_state"


def test_no_call_can_be_started_while_interrupting() -> None:
    assert refused(view("interrupting", calls=(call(0),)), start(0)).code == "wrong_state"


# --- waiting for people ---


def test_what_somebody_must_do_is_one_state_without_a_lease() -> None:
    before = view(calls=(call(0, "waiting"), call(1, "finished"), call(2, "waiting", waits_for="question")))
    state = after(before, RequireAction())
    assert state.chat.status == "requires_action"
    assert state.chat.lease is None


def test_deadlines_start_when_the_question_is_asked_and_only_where_there_is_one() -> None:
    client = call(0, "waiting", waits_for="client_tool", deadline_seconds=300.0)
    state = after(view(calls=(client, call(1, "waiting"))), RequireAction())
    assert the_call(state, 0).deadline_at == NOW + timedelta(minutes=5)
    assert the_call(state, 1).deadline_at is None


@pytest.mark.parametrize("state", ["pending", "started"])
def test_people_are_asked_after_everything_that_can_run_has_run(state: str) -> None:
    before = view(calls=(call(0, state), call(1, "waiting")))  # pyright: ignore[reportArgumentType]
    assert refused(before, RequireAction()).code == "wrong_state"


def test_nobody_is_asked_for_nothing() -> None:
    assert refused(view(calls=(call(0, "finished"),)), RequireAction()).code == "wrong_state"
    assert refused(view(), RequireAction()).code == "wrong_state"


def test_answers_are_stored_per_call_and_the_others_go_on_waiting() -> None:
    before = asking(call(0, "waiting", waits_for="question"), call(1, "waiting", waits_for="plan"))
    state = after(before, answer(0))
    assert state.chat.status == "requires_action"
    assert (the_call(state).state, the_call(state).outcome, the_call(state).output) == (
        "finished",
        "succeeded",
        "yes",
    )
    done = after(state, answer(1, "no", is_error=True))
    assert done.chat.status == "running"
    assert the_call(done, 1).outcome == "failed"
    assert done.calls[0].waits_for is None


def test_a_second_answer_is_refused() -> None:
    before = asking(call(0, "finished"), call(1, "waiting"))
    assert refused(before, answer(0)).code == "already_answered"
    assert refused(before, verdict(0, "approve")).code == "already_answered"
    in_history = Facts(answered=frozenset({CallId("call-9")}))
    assert refused(before, answer(9), facts=in_history).code == "already_answered"
    assert refused(before, answer(9)).code == "not_found"


def test_answers_given_together_count_together() -> None:
    before = asking(call(0, "waiting", waits_for="question"), call(1, "waiting"))
    both = SubmitResults(results=(*answer(0).results, *answer(1).results))
    assert refused(before, both).code == "invalid_input"
    twice = SubmitResults(results=(*answer(0).results, *answer(0).results))
    assert refused(before, twice).code == "already_answered"


@pytest.mark.parametrize("waits_for", ["approval", "uncertain"])
def test_a_decision_is_not_a_result(waits_for: str) -> None:
    assert refused(asking(call(0, "waiting", waits_for=waits_for)), answer(0)).code == "invalid_input"


@pytest.mark.parametrize(
    "waits_for, words",
    [
        ("approval", ("retry", "done", "skip")),
        ("uncertain", ("approve", "deny")),
        ("question", ("approve", "deny", "retry", "done", "skip")),
        ("client_tool", ("approve", "deny", "retry", "done", "skip")),
        ("plan", ("approve", "deny", "retry", "done", "skip")),
    ],
)
def test_a_verdict_must_fit_what_was_asked(waits_for: str, words: tuple[Verdict, ...]) -> None:
    for word in words:
        before = asking(call(0, "waiting", waits_for=waits_for))
        assert refused(before, verdict(0, word)).code == "invalid_input"


def test_an_approved_call_runs_when_nobody_is_waited_for() -> None:
    before = asking(call(0, "waiting"), call(1, "waiting", waits_for="question"))
    approved = after(before, verdict(0, "approve", scope="chat", note="go on"))
    assert (approved.chat.status, the_call(approved).state) == ("requires_action", "pending")
    assert the_call(approved).waits_for is None
    approval = the_call(approved).approval
    assert approval is not None
    assert (approval.by, approval.user_id, approval.scope, approval.note) == (
        "person",
        OWNER,
        "chat",
        "go on",
    )
    assert after(approved, answer(1)).chat.status == "running"


def test_a_denied_call_is_answered_with_the_note() -> None:
    state = after(asking(call(0, "waiting")), verdict(0, "deny", note="not today"))
    assert (the_call(state).outcome, state.chat.status) == ("denied", "running")
    assert "not today" in str(the_call(state).output)
    assert the_call(state).approval is not None


def test_an_expired_call_is_answered_and_the_others_go_on_waiting() -> None:
    late = call(0, "waiting", waits_for="client_tool", deadline_at=NOW)
    in_time = call(1, "waiting", waits_for="client_tool", deadline_at=NOW + timedelta(microseconds=1))
    state = after(asking(late, in_time), ExpireCalls())
    assert (the_call(state, 0).state, the_call(state, 0).outcome) == ("finished", "expired")
    assert the_call(state, 1).state == "waiting"
    assert state.chat.status == "requires_action"
    assert after(state, ExpireCalls(), now=NOW + timedelta(seconds=1)).chat.status == "running"


def test_questions_and_approvals_never_expire() -> None:
    before = asking(call(0, "waiting"), call(1, "waiting", waits_for="question"))
    assert changed(before, ExpireCalls(), now=NOW + timedelta(days=400)).is_empty


# --- after a crash ---


def crashed(*calls: Call, status: str = "running") -> View:
    """What the next worker takes over."""
    return after(view(status, lease=EXPIRED_LEASE, calls=calls), ACQUIRE)  # pyright: ignore[reportArgumentType]


def test_finished_calls_stay_and_calls_never_begun_run() -> None:
    state = crashed(call(0, "finished"), call(1), call(2, "waiting"))
    assert [row.state for row in state.calls] == ["finished", "pending", "waiting"]


@pytest.mark.parametrize("effect", ["read", "idempotent"])
def test_started_calls_that_may_be_repeated_run_again(effect: Effect) -> None:
    state = crashed(call(0, "started", effect=effect))
    assert the_call(state).state == "pending"
    again = after(state, start(0))
    assert (the_call(again).run, the_call(again).lease_number) == (2, 4)


def test_a_started_unsafe_call_is_told_to_be_uncertain() -> None:
    state = crashed(call(0, "started"))
    assert (the_call(state).state, the_call(state).outcome) == ("finished", "uncertain")
    assert "not known" in str(the_call(state).output)
    assert results_in(changed(state, BeginAttempt()))["call-0"].outcome == "uncertain"


def test_a_started_unsafe_call_asks_where_that_is_the_policy() -> None:
    state = crashed(call(0, "started", on_uncertain="ask"))
    assert (the_call(state).state, the_call(state).waits_for) == ("waiting", "uncertain")
    assert after(state, RequireAction()).chat.status == "requires_action"


def test_no_unsafe_call_is_started_twice_by_itself() -> None:
    for policy in ("tell", "ask"):
        state = crashed(call(0, "started", on_uncertain=policy))
        assert refused(state, start(0)).code == "stale"


def test_the_worker_that_came_back_too_late_is_refused() -> None:
    state = crashed(call(0, "started", effect="read"))
    assert refused(state, finish(0), fence=FENCE).code == "stale"
    running_again = after(state, start(0))
    assert refused(running_again, finish(0, run=1), fence=FENCE).code == "stale"
    assert refused(running_again, finish(0, run=1), fence=replace(FENCE, lease_number=4)).code == "stale"
    assert (
        the_call(after(running_again, finish(0, run=2), fence=replace(FENCE, lease_number=4))).state
        == "finished"
    )


def test_run_again_restarts_the_same_row_under_the_next_number() -> None:
    state = after(asking(uncertain_call(0)), verdict(0, "retry"))
    assert (state.chat.status, the_call(state).state) == ("running", "pending")
    assert (the_call(state).waits_for, the_call(state).fenced_until) == (None, None)
    state = after(after(state, ACQUIRE), start(0))
    assert (the_call(state).run, the_call(state).lease_number) == (2, 4)


def test_run_again_is_refused_until_the_old_worker_is_surely_dead() -> None:
    state = after(crashed(call(0, "started", on_uncertain="ask")), RequireAction())
    soon, safe = NOW + timedelta(seconds=4.9), NOW + timedelta(seconds=5)
    refusal = refused(state, verdict(0, "retry"), now=soon)
    assert (refusal.code, refusal.data) == ("wrong_state", {"not_before": safe})
    assert after(state, verdict(0, "retry"), now=safe).chat.status == "running"
    # Nothing runs when it was done or is skipped: that need not wait.
    assert after(state, verdict(0, "done"), now=soon).chat.status == "running"
    assert after(state, verdict(0, "skip"), now=soon).chat.status == "running"


def test_it_was_done_takes_an_output() -> None:
    done = the_call(after(asking(uncertain_call(0)), verdict(0, "done", output="the file is there")))
    assert (done.outcome, done.output) == ("succeeded", "the file is there")
    done = the_call(after(asking(uncertain_call(0)), verdict(0, "done")))
    assert done.outcome == "succeeded"
    assert "confirmed" in str(done.output)


def test_skip_is_cancelled() -> None:
    skipped = the_call(after(asking(uncertain_call(0)), verdict(0, "skip")))
    assert skipped.outcome == "cancelled"
    assert "not known" in str(skipped.output)


@pytest.mark.parametrize("word", ["retry", "done", "skip"])
def test_a_word_on_an_unknown_outcome_allows_nothing_for_the_chat_and_forgets_nothing(word: Verdict) -> None:
    said = the_call(after(asking(uncertain_call(0)), verdict(0, word, scope="chat"))).approval
    assert said is not None
    assert (said.by, said.user_id, said.scope) == ("person", OWNER, "once")
    allowed = after(asking(call(0, "waiting", waits_for="approval")), verdict(0, "approve", scope="chat"))
    uncertain = replace(the_call(allowed), state="waiting", waits_for="uncertain", run=1)
    kept = the_call(after(asking(uncertain), verdict(0, word))).approval
    assert kept is not None
    assert kept.scope == "chat"


def test_what_a_person_says_later_of_an_uncertain_call_becomes_a_notice() -> None:
    """With `tell` the call is answered: a late word comes in by the inbox."""
    state = after(crashed(call(0, "started")), BeginAttempt())
    told = Notify(source="person", key="call-0", text="It was done.")
    assert [waiting.text for waiting in after(state, told).inbox] == ["It was done."]


@pytest.mark.parametrize(
    "lost",
    [
        uncertain_call(0),
        call(0, run=1, effect="idempotent", started_at=NOW),
        call(0, run=1, started_at=NOW),
    ],
    ids=["asked", "to be repeated", "run again was said"],
)
def test_a_call_that_was_lost_once_is_never_called_not_run(lost: Call) -> None:
    if lost.state == "waiting":
        result = results_in(changed(asking(lost), Interrupt()))["call-0"]
    else:
        result = results_in(changed(view("interrupting", calls=(lost,)), FinishInterrupt()))["call-0"]
    assert result.outcome == "uncertain"
    assert "not known" in str(result.output)


def test_a_read_that_was_lost_is_just_cancelled() -> None:
    before = view("interrupting", calls=(call(0, run=1, effect="read"),))
    assert results_in(changed(before, FinishInterrupt()))["call-0"].outcome == "cancelled"


def test_a_lease_that_was_given_back_with_running_calls_is_like_a_crash() -> None:
    released = after(
        view(calls=(call(0, "started"), call(1, "started", effect="read"))), Release(), fence=FENCE
    )
    assert refused(released, finish(0), fence=FENCE).code == "stale"
    taken = after(released, ACQUIRE)
    assert [row.state for row in taken.calls] == ["finished", "pending"]


# --- removed history ---


def test_a_call_of_removed_history_records_its_outcome_on_the_row_alone() -> None:
    edited = after(view(calls=(call(0, "started"), call(1))), EDIT, facts=EDITABLE)
    assert [(row.call_id, row.abandoned) for row in edited.calls] == [("call-0", True)]
    change = changed(edited, finish(0, output="real"), fence=FENCE)
    assert change.messages == ()
    assert [(row.state, row.outcome, row.output) for row in change.calls_put] == [
        ("answered", "succeeded", "real")
    ]
    assert change.after is not None
    assert change.after.calls == ()
    assert change.after.chat.history_version == edited.chat.history_version


def test_an_abandoned_call_is_in_nobodys_way() -> None:
    edited = after(view(calls=(call(0, "started"),)), EDIT, facts=EDITABLE)
    begun = after(edited, BeginAttempt())
    assert begun.chat.attempt == 1
    stepped = after(begun, step(new_call("new")))
    assert [row.call_id for row in stepped.calls] == ["call-0", "new"]
    assert stepped.calls[1].position == 0
    assert refused(stepped, start(0)).code == "stale"


@pytest.mark.parametrize(
    "ending", [FinishTurn(), FailTurn(failure=FAILURE), Release()], ids=lambda command: command.kind
)
def test_when_the_lease_ends_an_abandoned_call_is_closed_as_uncertain(ending: FinishTurn) -> None:
    """Nobody is left who could tell how it ended."""
    edited = after(view(calls=(call(0, "started"),)), EDIT, facts=EDITABLE)
    change = changed(edited, ending)
    assert [(row.state, row.outcome) for row in change.calls_put] == [("answered", "uncertain")]
    assert change.messages == ()
    assert change.after is not None
    assert change.after.calls == ()


def test_a_crash_closes_an_abandoned_call_as_uncertain() -> None:
    abandoned = call(0, "started", abandoned=True)
    change = changed(view(lease=EXPIRED_LEASE, calls=(abandoned,)), ACQUIRE)
    assert [(row.state, row.outcome) for row in change.calls_put] == [("answered", "uncertain")]


# --- children's ends ---


def test_waiting_for_agents_hands_their_ends_over_with_its_result() -> None:
    before = view(calls=(call(0, "started", effect="read"),))
    change = changed(before, finish(0, consumes=(END,)), facts=Facts(deliveries=frozenset({END})))
    assert change.deliveries_taken == (END,)


def test_an_end_is_handed_over_once() -> None:
    before = view(calls=(call(0, "started"), call(1, "started")))
    assert changed(before, finish(0, consumes=(END,))).deliveries_taken == ()
    waiting = Facts(deliveries=frozenset({END}))
    both = changed(before, finish(0, consumes=(END,)), finish(1, consumes=(END,)), facts=waiting)
    assert both.deliveries_taken == (END,)
    told = Notify(source="agent", key="end", text="It ended.", wake=True, delivery=END)
    assert changed(view("idle"), told).is_empty
    assert changed(view("idle"), told, facts=waiting).deliveries_taken == (END,)


def test_a_notice_that_still_waits_is_withdrawn_when_a_call_tells_of_it() -> None:
    """The call's result and the notice would say the same twice."""
    told = Notify(source="agent", key=END.notice_key, text="It ended.", wake=True, delivery=END)
    other = Notify(source="agent", key="another", text="Another ended.")
    before = view(calls=(call(0, "started", effect="read"),))
    noticed = after(before, told, facts=Facts(deliveries=frozenset({END})))
    noticed = after(noticed, other)
    change = changed(noticed, finish(0, consumes=(END,)), BeginAttempt())
    assert change.deliveries_taken == ()
    assert [message.role for message in change.messages] == ["tool", "system"]
    assert change.messages[1].parts == (Notice(code="agent", text="Another ended."),)
    assert {notice.id for notice in noticed.inbox} == set(change.inbox_taken)


def test_interrupting_a_parent_touches_no_child() -> None:
    change = changed(view(), Send(parts=text("x"), busy="interrupt", created_by=OWNER))
    assert change.others == ()
