# ruff: noqa: E501 - flows, a step a line
"""Runs of flows on a real worker, with a provider over HTTP: agents, code, approvals, switches, waits, workflows."""

import pytest

from holdfast.core.errors import Forbidden, InvalidInput, NotFound, WrongState
from holdfast.core.ids import UserId
from tests.flows.stage import FlowStage, by_id, flow_text, states
from tests.providers.replies import Hang, Reply, Status
from tests.runs.stage import COST

pytestmark = pytest.mark.heavy

WHOLE = flow_text(
    """
    {id: a, kind: agent, prompt: "about {{ args.topic }}"}
    {id: b, kind: agent, prompt: "more", when: "args.deep"}
    {id: merge, kind: code, deps: [a, b], trigger_rule: none_failed_min_one_success, python: "return [results['a'], len(results)]"}
    {id: count, kind: code, deps: [merge], javascript: "return results.merge.length + args.topic.length"}
    {id: any, kind: switch, deps: [count], cases: [{label: many, when: results.count > 3, steps: [ok]}], default: [none]}
    {id: ok, kind: approval, deps: [any], text: "Go on with {{ results.count }}?"}
    {id: none, kind: agent, deps: [any], prompt: never}
    {id: end, kind: agent, deps: [ok, none], trigger_rule: none_failed_min_one_success, prompt: "{{ results.ok.note }} {{ results.merge[0] }}"}
    """,
    "report: '{{ results.end }}'\noutput: out.md",
)  # fmt: skip


async def test_a_whole_flow(stage_everywhere: FlowStage) -> None:
    stage = stage_everywhere
    stage.work()
    run = await stage.start_flow(WHOLE, args={"topic": "boats", "deep": False})
    waiting = await stage.step_is(run.id, "ok", "waiting")
    assert (waiting.text, waiting.reason) == ("Go on with 7?", "person")
    seen = await stage.flow_until(run.id, lambda seen: seen.run.status == "waiting")
    assert states(seen) == {
        "a": "succeeded", "b": "skipped", "merge": "succeeded", "count": "succeeded", "any": "succeeded",
        "ok": "waiting", "none": "skipped", "end": "pending",
    }  # fmt: skip
    await stage.approve(run.id, "ok", note="yes")
    ran = await stage.flow_over(run.id)
    assert ran.run.status == "succeeded", ran.run.error
    assert ran.run.result == "<yes <about boats>>"
    rows = by_id(ran)
    assert (rows["b"].reason, rows["none"].reason) == ("condition", "excluded")
    assert rows["any"].choice is not None
    assert rows["any"].choice.label == "many"
    assert rows["count"].output == 7
    assert ran.run.budget.spent_tokens == 2 * COST
    assert stage.prompts == {"about boats": 1, "yes <about boats>": 1}


async def test_failures_go_through_the_rules_and_are_told(stage: FlowStage) -> None:
    stage.answers = lambda prompt, asked: Reply(fault=Status(400)) if prompt == "bad" else None
    stage.work()
    ran = await stage.ran_flow(
        flow_text(
            """
            {id: bad, kind: agent, prompt: bad}
            {id: after, kind: agent, deps: [bad], prompt: never}
            {id: throws, kind: code, python: "return 1 / 0"}
            {id: wrong, kind: agent, prompt: "{{ results.nothing }}"}
            {id: beside, kind: agent, prompt: fine}
            {id: clean, kind: agent, deps: [throws], trigger_rule: one_failed, prompt: clean}
            """
        )
    )
    assert ran.run.status == "failed"
    assert states(ran) == {
        "bad": "failed", "after": "upstream_failed", "throws": "failed", "wrong": "failed", "beside": "succeeded",
        "clean": "succeeded",
    }  # fmt: skip
    assert ran.run.error is not None
    assert ran.run.error.steps == ("bad", "wrong")
    rows = by_id(ran)
    assert rows["wrong"].reason == "expression"
    assert "results.nothing" in (rows["wrong"].detail or "")
    assert "line 7: " in (rows["throws"].detail or "")


