"""The next action of a turn, case by case and in order of priority: a case further up wins over everything
below it."""

import pytest

from holdfast.chats.view import View
from holdfast.core.failures import Failure
from holdfast.core.ids import StepId
from holdfast.core.steps import Step, StepKind, TurnOutcome
from holdfast.core.usage import Usage
from holdfast.prompt.notices import IN_VAIN
from holdfast.worker.actions import (
    Action,
    AskPeople,
    CallModel,
    CompactHistory,
    EndWithFailure,
    Finish,
    RunCalls,
    TurnLimits,
    TurnProgress,
)
from holdfast.worker.progress import compactions_in_vain, context_of
from holdfast.worker.repeats import Repeats
from holdfast.worker.turn import next_action
from tests.chats.making import NOW, call, view

GOING_ON = TurnProgress(complete=False)
COMPLETE = TurnProgress(complete=True)
ONCE_MORE = Repeats(failures={b"x": 3})
TOO_OFTEN = Repeats(failures={b"x": 6}, told_of=frozenset({b"x"}))
# Everything that could be said against going on.
AGAINST = TurnProgress(complete=True, ended_by_tool=True, repeats=TOO_OFTEN, over_budget=True, context="full")

CASES: list[tuple[str, View, TurnProgress, Action]] = [
    # 1. calls this server executes
    ("a call may start", view(calls=(call(1),)), AGAINST, RunCalls()),
    ("a call runs", view(calls=(call(1, "started"), call(2, "waiting"))), AGAINST, RunCalls()),
    ("one may start, one waits", view(calls=(call(1, "waiting"), call(2))), AGAINST, RunCalls()),
    # 2. calls that need somebody
    ("somebody must act", view(calls=(call(1, "waiting"), call(2, "finished"))), AGAINST, AskPeople()),
    # 4. before 3: a summary would hide that the tool was called
    ("a tool ended the turn", view(calls=(call(1, "finished"),), compaction="overflow"), AGAINST, Finish()),
    # 3. a compaction was asked for, or is needed
    ("a person asked", view(compaction="manual"), COMPLETE, CompactHistory(source="manual")),
    ("the context overflowed", view(compaction="overflow"), GOING_ON, CompactHistory(source="overflow")),
    ("it is full", view(), TurnProgress(complete=False, context="full"), CompactHistory(source="threshold")),
    (
        "full at the end",
        view(),
        TurnProgress(complete=True, context="full"),
        CompactHistory(source="threshold"),
    ),
    (
        "full, with results",
        view(calls=(call(1, "finished"),)),
        TurnProgress(complete=False, context="full"),
        CompactHistory(source="threshold"),
    ),
    # ... unless it was of no use twice: below the limit the turn goes on
    (
        "full in vain",
        view(),
        TurnProgress(complete=False, context="full", compactions_in_vain=2),
        CallModel(in_vain=True),
    ),
    (
        "full in vain, and told so",
        view(),
        TurnProgress(complete=False, context="full", compactions_in_vain=2, told_in_vain=True),
        CallModel(),
    ),
    (
        "asked for in spite of that",
        view(compaction="manual"),
        TurnProgress(complete=True, compactions_in_vain=2),
        CompactHistory(source="manual"),
    ),
    # 4. history is complete
    ("complete", view(), COMPLETE, Finish()),
    ("complete and over budget", view(), TurnProgress(complete=True, over_budget=True), Finish()),
    (
        "full in vain, complete",
        view(),
        TurnProgress(complete=True, context="full", compactions_in_vain=2),
        Finish(notice=IN_VAIN),
    ),
    (
        "full and over budget, complete",
        view(),
        TurnProgress(complete=True, context="full", over_budget=True),
        Finish(),
    ),
    ("it was to summarise and no more", view(turn_kind="compaction"), GOING_ON, Finish()),
    # 7. otherwise
    ("results wait", view(calls=(call(1, "finished"),)), COMPLETE, CallModel()),
    ("a user waits", view(), GOING_ON, CallModel()),
    ("a removed call still runs", view(calls=(call(1, "started", abandoned=True),)), GOING_ON, CallModel()),
    ("one step is left", view(turn_steps=1199), GOING_ON, CallModel()),
    ("the same failed again", view(), TurnProgress(complete=False, repeats=ONCE_MORE), CallModel(nudge=True)),
    ("the model was told", view(), TurnProgress(complete=False, repeats=ONCE_MORE.told()), CallModel()),
]


@pytest.mark.parametrize("name, state, progress, action", CASES, ids=[case[0] for case in CASES])
def test_the_next_action(name: str, state: View, progress: TurnProgress, action: Action) -> None:
    assert next_action(state, progress, TurnLimits()) == action


# 5. the closing step

