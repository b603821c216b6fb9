"""The calls of an answer, judged before any runs. Pure: no engine."""

import pytest
from msgspec.structs import replace

from holdfast.chats.commands import NewCall
from holdfast.core.chats import ClientTool
from holdfast.core.ids import CallId
from holdfast.core.parts import Part, Text, ToolCall
from holdfast.core.shapes import Json
from holdfast.providers.assemble import Assembler
from holdfast.providers.interface import Event, Finished, StopReason, ToolCallEnd, ToolCallStart, ToolCallText
from holdfast.tools.approval import ApprovalRules
from holdfast.worker.new_calls import MOST_CALLS, Permitted, new_calls
from tests.chats.making import NOW
from tests.providers.calling import numbered_ids
from tests.worker.toolbox import Toolbox

TOOLS = Toolbox().registry()
PERMITTED = Permitted(
    rules=ApprovalRules(per_tool={"write": "deny", "look": "ask"}),
    client_tools={"open_tab": ClientTool(name="open_tab", description="Opens a tab.", input_schema={})},
    client_tool_seconds=300.0,
    on_uncertain="tell",
)
QUESTION: Json = {"questions": [{"id": "q", "text": "Which?"}]}


def judged(*parts: Part) -> list[NewCall]:
    return list(new_calls(parts, TOOLS, PERMITTED, NOW))


def asked(name: str, given: Json = None, call_id: str = "c1") -> ToolCall:
    return ToolCall(call_id=CallId(call_id), name=name, input={} if given is None else given)


def only(part: Part) -> NewCall:
    (call,) = judged(part)
    return call


def answer_with(
    name: str, written: str, stop: StopReason = "tool_calls", *, ended: bool = True
) -> list[Part]:
    """The parts of an answer as a provider streams it."""
    assembler = Assembler(numbered_ids())
    events: list[Event] = [ToolCallStart(0, name, "p", "openai"), ToolCallText(0, written)]
    events += [ToolCallEnd(0)] if ended else []
    for event in (*events, Finished(stop, None, None)):
        assembler.add(event)
    return list(assembler.answer().parts)


def test_a_call_that_may_run() -> None:
    call = only(asked("add", {"a": 1, "b": 2}))
    assert (call.outcome, call.waits_for, call.effect, call.on_uncertain) == (None, None, "read", "tell")
    assert call.approval is not None
    assert (call.approval.by, call.approval.rule, call.approval.at) == ("rule", "auto: none", NOW)


def test_text_and_calls_of_the_provider_are_nobodys_business() -> None:
    searched = ToolCall(call_id=CallId("p"), name="web_search", input={}, provider_executed=True)
    assert judged(Text(text="Hello"), searched) == []


def test_an_unknown_tool_is_answered_with_the_nearest_names() -> None:
    call = only(asked("ad"))
    assert (call.outcome, call.effect) == ("failed", "read")
    assert "There is no tool 'ad'" in str(call.output)
    assert "add" in str(call.output)


def test_a_tool_that_resembles_none_is_answered_with_what_there_is() -> None:
    assert "add, alone" in str(only(asked("zzzzzzzz")).output)


def test_a_tool_name_of_30_kb() -> None:
    (part,) = answer_with("x" * 30_000, "{}")
    assert isinstance(part, ToolCall)
    call = only(part)
    assert call.outcome == "failed"
    assert len(call.name) <= 200
    assert len(str(call.output)) < 1000


@pytest.mark.parametrize("written", ['{"a": 1, "b"', "[1, 2]", "certainly!", '{"a": NaN, "b": 1}', "\x00"])
def test_input_that_is_not_json(written: str) -> None:
    call = judged(*answer_with("add", written))[0]
    assert call.outcome == "failed"
    assert "Send the call again" in str(call.output)


def test_input_that_was_cut() -> None:
    call = judged(*answer_with("write", '{"name": "half a fi', "length"))[0]
    assert call.outcome == "failed"
    assert "reached its limit" in str(call.output)


def test_near_valid_input_is_repaired() -> None:
    calls = judged(*answer_with("add", '```json\n{"a": 1, "b": "2",}\n```'))
    assert [call.outcome for call in calls] == [None]


@pytest.mark.parametrize(
    "given, complaint",
    [
        ({"a": 1}, "missing required field `b`"),
        ({"a": 1, "b": 2, "c": 3}, "unknown field `c`"),
        ({"a": "one", "b": 2}, "$.a"),
        ([1, 2], "must be a JSON object"),
        ("text", "must be a JSON object"),
    ],
)
def test_input_that_does_not_fit(given: Json, complaint: str) -> None:
    call = only(asked("add", given))
    assert call.outcome == "failed"
    assert complaint in str(call.output)