async def test_retries_after_failures_and_after_timeouts(stage: FlowStage) -> None:
    tries: dict[str, int] = {}

    def answer(prompt: str, asked: object) -> Reply | None:
        tries[prompt] = tries.get(prompt, 0) + 1
        if prompt == "slow" and tries[prompt] == 1:
            return Reply(fault=Hang())
        return Reply(fault=Status(400)) if prompt == "flaky" and tries[prompt] < 3 else None

    stage.answers = answer
    stage.work()
    ran = await stage.ran_flow(
        flow_text(
            """
            {id: flaky, kind: agent, prompt: flaky, retries: 2, backoff: 0.1s}
            {id: slow, kind: agent, prompt: slow, retries: 1, timeout: 2s, backoff: 0.1s}
            """
        )
    )
    assert ran.run.status == "succeeded", ran.run.error
    rows = by_id(ran)
    assert (rows["flaky"].attempt, rows["slow"].attempt) == (3, 2)
    assert ran.run.result == {"flaky": "<flaky>", "slow": "<slow>"}
    assert sum("is tried again" in line.text for line in ran.lines) == 3


async def test_an_approval_is_for_whom_it_names(stage: FlowStage) -> None:
    stage.work()
    run = await stage.start_flow(
        flow_text(
            "{id: ok, kind: approval, text: ok?, form: {type: object, required: [size], properties: {size: {type: integer}}}}"
        )
    )
    await stage.step_is(run.id, "ok", "waiting")
    stranger = UserId("019df000-0000-7000-8000-00000000dead")
    with pytest.raises(NotFound):
        await stage.approve(run.id, "ok", user_id=stranger)
    with pytest.raises(NotFound):
        await stage.approve(run.id, "other")
    with pytest.raises(InvalidInput, match="form"):
        await stage.approve(run.id, "ok", answer={"size": "large"})
    await stage.approve(run.id, "ok", answer={"size": 3})
    with pytest.raises(WrongState, match="already"):
        await stage.approve(run.id, "ok", answer={"size": 4})
    ran = await stage.flow_over(run.id)
    assert ran.run.result == {"ok": {"decision": "approve", "note": None, "answer": {"size": 3}, "by": "ann"}}


async def test_a_denied_approval_fails_and_its_run_too(stage: FlowStage) -> None:
    stage.work()
    run = await stage.start_flow(flow_text("{id: ok, kind: approval, text: ok?}"))
    await stage.step_is(run.id, "ok", "waiting")
    await stage.approve(run.id, "ok", "deny", note="not today")
    ran = await stage.flow_over(run.id)
    row = by_id(ran)["ok"]
    assert (ran.run.status, row.state, row.reason, row.detail) == ("failed", "failed", "denied", "not today")


async def test_deadlines_of_approvals_and_waits(stage: FlowStage) -> None:
    stage.work()
    ran = await stage.ran_flow(
        flow_text(
            """
            {id: ok, kind: approval, text: ok?, timeout: 1s, on_timeout: approve}
            {id: nap, kind: wait, for: "{{ args.nap }}"}
            {id: then, kind: wait, until: "2020-01-01T00:00:00Z", deps: [nap]}
            """
        ),
        args={"nap": "1s"},
    )
    assert ran.run.status == "succeeded", ran.run.error
    assert by_id(ran)["ok"].reason == "approved"


async def test_cancel_stops_everything(stage: FlowStage) -> None:
    stage.answers = lambda prompt, asked: Reply(fault=Hang())
    stage.work()
    run = await stage.start_flow(
        flow_text("{id: a, kind: agent, prompt: a}\n{id: b, kind: agent, prompt: b, deps: [a]}")
    )
    await stage.step_is(run.id, "a", "running")
    await stage.flows.cancel(run.id)
    ran = await stage.flow_over(run.id)
    assert (ran.run.status, states(ran)) == ("cancelled", {"a": "cancelled", "b": "cancelled"})
    chat_id = by_id(ran)["a"].chat_id
    assert chat_id is not None
    await stage.engine.until(chat_id, lambda view: view.chat.status == "idle")