LIMITED = Failure(kind="step_limit", message="So many steps.")
CLOSING: list[tuple[str, View, TurnProgress, Action]] = [
    ("asked to sum up", view(), TurnProgress(complete=False, closing=LIMITED), CallModel(closing=LIMITED)),
    ("summed up", view(), TurnProgress(complete=True, closing=LIMITED), Finish(limit=LIMITED)),
    (
        "called tools instead",
        view(calls=(call(1, "finished"),)),
        TurnProgress(complete=False, closing=LIMITED),
        Finish(limit=LIMITED),
    ),
    (
        "no money for it",
        view(),
        TurnProgress(complete=False, closing=LIMITED, over_budget=True),
        Finish(limit=LIMITED),
    ),
]


@pytest.mark.parametrize("name, state, progress, action", CLOSING, ids=[case[0] for case in CLOSING])
def test_the_closing_step(name: str, state: View, progress: TurnProgress, action: Action) -> None:
    assert next_action(state, progress, TurnLimits()) == action


@pytest.mark.parametrize("state, repeats", [(view(turn_steps=1200), Repeats()), (view(), TOO_OFTEN)])
def test_a_limit_asks_for_closing_words_first(state: View, repeats: Repeats) -> None:
    action = next_action(state, TurnProgress(complete=False, repeats=repeats), TurnLimits())
    assert isinstance(action, CallModel)
    assert action.closing is not None


# 5. and the failures

LIMITS: list[tuple[str, View, TurnProgress, str]] = [
    ("step limit", view(turn_steps=1200), TurnProgress(complete=False, repeats=TOO_OFTEN), "step_limit"),
    ("loop guard", view(), TurnProgress(complete=False, repeats=TOO_OFTEN, over_budget=True), "loop_guard"),
    ("budget", view(), TurnProgress(complete=False, over_budget=True), "budget_exhausted"),
    (
        "budget before a summary",
        view(),
        TurnProgress(complete=False, over_budget=True, context="full"),
        "budget_exhausted",
    ),
    (
        "budget before one asked for",
        view(compaction="manual"),
        TurnProgress(complete=True, over_budget=True),
        "budget_exhausted",
    ),
]


@pytest.mark.parametrize("name, state, progress, kind", LIMITS, ids=[case[0] for case in LIMITS])
def test_a_limit_ends_the_turn(name: str, state: View, progress: TurnProgress, kind: str) -> None:
    action = next_action(state, progress, TurnLimits(closing=False))
    assert isinstance(action, Finish)
    assert action.limit is not None
    assert action.limit.kind == kind


@pytest.mark.parametrize("state", [view(), view(compaction="overflow")])
def test_two_summaries_in_vain_fail_the_turn(state: View) -> None:
    action = next_action(
        state, TurnProgress(complete=False, context="over", compactions_in_vain=2), TurnLimits()
    )
    assert isinstance(action, EndWithFailure)
    assert action.failure.kind == "context_overflow"
    assert "larger context" in action.failure.message


# The context


@pytest.mark.parametrize(
    "used, limit, threshold, context",
    [
        (69, 100, 70, "free"),
        (70, 100, 70, "full"),
        (99, 100, 70, "full"),
        (100, 100, 70, "over"),
        (0, 100, 0, "full"),
        (999, 100, 100, "free"),
        (None, 100, 70, "free"),
        (70, None, 70, "free"),
        (70, 0, 70, "free"),
        (10**18, 1, 70, "over"),
    ],
)
def test_how_full_a_context_is(used: int | None, limit: int | None, threshold: int, context: str) -> None:
    assert context_of(used, limit, threshold) == context


def step(kind: StepKind, used: int | None = None, outcome: TurnOutcome = "finished") -> Step:
    usage = Usage(context_used=used, context_limit=100)
    return Step(
        id=StepId("s"),
        turn=1,
        number=1,
        kind=kind,
        usage=usage,
        started_at=NOW,
        finished_at=NOW,
        outcome=outcome,
    )


FULL, FREE, SUMMARY = step("model", 80), step("model", 20), step("compaction")


@pytest.mark.parametrize(
    "steps, in_vain",
    [
        ([], 0),
        ([FULL, FULL], 0),
        ([SUMMARY], 1),
        ([SUMMARY, SUMMARY], 2),
        ([FULL, SUMMARY, FULL], 1),
        ([FULL, SUMMARY, FULL, SUMMARY, FULL], 2),
        ([FULL, SUMMARY, FULL, SUMMARY, FREE], 0),
        ([SUMMARY, FREE, FULL], 0),
        ([SUMMARY, FREE, FULL, SUMMARY], 1),
        # A step that says nothing of its context proves nothing against the summary.
        ([SUMMARY, step("model")], 0),
        ([step("compaction", outcome="failed"), step("compaction", outcome="interrupted")], 0),
        ([SUMMARY, step("model", 80, "failed"), FREE], 0),
    ],
)
def test_summaries_in_vain(steps: list[Step], in_vain: int) -> None:
    assert compactions_in_vain(steps, 70) == in_vain