def test_an_exclusive_tool_runs_alone() -> None:
    assert only(asked("alone")).outcome is None


def test_an_exclusive_tool_among_others_stops_them_all() -> None:
    calls = judged(asked("add", {"a": 1, "b": 2}, "c1"), asked("alone", {}, "c2"), asked("look", {}, "c3"))
    assert [call.outcome for call in calls] == ["failed"] * 3
    assert len({str(call.output) for call in calls}) == 1
    assert "alone must be the only call" in str(calls[0].output)


def test_a_denied_tool_says_by_which_rule() -> None:
    call = only(asked("write"))
    assert call.outcome == "denied"
    assert call.approval is not None
    assert call.approval.rule == "write = deny"


@pytest.mark.parametrize(
    "name, given",
    [("ask_user", QUESTION), ("propose_plan", {"plan": "First, ..."}), ("open_tab", {"url": "x"})],
)
def test_a_denied_tool_is_denied_whatever_its_kind(name: str, given: Json) -> None:
    for rules in (
        ApprovalRules(per_tool={name: "deny"}),
        ApprovalRules(default="deny"),
        ApprovalRules(said_here={name: False}),
    ):
        (call,) = new_calls([asked(name, given)], TOOLS, replace(PERMITTED, rules=rules), NOW)
        assert (call.outcome, call.waits_for) == ("denied", None)
        assert call.approval is not None


def test_a_tool_that_must_be_approved() -> None:
    for name in ("look", "fetch", "shell"):
        call = only(asked(name))
        assert (call.outcome, call.waits_for, call.approval, call.deadline_seconds) == (
            None,
            "approval",
            None,
            None,
        )


def test_a_client_tool_has_a_deadline() -> None:
    call = only(asked("open_tab", {"url": "x"}))
    assert (call.waits_for, call.deadline_seconds, call.outcome) == ("client_tool", 300.0, None)


def test_a_client_tool_stands_in_for_ours_of_the_same_name() -> None:
    client = {"add": ClientTool(name="add", description="", input_schema={})}
    permitted = Permitted(
        rules=ApprovalRules(), client_tools=client, client_tool_seconds=5.0, on_uncertain="tell"
    )
    (call,) = new_calls([asked("add", {"anything": 1})], TOOLS, permitted, NOW)
    assert call.waits_for == "client_tool"


def test_questions_and_plans_wait_without_a_deadline() -> None:
    question, plan = only(asked("ask_user", QUESTION)), only(asked("propose_plan", {"plan": "First, ..."}))
    assert (question.waits_for, question.deadline_seconds) == ("question", None)
    assert (plan.waits_for, plan.deadline_seconds) == ("plan", None)


def test_a_question_that_makes_no_sense_is_not_asked() -> None:
    assert only(asked("ask_user", {"questions": "Which?"})).outcome == "failed"


def test_asking_when_uncertain() -> None:
    permitted = Permitted(rules=ApprovalRules(), client_tools={}, client_tool_seconds=5.0, on_uncertain="ask")
    (call,) = new_calls([asked("write")], TOOLS, permitted, NOW)
    assert (call.effect, call.on_uncertain) == ("unsafe", "ask")
    by_name = replace(permitted, uncertain_tools={"write": "tell"})
    told, other = new_calls([asked("write", {}, "c1"), asked("tidy", {}, "c2")], TOOLS, by_name, NOW)
    assert (told.on_uncertain, other.on_uncertain) == ("tell", "ask")


def test_as_many_calls_as_a_step_may_have() -> None:
    calls = judged(*(asked("add", {"a": n, "b": n}, f"c{n}") for n in range(MOST_CALLS)))
    assert {call.outcome for call in calls} == {None}


def test_500_calls_at_once_are_too_many() -> None:
    calls = judged(*(asked("add", {"a": n, "b": n}, f"c{n}") for n in range(500)))
    assert len(calls) == 500
    assert {call.outcome for call in calls} == {"failed"}
    assert "500 calls in one step are too many" in str(calls[0].output)


def test_each_call_is_judged_for_itself() -> None:
    calls = judged(asked("add", {"a": 1, "b": 2}, "c1"), asked("nope", {}, "c2"), asked("fetch", {}, "c3"))
    assert [(call.outcome, call.waits_for) for call in calls] == [
        (None, None),
        ("failed", None),
        (None, "approval"),
    ]
