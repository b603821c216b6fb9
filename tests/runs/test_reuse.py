"""Running again: what is reused from an earlier run, and what runs again."""

import pytest

from holdfast.core.errors import InvalidInput
from holdfast.core.ids import WorkspaceId
from holdfast.core.run_shapes import run_shown
from tests.providers.replies import Hang, Reply, Status, call
from tests.runs.stage import COST, Stage, by_label, js, py, texts
from tests.runs.test_runs import save

pytestmark = pytest.mark.heavy

# c depends on a; d and e on nothing.
TREE = (
    "const [a, b] = await parallel([() => agent('%s', {label: 'a'}), () => agent('b', {label: '%s'})])\n"
    "const c = await agent(`c of ${a}`, {label: 'c'})\n"
    "return await pipeline(['d', 'e'], x => agent(x, {label: x}), y => `${y} ${c}`)"
)


async def test_with_the_same_arguments_nothing_runs(stage_everywhere: Stage) -> None:
    stage = stage_everywhere
    stage.work()
    first = await stage.ran(js(TREE % ("a", "b")), args={"x": [1]})
    asked = len(stage.engine.asked)
    second = await stage.ran(js(TREE % ("a", "b")), args={"x": [1]}, reuse=True)
    assert len(stage.engine.asked) == asked == 5
    assert second.run.result == first.run.result
    assert second.run.resumed_from == first.run.id
    assert all(call.reused for call in second.calls)
    assert second.reused == 5
    assert second.run.budget.spent_tokens == 0
    assert texts(second, "log") == [
        f"Calls that run {first.run.id} finished are reused, as asked for.",
        f"5 of 5 calls were reused from run {first.run.id}.",
    ]
    assert by_label(second)["a"].chat_id == by_label(first)["a"].chat_id


async def test_pauses_are_not_among_the_calls_that_were_reused(stage: Stage) -> None:
    stage.work()
    script = py("a = await agent('a')\nawait asyncio.sleep(0.01)\nreturn a")
    first = await stage.ran(script)
    second = await stage.ran(script, reuse=True)
    assert run_shown(second).reused == 1
    assert texts(second, "log")[1:] == [f"1 of 1 calls were reused from run {first.run.id}."]


async def test_a_reused_call_that_nobody_waits_for_is_not_said_to_be_cancelled(stage: Stage) -> None:
    stage.work()
    await stage.ran(js("return await agent('a')"))
    second = await stage.ran(js("agent('a'); return 1"), reuse=True)
    assert run_shown(second).reused == 1
    assert texts(second, "warning") == []


async def test_after_changing_a_prompt_only_that_call_and_what_depends_on_it_runs(stage: Stage) -> None:
    stage.work()
    await stage.ran(js(TREE % ("a", "b")))
    stage.engine.server.log.clear()
    second = await stage.ran(js(TREE % ("other", "b")), reuse=True)
    assert stage.prompts == {"other": 1, "c of <other>": 1}
    assert second.reused == 3


async def test_labels_and_places_re_run_nothing(stage: Stage) -> None:
    stage.work()
    await stage.ran(js(TREE % ("a", "b")))
    stage.engine.server.log.clear()
    moved = (
        "phase('There'); const rest = await parallel([() => agent('e'), () => agent('d', {label: 'D'})])\n"
        "return [await agent('b', {label: 'new', phase: 'P'}), await agent('a'), ...rest]"
    )
    ran = await stage.ran(js(moved), reuse=True)
    assert ran.run.result == ["<b>", "<a>", "<e>", "<d>"]
    assert stage.prompts == {}


@pytest.mark.parametrize(
    "options", ["{model: 'claude'}", "{effort: 'high'}", "{tools: ['add']}", "{schema: {type: 'object'}}"]
)
async def test_what_decides_an_answer_makes_another_call(stage: Stage, options: str) -> None:
    stage.answers = lambda prompt, asked: call("structured_output") if "schema" in options else None
    stage.work()
    if "schema" not in options:
        await stage.ran(js("return await agent('x')"))
        stage.engine.server.log.clear()
    ran = await stage.ran(js(f"return await agent('x', {options})"), reuse=True)
    assert ran.run.status == "succeeded"
    assert ran.reused == 0
    assert stage.prompts == {"x": 1}


async def test_the_model_chosen_for_the_run_decides_too(stage: Stage) -> None:
    stage.work()
    await stage.ran(js("return await agent('x')"))
    assert (await stage.ran(js("return await agent('x')"), model="claude", reuse=True)).reused == 0
    assert (await stage.ran(js("return await agent('x', {model: 'claude'})"), reuse=True)).reused == 1