async def test_a_failed_step_is_run_again_with_what_follows(stage: FlowStage) -> None:
    broken = True
    stage.answers = lambda prompt, asked: Reply(fault=Status(400)) if prompt == "b" and broken else None
    stage.work()
    text = flow_text(
        """
        {id: a, kind: agent, prompt: a}
        {id: b, kind: agent, prompt: b, deps: [a]}
        {id: c, kind: agent, prompt: c, deps: [b]}
        """
    )
    ran = await stage.ran_flow(text)
    assert states(ran) == {"a": "succeeded", "b": "failed", "c": "upstream_failed"}
    with pytest.raises(WrongState, match="nothing to run again"):
        await stage.flows.retry(ran.run.id, ["a"])
    broken = False
    again = await stage.flows.retry(ran.run.id)
    assert states(again) == {"a": "succeeded", "b": "pending", "c": "pending"}
    ran = await stage.flow_over(ran.run.id)
    assert ran.run.status == "succeeded"
    assert ran.run.result == {"c": "<c>"}
    assert stage.prompts["a"] == 1


async def test_a_new_run_reuses_what_a_failed_one_finished(stage: FlowStage) -> None:
    broken = True
    stage.answers = lambda prompt, asked: Reply(fault=Status(400)) if prompt == "b" and broken else None
    stage.work()
    text = flow_text("{id: a, kind: agent, prompt: a}\n{id: b, kind: agent, prompt: b, deps: [a]}")
    first = await stage.ran_flow(text)
    assert first.run.status == "failed"
    broken = False
    second = await stage.ran_flow(text)
    assert second.run.resumed_from == first.run.id
    assert second.run.status == "succeeded"
    assert (by_id(second)["a"].reused, by_id(second)["b"].reused) == (True, False)
    assert stage.prompts["a"] == 1
    third = await stage.ran_flow(text, fresh=True)
    assert by_id(third)["a"].reused is False


async def test_answers_of_a_shape_workflows_and_budgets(stage: FlowStage) -> None:
    stage.home.joinpath(".holdfast", "workflows").mkdir(parents=True)
    script = "export const meta = {name: 'inner', description: 'd'}\nreturn [await agent('inner'), args.n]"
    stage.home.joinpath(".holdfast", "workflows", "inner.js").write_text(script)
    stage.work()
    ran = await stage.ran_flow(
        flow_text(
            """
            {id: w, kind: workflow, name: inner, args: {n: "{{ args.n }}"}}
            {id: gone, kind: workflow, name: nobody, on_failure: continue}
            {id: a, kind: agent, prompt: "{{ results.w[0] }}", deps: [w]}
            {id: b, kind: agent, prompt: b, deps: [a], on_failure: continue}
            """
        ),
        args={"n": 3},
        budget=2 * COST,
    )
    rows = by_id(ran)
    assert rows["w"].output == ["<inner>", 3]
    assert rows["a"].output == "<<inner>>"
    assert (rows["b"].state, rows["b"].reason) == ("failed", "budget")
    assert rows["gone"].state == "failed"
    assert ran.run.status == "succeeded", ran.run.error
    assert ran.run.budget.spent_tokens == 2 * COST


async def test_bad_requests(stage: FlowStage) -> None:
    with pytest.raises(InvalidInput, match="Line 1, column 1"):
        await stage.start_flow("")
    text = flow_text("{id: a, kind: wait, for: 1s}", "args: {type: object, required: [x]}")
    with pytest.raises(InvalidInput, match="arguments do not fit"):
        await stage.start_flow(text, args={})
    with pytest.raises(InvalidInput, match="no user"):
        await stage.start_flow(flow_text("{id: a, kind: approval, text: x, approvers: [nobody]}"))
    assert issubclass(Forbidden, Exception)
