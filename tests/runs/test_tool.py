"""`run_workflow`: an agent starts a workflow and is told its result once; worktrees of agents."""

import asyncio
from collections.abc import Awaitable
from types import SimpleNamespace
from typing import Any, cast

import pytest

from holdfast.chats.commands import Delete, Interrupt
from holdfast.core.ids import ChatId, RunId
from holdfast.core.parts import ToolResult
from holdfast.core.runs import Run
from holdfast.core.usage import Budget
from holdfast.scripts.runs.tool import BUILT_IN, workflow_tools
from holdfast.store import runs as run_queries
from holdfast.tools.contract import ToolError
from tests.providers.answering import Asked
from tests.providers.replies import Hang, Reply, call
from tests.runs.stage import Answers, Stage, chats_of, js, texts_of
from tests.runs.test_runs import save
from tests.worker.engine import OWNER, PATIENCE_SECONDS

pytestmark = pytest.mark.heavy

SCRIPT = js("return [await agent('inside'), args]")


def asks(arguments: dict[str, object]) -> Answers:
    """A chat whose agent runs this workflow and then says what came of it."""

    def answers(prompt: str, asked: Asked) -> Reply | str | None:
        if prompt != "go":
            return None
        results = texts_of(asked, "tool")
        return f"It gave {results[0]}" if results else call("run_workflow", arguments)

    return answers


def members(result: ToolResult) -> dict[str, Any]:
    return cast(dict[str, Any], result.output)


async def run_of(stage: Stage, chat_id: ChatId) -> Run:
    """The run that the chat's only call has started."""
    view = await stage.engine.until(chat_id, lambda view: any(c.state == "started" for c in view.calls))
    call_id = view.calls[0].call_id
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            found = await stage.engine.store.read(run_queries.of_call(chat_id, call_id))
            if found is not None:
                return found
            await asyncio.sleep(0.02)


async def test_an_agent_runs_a_workflow_and_hears_its_result(stage_everywhere: Stage) -> None:
    stage = stage_everywhere
    stage.answers = asks({"script": SCRIPT, "args": {"n": 1}})
    stage.work()
    chat_id = await stage.engine.create("go")
    await stage.engine.idle(chat_id)
    (result,) = await stage.engine.results(chat_id)
    assert result.outcome == "succeeded"
    assert members(result)["result"] == ["<inside>", {"n": 1}]
    run = await stage.details(RunId(str(members(result)["run_id"])))
    assert run.run.owner_id == OWNER
    assert run.run.asked_by is not None
    assert run.run.asked_by.chat_id == chat_id


async def test_a_chat_that_waits_for_a_workflow_goes_on_elsewhere(stage: Stage) -> None:
    hanging = {"inside"}
    follow = asks({"script": SCRIPT})
    stage.answers = lambda prompt, asked: Reply(fault=Hang()) if prompt in hanging else follow(prompt, asked)
    first = stage.work()
    chat_id = await stage.engine.create("go")
    await stage.engine.until_asked(2)
    hanging.clear()
    await stage.engine.stop(first)
    stage.work()
    await stage.engine.idle(chat_id)
    (result,) = await stage.engine.results(chat_id)
    assert members(result)["result"] == ["<inside>", None]
    assert len(await stage.engine.store.read(run_queries.page(OWNER))) == 1


@pytest.mark.parametrize("command", [Interrupt(), Delete()])
async def test_a_workflow_is_cancelled_with_the_turn(stage: Stage, command: Interrupt | Delete) -> None:
    follow = asks({"script": SCRIPT})
    stage.answers = lambda prompt, asked: Reply(fault=Hang()) if prompt == "inside" else follow(prompt, asked)
    stage.work()
    chat_id = await stage.engine.create("go")
    run = await run_of(stage, chat_id)
    await stage.working(run.id, 1)
    await stage.engine.store.transition(chat_id, command)
    ran = await stage.over(run.id)
    assert ran.run.status == "cancelled"
    for agent in chats_of(ran.calls):
        await stage.engine.settled(agent)


async def test_a_failed_workflow_is_told_with_its_line(stage: Stage) -> None:
    stage.answers = asks({"script": js("log('so far')\nthrow new Error('no luck')")})
    stage.work()
    chat_id = await stage.engine.create("go")
    await stage.engine.idle(chat_id)
    (result,) = await stage.engine.results(chat_id)
    assert result.outcome == "failed"
    assert members(result)["line"] == 3
    assert members(result)["log"] == ["so far"]


@pytest.mark.parametrize(
    "arguments, said",
    [
        ({"script": js("return (")}, "Line 2"),
        ({"name": "nobody-has-it"}, "There is no workflow"),
        ({"name": "review-code", "script": SCRIPT}, "not both"),
        ({}, "not both"),
    ],
)
async def test_what_cannot_be_run_is_told(stage: Stage, arguments: dict[str, object], said: str) -> None:
    stage.answers = asks(arguments)
    stage.work()
    chat_id = await stage.engine.create("go")
    await stage.engine.idle(chat_id)
    (result,) = await stage.engine.results(chat_id)
    assert result.outcome == "failed"
    assert said in str(result.output)


async def test_agents_of_a_workflow_start_none(stage: Stage) -> None:
    stage.answers = lambda prompt, asked: (
        None if texts_of(asked, "tool") else call("run_workflow", {"script": SCRIPT})
    )
    stage.work()
    ran = await stage.ran(js("return await agent('go')"))
    assert ran.run.result == "<go>"
    (chat_id,) = chats_of(ran.calls)
    (result,) = await stage.engine.results(chat_id)
    assert "inside a workflow" in str(result.output)


async def test_a_workflow_has_the_rights_and_the_budget_of_the_chat(stage: Stage) -> None:
    stage.answers = asks({"script": js("return [budget.total, await agent('inside')]")})
    stage.work()
    chat_id = await stage.engine.create("go", tools=["run_workflow", "add"], budget=Budget(tokens=1000))
    await stage.engine.idle(chat_id)
    (result,) = await stage.engine.results(chat_id)
    total = members(result)["result"][0]
    assert 0 < total < 1000
    inside = next(asked for asked in stage.engine.asked if "inside" in texts_of(asked, "user"))
    assert [tool["function"]["name"] for tool in inside.body["tools"]] == ["add", "run_workflow"]


async def test_a_workflow_can_be_read_before_it_is_run(stage: Stage) -> None:
    save(stage, "mine", "return 1")
    read = next(tool for tool in workflow_tools(stage.runs, stage.family) if tool.name == "read_workflow")
    context = cast(Any, SimpleNamespace(workspace_id=None, owner_id=OWNER, chat_id=ChatId("")))

    async def told(**given: Any) -> str:
        assert read.run is not None
        answer = read.run(context, read.parse(given))
        assert isinstance(answer, Awaitable)
        return str((await answer).output)

    everything = await told()
    for name in (
        "mine",
        *BUILT_IN.split(", "),
        "agent(prompt",
        "parallel(",
        "pipeline(",
        "budget.remaining()",
    ):
        assert name in everything
    assert everything == await told()
    one = await told(name="review-code")
    assert "When to use it: Before a change is merged" in one
    assert '"focus"' in one
    assert "export const meta" in one
    with pytest.raises(ToolError, match="There is no workflow"):
        await told(name="nothing")


async def test_the_built_in_workflows_are_named_with_the_tool(stage: Stage) -> None:
    listed = await stage.library.listed(None, OWNER)
    assert sorted(file.name for file in listed if file.origin == "catalogue") == BUILT_IN.split(", ")