async def test_equal_calls_are_told_apart_by_their_number(stage: Stage) -> None:
    answers = iter(["one", "two", "three"])
    stage.answers = lambda prompt, asked: next(answers)
    stage.work()
    twice = "return [await agent('same'), await agent('same')]"
    assert await stage.result(js(twice)) == ["one", "two"]
    assert await stage.result(js(twice), reuse=True) == ["one", "two"]
    thrice = "return [await agent('same'), await agent('same'), await agent('same')]"
    assert await stage.result(js(thrice), reuse=True) == ["one", "two", "three"]


async def test_failed_calls_are_not_reused(stage: Stage) -> None:
    stage.answers = lambda prompt, asked: Reply(fault=Status(401)) if prompt == "b" else None
    stage.work()
    body = js("return [await agent('a'), await agent('b')]")
    assert await stage.result(body) == ["<a>", None]
    stage.answers = lambda prompt, asked: None
    assert await stage.result(body, reuse=True) == ["<a>", "<b>"]
    assert stage.prompts == {"a": 1, "b": 2}


async def test_a_run_that_failed_lends_what_it_has(stage: Stage) -> None:
    stage.work()
    first = await stage.ran(js("await agent('a'); throw new Error('x')"))
    assert first.run.status == "failed"
    assert await stage.result(js("return await agent('a')")) == "<a>"
    assert stage.prompts == {"a": 1}


async def test_a_cancelled_run_lends(stage: Stage) -> None:
    stage.answers = lambda prompt, asked: Reply(fault=Hang()) if prompt == "b" else None
    stage.work()
    body = js("return [await agent('a'), await agent('b')]")
    run = await stage.start(body)
    await stage.working(run.id, 2)
    with pytest.raises(InvalidInput, match="not over"):
        await stage.start(body, resume_from=run.id)
    await stage.runs.cancel(run.id)
    stage.answers = lambda prompt, asked: None
    resumed = await stage.ran(body)
    assert resumed.run.result == ["<a>", "<b>"]
    assert resumed.reused == 1
    assert resumed.run.reuse == f"Calls that run {run.id} finished are reused, because it was cancelled."
    named = await stage.ran(body, resume_from=run.id)
    assert named.reused == 1
    again = await stage.ran(js("return await agent('a')"), args="other")
    assert again.reused == 0


async def test_fresh_lends_nothing(stage: Stage) -> None:
    stage.work()
    await stage.ran(js("return await agent('a')"))
    ran = await stage.ran(js("return await agent('a')"), fresh=True)
    assert (ran.reused, ran.run.resumed_from) == (0, None)
    assert stage.prompts == {"a": 2}


async def test_other_arguments_and_other_places_are_other_runs(stage: Stage) -> None:
    stage.work()
    await stage.ran(js("return await agent('a')"), args=1)
    assert (await stage.ran(js("return await agent('a')"), args=2, reuse=True)).reused == 0
    elsewhere = WorkspaceId("01a1e468-2277-731c-84e6-075cdd970351")
    run = await stage.start(js("return await agent('a')"), args=1, workspace_id=elsewhere, reuse=True)
    assert run.resumed_from is None


async def test_what_was_reused_is_lent_again(stage: Stage) -> None:
    stage.work()
    ran = [await stage.ran(js("return await agent('a')"), reuse=True) for _ in range(3)]
    assert ran[-1].run.resumed_from == ran[1].run.id
    assert ran[-1].reused == 1
    assert stage.prompts == {"a": 1}


async def test_reused_calls_cost_no_budget(stage: Stage) -> None:
    stage.work()
    body = py("return [await agent(f'n{n}') for n in range(3)] + [budget.spent()]")
    await stage.ran(body)
    assert (await stage.ran(body, budget=COST, reuse=True)).run.result == ["<n0>", "<n1>", "<n2>", 0]


async def test_calls_inside_workflows_are_lent_too(stage: Stage) -> None:
    save(stage, "inner", "return await agent('deep')")
    stage.work()
    await stage.result(js("return await workflow('inner')"))
    assert await stage.result(js("return [await agent('deep')]"), reuse=True) == ["<deep>"]
    assert stage.prompts == {"deep": 1}


async def test_a_finished_run_lends_nothing_unless_it_is_asked_for(stage: Stage) -> None:
    stage.work()
    first = await stage.ran(js("return await agent('a')"))
    second = await stage.ran(js("return await agent('a')"))
    assert (second.reused, second.run.resumed_from) == (0, None)
    assert texts(second, "log") == [
        f"Nothing is reused: run {first.run.id} finished. Ask with reuse to have its answers."
    ]
    assert stage.prompts == {"a": 2}
    with pytest.raises(InvalidInput, match="not both"):
        await stage.start(js("return 1"), fresh=True, reuse=True)


async def test_a_workflow_may_say_that_its_finished_runs_lend(stage: Stage) -> None:
    stage.work()
    script = js("return await agent('a')", ", reuse: 'always'")
    assert [(await stage.ran(script)).reused for _ in range(2)] == [0, 1]
    assert (await stage.ran(script, fresh=True)).reused == 0
    assert stage.prompts == {"a": 2}
