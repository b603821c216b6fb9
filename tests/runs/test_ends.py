"""What the end of an agent's turn means for its call, and what an agent is still allowed: pure decisions."""

from typing import Any

import pytest

from holdfast.chats.commands import DeliveryKey, NewCall
from holdfast.core.failures import Failure
from holdfast.core.ids import CallId, ChatId
from holdfast.core.parts import Notice, Outcome
from holdfast.core.runs import AgentTerms
from holdfast.core.usage import Usage
from holdfast.scripts.engines.messages import AgentCall, AgentOptions
from holdfast.scripts.journal import Ended
from holdfast.scripts.runs.ends import CallFinished, KeepWaiting, Remind, meaning
from holdfast.store.agent_ends import AgentEnd, Answered
from holdfast.worker.terms import Terms

CHAT = ChatId("019df000-0000-7000-8000-000000000001")
LIMIT = Notice(code="step_limit", text="Too many steps.")


def a_call(**options: Any) -> AgentCall:
    return AgentCall(number=4, prompt="p", options=AgentOptions(**options), phase=None, branch=None)


def an_end(**more: Any) -> AgentEnd:
    fields: dict[str, Any] = {
        "key": DeliveryKey(child_id=CHAT, turn=1),
        "outcome": "finished",
        "failure": None,
        "said": "words",
        "notice": None,
        "asked": 1,
        "usage": Usage(),
        "busy_below": (),
        "goes_on": False,
        **more,
    }
    return AgentEnd(**fields)


def misfits(count: int, last: Outcome = "failed") -> list[Answered]:
    return [Answered("failed", {}) for _ in range(count - 1)] + [Answered(last, {"n": 1})]


@pytest.mark.parametrize(
    "end, value, outcome",
    [
        (an_end(), "words", "succeeded"),
        (an_end(said=""), "", "succeeded"),
        (an_end(notice=LIMIT), "words", "succeeded"),
        (an_end(notice=LIMIT, said=""), None, "failed"),
        (an_end(outcome="failed", failure=Failure(kind="auth", message="No.")), None, "failed"),
        (an_end(outcome="failed", goes_on=True), None, "failed"),
        (an_end(outcome="interrupted"), None, "cancelled"),
    ],
)
def test_what_an_end_is_worth(end: AgentEnd, value: str | None, outcome: Any) -> None:
    found = meaning(a_call(label="L"), end, ())
    assert isinstance(found, CallFinished)
    assert found.ended == Ended(outcome=outcome, value=value)
    assert (found.remark is None) == (end.outcome == "finished" and end.notice is None)


@pytest.mark.parametrize("more", [{"busy_below": (CHAT,)}, {"goes_on": True}])
@pytest.mark.parametrize("options", [{}, {"schema": {}}])
def test_an_agent_that_goes_on_is_waited_for(more: dict[str, Any], options: dict[str, Any]) -> None:
    assert meaning(a_call(**options), an_end(**more), ()) == KeepWaiting()


def test_a_good_answer_counts_whatever_came_before() -> None:
    found = meaning(a_call(schema={}), an_end(), misfits(3, "succeeded"))
    assert isinstance(found, CallFinished)
    assert found.ended == Ended(outcome="succeeded", value={"n": 1})


@pytest.mark.parametrize(
    "answers, asked, said",
    [(0, 1, None), (5, 1, None), (6, 1, "5 corrections"), (0, 2, "a reminder"), (5, 2, "a reminder")],
)
def test_without_a_good_answer(answers: int, asked: int, said: str | None) -> None:
    given = misfits(answers) if answers else []
    found = meaning(a_call(schema={}), an_end(asked=asked), given)
    if said is None:
        assert found == Remind()
    else:
        assert isinstance(found, CallFinished)
        assert found.ended.error is not None
        assert said in found.ended.error.message


def new_call(name: str, outcome: Outcome | None = None) -> NewCall:
    return NewCall(call_id=CallId(f"c_{name}"), name=name, outcome=outcome, waits_for="approval")


def test_calls_beyond_the_limit_are_answered() -> None:
    terms = Terms(AgentTerms(max_tool_calls=2), ())
    judged = terms.judge([new_call("a"), new_call("structured_output"), new_call("b"), new_call("c")])
    assert [call.outcome for call in judged] == [None, None, None, "denied"]
    assert judged[3].waits_for is None
    assert terms.judge([new_call("d")])[0].outcome == "denied"


def test_after_the_last_correction_nothing_more_is_expected() -> None:
    terms = Terms(AgentTerms(schema={"type": "object"}), ())
    for _ in range(5):
        terms.judge([new_call("structured_output", "failed")])
    assert terms.limit is None
    terms.judge([new_call("structured_output", "failed")])
    assert terms.limit is not None
    assert terms.limit.kind == "answer_invalid"
