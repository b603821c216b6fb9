"""What history says about a turn, whether it grew here or was read again."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from holdfast.core.ids import CallId
from holdfast.core.messages import Message, entries_of
from holdfast.core.parts import Outcome, Part, Reasoning, Text, ToolCall, ToolResult
from holdfast.core.usage import Usage
from holdfast.worker.history import History, go_on, nudges
from holdfast.worker.repeats import Repeats
from tests.chats.making import call, message


def user(n: int, text: str = "Do it", turn: int = 1, **more: Any) -> Message:
    return replace(message(n, (Text(text=text),), "user", **more), turn=turn)


def answer(n: int, *parts: Part, turn: int = 1, **more: Any) -> Message:
    return replace(message(n, parts, "assistant", **more), turn=turn)


def result(n: int, *outcomes: tuple[str, Outcome], turn: int = 1) -> Message:
    parts = tuple(
        ToolResult(call_id=CallId(call_id), name="t", output="", outcome=outcome)
        for call_id, outcome in outcomes
    )
    return replace(message(n, parts, "tool"), turn=turn)


def asked(call_id: str, name: str = "t", **given: object) -> ToolCall:
    return ToolCall(call_id=CallId(call_id), name=name, input=given)


def nudge(n: int, turn: int = 1) -> Message:
    (new,) = nudges(True)
    return replace(message(n, new.parts, new.role), turn=turn)


def boundary(n: int, turn: int = 1) -> Message:
    return replace(user(n, "A summary"), turn=turn, compaction=True, visibility="model")


def history(*messages: Message) -> History:
    return History(1, entries_of(messages))


# Complete, and what is not answered


def test_a_message_of_a_user_wants_an_answer() -> None:
    known = history(user(1))
    assert not known.complete
    assert known.unanswered == entries_of([user(1)])


@pytest.mark.parametrize("parts", [(Text(text="Done"),), (), (Reasoning(text="Hm"),)])
def test_an_answer_without_calls_is_the_last_word(parts: tuple[Part, ...]) -> None:
    known = history(user(1), answer(2, *parts))
    assert known.complete
    assert known.unanswered == []


def test_an_answer_with_calls_is_not() -> None:
    known = history(user(1), answer(2, Text(text="Let me see"), asked("c1")))
    assert not known.complete
    assert len(known.unanswered) == 1
    assert known.calls == {"c1": asked("c1")}


def test_calls_that_the_provider_ran_wait_for_nobody() -> None:
    ran = replace(asked("c1"), provider_executed=True)
    assert history(user(1), answer(2, ran, Text(text="Found"))).complete


def test_results_want_an_answer() -> None:
    known = history(user(1), answer(2, asked("c1")), result(3, ("c1", "succeeded")), user(4, "And quickly"))
    assert not known.complete
    assert known.unanswered == entries_of([user(1), user(4, "And quickly")])


def test_a_summary_is_complete_until_something_follows() -> None:
    known = history(user(1), answer(2, Text(text="Yes")), boundary(3))
    assert known.complete
    assert known.unanswered == []
    assert not history(boundary(3), user(4)).complete


def test_what_only_people_see_and_what_was_removed_does_not_count() -> None:
    known = history(
        user(1), answer(2, Text(text="Old"), removed=True), answer(3, asked("c"), visibility="user")
    )
    assert not known.complete
    assert known.calls == {}


def test_a_nudge_is_not_carried_over() -> None:
    assert len(history(user(1), nudge(2)).unanswered) == 1


def test_an_answer_that_was_paused_has_answered_nobody() -> None:
    (new,) = go_on(True)
    paused = replace(message(3, new.parts, new.role), turn=1, visibility="model")
    known = history(user(1), answer(2, Text(text="First")), paused)
    assert not known.complete
    assert known.unanswered == entries_of([user(1), paused])
    assert history(user(1), answer(2, Text(text="First")), paused, answer(4, Text(text="Then"))).complete


# Texts for titles


def test_the_first_and_the_last_text() -> None:
    known = history(user(1, "First"), answer(2, Text(text="One")), user(3, "Second"), answer(4, asked("c1")))
    assert (known.first_text, known.last_text) == ("First", "One")


def test_a_summary_is_nobodys_first_text() -> None:
    assert history(boundary(1), user(2, "Hello")).first_text == "Hello"


# The context


def test_the_context_is_that_of_the_newest_step_that_knows_it() -> None:
    known = history(
        user(1),
        answer(2, asked("c1"), model="m", usage=Usage(context_used=50, context_limit=100)),
        result(3, ("c1", "succeeded")),
        answer(4, Text(text="Cut off"), model="m", usage=Usage()),
    )
    assert (known.context_used, known.context_limit, known.context_model) == (50, 100, "m")


def test_after_a_summary_the_context_is_not_known() -> None:
    full = answer(2, Text(text="Long"), usage=Usage(context_used=99, context_limit=100))
    assert history(user(1), full, boundary(3)).context_used is None


# The same call again and again


def failing(count: int, *, turn: int = 1, outcome: Outcome = "failed", start: int = 1) -> list[Message]:
    steps: list[Message] = []
    for n in range(start, start + count):
        steps.append(answer(10 * n, asked(f"c{n}", path="x"), turn=turn))
        steps.append(result(10 * n + 1, (f"c{n}", outcome), turn=turn))
    return steps


def repeats(*messages: Message, turn: int = 1) -> Repeats:
    return history(user(1), *messages).repeats(turn, ())


def test_the_third_failure_is_worth_a_nudge_the_sixth_ends_it() -> None:
    counted = [repeats(*failing(count)) for count in range(7)]
    assert [one.nudge_is_due for one in counted] == [False, False, False, True, True, True, True]
    assert [one.stop_is_due for one in counted] == [False] * 6 + [True]


def test_results_that_are_not_in_history_yet_count() -> None:
    known = history(user(1), *failing(2), answer(90, asked("c9", path="x")))
    finished = call(9, "finished", call_id=CallId("c9"), outcome="failed")
    assert not known.repeats(1, ()).nudge_is_due
    assert known.repeats(1, (finished,)).nudge_is_due
    assert not known.repeats(1, (replace(finished, outcome="succeeded"),)).nudge_is_due


@pytest.mark.parametrize("outcome", ["denied", "expired"])
def test_what_is_denied_or_expires_again_and_again_counts(outcome: Outcome) -> None:
    assert repeats(*failing(6, outcome=outcome)).stop_is_due


@pytest.mark.parametrize("outcome", ["cancelled", "uncertain"])
def test_what_is_nobodys_fault_does_not(outcome: Outcome) -> None:
    assert not repeats(*failing(6, outcome=outcome)).nudge_is_due


def test_different_calls_that_fail_in_the_same_way_are_noticed() -> None:
    steps = [
        one
        for n in range(1, 7)
        for one in (answer(10 * n, asked(f"c{n}", path=str(n))), result(10 * n + 1, (f"c{n}", "failed")))
    ]
    assert not repeats(*steps[:4]).nudge_is_due
    assert repeats(*steps[:6]).nudge_is_due
    assert not repeats(*steps[:10]).stop_is_due
    assert repeats(*steps).stop_is_due


def test_different_outcomes_are_different_failures() -> None:
    outcomes: tuple[Outcome, ...] = ("failed", "denied", "expired", "failed", "denied", "expired")
    steps = [
        one
        for n, outcome in enumerate(outcomes, 1)
        for one in (answer(10 * n, asked(f"c{n}", path=str(n))), result(10 * n + 1, (f"c{n}", outcome)))
    ]
    assert not repeats(*steps).nudge_is_due


def test_a_success_in_between_clears_the_slate() -> None:
    edited = [answer(500, asked("ok", "edit")), result(501, ("ok", "succeeded"))]
    assert not repeats(*failing(5), *edited, *failing(2, start=60)).nudge_is_due


def test_two_calls_that_fail_in_turn_are_noticed() -> None:
    steps = [
        one
        for n in range(1, 7)
        for one in (
            answer(10 * n, asked(f"c{n}", path=str(n % 2))),
            result(10 * n + 1, (f"c{n}", "failed")),
        )
    ]
    assert repeats(*steps).nudge_is_due


def test_the_same_call_many_times_in_one_step_counts_once() -> None:
    calls = [f"c{n}" for n in range(6)]
    failed: list[tuple[str, Outcome]] = [(one, "failed") for one in calls]
    step = [answer(10, *(asked(one, path="x") for one in calls)), result(11, *failed)]
    assert not repeats(*step).nudge_is_due


def test_once_told_is_enough_until_another_call_fails_as_often() -> None:
    told = [*failing(3), nudge(100), *failing(1, start=20)]
    assert not repeats(*told).nudge_is_due
    others = [
        one
        for n in range(30, 33)
        for one in (answer(10 * n, asked(f"c{n}", path="y")), result(10 * n + 1, (f"c{n}", "failed")))
    ]
    assert repeats(*told, *others).nudge_is_due


def test_a_new_turn_may_try_again() -> None:
    failed = failing(6)
    assert repeats(*failed).stop_is_due
    # A person sent a message, or only asked to retry: then nothing is in history of the new turn yet.
    assert not repeats(*failed, user(500, "Go on", turn=2), turn=2).stop_is_due
    assert not repeats(*failed, turn=2).stop_is_due
    assert not repeats(*failed, *failing(1, turn=2, start=70), turn=2).nudge_is_due


# Grown here or read anew

STEPS: list[list[Message]] = [
    [user(0)],
    [answer(0, Text(text="Done"), usage=Usage(context_used=7, context_limit=9), model="m")],
    [answer(0, asked("c1", path="x")), result(0, ("c1", "failed"))],
    [answer(0, asked("c2")), result(0, ("c2", "succeeded"))],
    [nudge(0)],
    [answer(0, asked("s"), visibility="user", compaction=True), boundary(0), user(0, visibility="model")],
    [boundary(0)],
]


def known_of(one: History) -> tuple[object, ...]:
    return (
        one.complete,
        one.unanswered,
        one.calls,
        (one.context_used, one.context_limit, one.context_model),
        [one.repeats(turn, ()) for turn in range(4)],
        one.prompt.shown(),
    )


@given(st.lists(st.tuples(st.sampled_from(STEPS), st.booleans()), max_size=25))
def test_a_history_that_grew_is_the_same_as_one_that_is_read(
    chosen: list[tuple[list[Message], bool]],
) -> None:
    messages: list[Message] = []
    grown = History(0, ())
    turn = 1
    for step, new_turn in chosen:
        turn += new_turn
        added = [replace(one, id=message(len(messages) + n, ()).id, turn=turn) for n, one in enumerate(step)]
        messages += added
        grown.extend(len(messages), entries_of(added))
        boundaries = [n for n, one in enumerate(messages) if one.compaction and one.visibility == "model"]
        read = History(len(messages), entries_of(messages[boundaries[-1] if boundaries else 0 :]))
        assert known_of(grown) == known_of(read)
