"""`agent()` in a run: what its options do to the chat that it is, and what it resolves to in the end."""

from datetime import timedelta

import pytest
from msgspec.structs import replace

from holdfast.chats.commands import Delete, Interrupt
from holdfast.core.chats import Settings
from holdfast.core.ids import ChatId
from holdfast.store import chats as chat_queries
from holdfast.store import settings_rules
from tests.providers.answering import Asked
from tests.providers.replies import Hang, Reply, Status, call, say
from tests.runs.stage import QUICK, Stage, by_label, chats_of, js, prompt_of, py, texts, texts_of
from tests.worker.engine import OWNER

SHAPE = "{type: 'object', properties: {n: {type: 'integer'}}, required: ['n']}"
ANSWER = f"return await agent('count', {{label: 'counter', schema: {SHAPE}}})"


async def settings(stage: Stage, chat_id: ChatId) -> Settings:
    found = await stage.engine.store.read(settings_rules.settings(chat_id))
    assert found is not None
    return found


def answered(asked: Asked) -> int:
    """How many answers the agent has given before."""
    return sum(message["role"] == "assistant" for message in asked.body["messages"])


async def test_agents_answer_and_are_chats_of_the_run(stage_everywhere: Stage) -> None:
    stage = stage_everywhere
    stage.work()
    ran = await stage.ran(
        py("phase('Look')\nreturn await parallel([lambda x=x: agent(x, label=x) for x in ['a', 'b']])")
    )
    assert ran.run.result == ["<a>", "<b>"]
    assert [(call.label, call.phase, call.status) for call in ran.calls] == [
        ("a", "Look", "succeeded"),
        ("b", "Look", "succeeded"),
    ]
    assert [phase.title for phase in ran.phases if phase.started_at] == ["Look"]
    listed = await stage.engine.store.read(chat_queries.page(OWNER))
    assert listed.items == ()
    agents = await stage.engine.store.read(chat_queries.page(OWNER, chat_queries.Only(run_id=ran.run.id)))
    assert {chat.id for chat in agents.items} == set(chats_of(ran.calls))
    assert all(call.usage is not None and call.usage.output == 10 for call in ran.calls)
    assert ran.run.budget.spent_tokens == 20


async def test_an_agent_begins_with_a_fresh_context(stage: Stage) -> None:
    stage.work()
    await stage.result(js("await agent('first'); return await agent('second')"))
    for asked in stage.engine.asked:
        assert len(texts_of(asked, "user")) == 1
        assert "workflow" in texts_of(asked, "system")[0]


async def test_options_become_settings_of_the_chat(stage: Stage) -> None:
    agent_id = await stage.engine.named_agent("reviewer", instructions="Be strict.")
    stage.work()
    ran = await stage.ran(
        js(
            "return await agent('look', {label: 'L', model: 'claude', effort: 'high', agentType: 'reviewer',"
            " tools: ['add'], budget: 5000, max_steps: 3})"
        )
    )
    assert ran.run.status == "succeeded", ran.run.error
    (chat_id,) = chats_of(ran.calls)
    chosen = await settings(stage, chat_id)
    assert (chosen.title, chosen.model, chosen.effort, chosen.agent) == ("L", "claude", "high", agent_id)
    assert chosen.tools == ["add"]
    assert chosen.budget is not None
    assert chosen.budget.tokens == 5000
    (asked,) = stage.engine.asked
    assert asked.format == "anthropic"
    assert [tool["name"] for tool in asked.body["tools"]] == ["add"]


async def test_a_model_or_agent_of_another_server_does_not_stop_a_script(stage: Stage) -> None:
    stage.work()
    ran = await stage.ran(js("return await agent('x', {model: 'opus', agentType: 'Explore'})"))
    assert ran.run.result == "<x>"
    model, agent = texts(ran, "warning")
    assert model.startswith("There is no model 'opus' here;")
    assert agent == "There is no named agent 'Explore'. One without a name is used."


async def test_a_tool_that_is_not_there_is_an_error(stage: Stage) -> None:
    stage.work()
    ran = await stage.ran(js("return await agent('x', {tools: ['frobnicate']})"))
    assert ran.run.status == "failed"
    assert ran.run.error is not None
    assert "frobnicate" in ran.run.error.message
    assert ran.run.error.line == 2


async def test_a_model_error_is_null_and_said(stage: Stage) -> None:
    stage.answers = lambda prompt, asked: Reply(fault=Status(401)) if prompt == "bad" else None
    stage.work()
    ran = await stage.ran(js("return [await agent('bad', {label: 'B'}), await agent('good')]"))
    assert ran.run.result == [None, "<good>"]
    assert by_label(ran)["B"].status == "failed"
    assert any("“B” failed" in text for text in texts(ran, "warning"))


@pytest.mark.parametrize("command", [Interrupt(), Delete()])
async def test_an_agent_that_somebody_skips_is_null(stage: Stage, command: Interrupt | Delete) -> None:
    stage.answers = lambda prompt, asked: Reply(fault=Hang()) if prompt == "slow" else None
    stage.work()
    run = await stage.start(js("return [await agent('slow'), await agent('after')]"))
    seen = await stage.working(run.id, 1)
    await stage.engine.until_asked(1)
    (chat_id,) = chats_of(seen.calls)
    await stage.engine.store.transition(chat_id, command)
    ran = await stage.over(run.id)
    assert ran.run.result == [None, "<after>"]
    assert ran.calls[0].status == "cancelled"


# --- answers of a shape ---


async def test_a_structured_answer_is_the_value(stage_everywhere: Stage) -> None:
    stage = stage_everywhere
    stage.answers = lambda prompt, asked: call("structured_output", {"n": 3})
    stage.work()
    assert await stage.result(js(ANSWER)) == {"n": 3}
    assert len(stage.engine.asked) == 1
    (tool,) = [tool for tool in stage.engine.asked[0].body["tools"] if "structured" in str(tool)]
    assert tool["function"]["parameters"]["required"] == ["n"]


async def test_an_answer_that_does_not_fit_is_sent_back_with_the_reason(stage: Stage) -> None:
    def answers(_: str, asked: Asked) -> Reply:
        wrong = answered(asked) < 5
        return call("structured_output", {"n": f"no {answered(asked)}" if wrong else 7})

    stage.answers = answers
    stage.work()
    assert await stage.result(js(ANSWER)) == {"n": 7}
    assert len(stage.engine.asked) == 6
    assert '"no 0" is not of type "integer"' in texts_of(stage.engine.asked[1], "tool")[0]


async def test_after_five_corrections_agent_throws(stage: Stage) -> None:
    stage.answers = lambda _, asked: call("structured_output", {"n": f"no {answered(asked)}"})
    stage.work()
    ran = await stage.ran(js(ANSWER))
    assert ran.run.status == "failed"
    assert ran.run.error is not None
    assert "after 5 corrections" in ran.run.error.message
    assert len(stage.engine.asked) == 6


async def test_who_never_gives_the_answer_is_reminded_once(stage: Stage) -> None:
    stage.answers = lambda _, asked: call("structured_output", {"n": 1}) if answered(asked) else say("done!")
    stage.work()
    assert await stage.result(js(ANSWER)) == {"n": 1}
    assert "structured_output" in texts_of(stage.engine.asked[1], "user")[1]


async def test_and_then_agent_throws(stage: Stage) -> None:
    stage.answers = lambda _, asked: say("done!")
    stage.work()
    ran = await stage.ran(js(f"try {{ {ANSWER} }} catch (error) {{ return error.message }}"))
    assert isinstance(ran.run.result, str)
    assert "after a reminder" in ran.run.result
    assert len(stage.engine.asked) == 2


async def test_a_schema_that_is_none_is_an_error(stage: Stage) -> None:
    stage.work()
    ran = await stage.ran(js("return await agent('x', {schema: {type: 'array'}})"))
    assert ran.run.error is not None
    assert "root" in ran.run.error.message
    assert stage.engine.asked == []


# --- limits of one agent ---


async def test_steps_of_an_agent_are_limited(stage: Stage) -> None:
    stage.answers = lambda prompt, asked: call("add", {"a": answered(asked), "b": 1})
    stage.work()
    ran = await stage.ran(js("return await agent('go', {label: 'G', max_steps: 3})"))
    assert len(stage.engine.asked) == 3
    assert ran.run.result is None
    assert any("limit" in text for text in texts(ran, "warning"))


async def test_tool_calls_of_an_agent_are_limited(stage: Stage) -> None:
    def answers(_: str, asked: Asked) -> Reply:
        done = any("used up" in text for text in texts_of(asked, "tool"))
        return say("enough") if done else call("add", {"a": answered(asked), "b": 1})

    stage.answers = answers
    stage.work()
    assert await stage.result(js("return await agent('go', {max_tool_calls: 2})")) == "enough"
    assert len(stage.engine.asked) == 4


async def test_an_agent_without_tool_calls_has_no_tools(stage: Stage) -> None:
    stage.work()
    await stage.result(js("return await agent('go', {max_tool_calls: 0})"))
    assert "tools" not in stage.engine.asked[0].body


async def test_an_agent_that_takes_too_long_is_stopped(stage: Stage) -> None:
    stage.answers = lambda prompt, asked: Reply(fault=Hang()) if prompt == "slow" else None
    stage.work()
    run = await stage.start(
        js("return await parallel([() => agent('slow', {label: 'S', timeout: 600}), () => agent('quick')])")
    )
    seen = await stage.until(run.id, lambda seen: any(call.delivery for call in seen.calls))
    await stage.engine.until_asked(2)
    stage.engine.clock.offset += timedelta(seconds=601)
    ran = await stage.over(run.id)
    assert ran.run.result == [None, "<quick>"]
    assert any("“S” took longer than 600 s" in text for text in texts(ran, "warning"))
    await stage.engine.settled(chats_of(seen.calls)[0])


async def test_no_agent_takes_longer_than_the_server_allows(stage: Stage) -> None:
    stage.settings = replace(QUICK, agent_seconds=60.0)
    stage.answers = lambda prompt, asked: Reply(fault=Hang())
    stage.work()
    run = await stage.start(js("return await agent('slow', {timeout: 5000})"))
    await stage.engine.until_asked(1)
    stage.engine.clock.offset += timedelta(seconds=61)
    assert (await stage.over(run.id)).run.result is None


# --- sub-agents of agents ---


async def test_an_agent_is_waited_for_while_its_sub_agents_work(stage: Stage) -> None:
    """It says something before they have ended, and goes on when it hears of their ends."""

    def answers(prompt: str, asked: Asked) -> Reply | str:
        if prompt == "child":
            return "from below"
        heard = "from below" in str(asked.body["messages"])
        if heard:
            return "all done"
        return call("spawn_agent", {"prompt": "child"}) if answered(asked) == 0 else "they are at work"

    stage.answers = answers
    stage.work()
    ran = await stage.ran(js("return await agent('parent')"))
    assert ran.run.result == "all done"
    assert ran.run.budget.spent_tokens == sum(10 for _ in stage.engine.asked)


async def test_what_agents_start_ends_with_them(stage: Stage) -> None:
    def answers(prompt: str, asked: Asked) -> Reply | str:
        if prompt == "child":
            return Reply(fault=Hang())
        if answered(asked) == 0:
            return call("spawn_agent", {"prompt": "child"})
        return Reply(fault=Status(401))

    stage.answers = answers
    stage.work()
    ran = await stage.ran(js("return await agent('parent')"))
    assert ran.run.result is None
    (parent,) = chats_of(ran.calls)
    family = await stage.engine.store.read(chat_queries.family(parent))
    child = next(chat for chat in family if chat.id != parent)
    view = await stage.engine.settled(child.id)
    assert view.chat.status == "idle"


async def test_a_run_goes_on_though_all_hints_are_lost(stage: Stage) -> None:
    stage.engine.hints.lost = True
    stage.work()
    assert await stage.result(js("return [await agent('a'), await agent('b')]")) == ["<a>", "<b>"]


async def test_prompts_are_given_word_for_word(stage: Stage) -> None:
    text = 'äöü \U0001f600 \t `x` ${y} \\ "quoted"'
    stage.work()
    await stage.result(js("return await agent(args.text)"), args={"text": text})
    assert prompt_of(stage.engine.asked[0]) == text


async def test_what_a_stopped_agent_cost_is_counted(stage: Stage) -> None:
    def answers(prompt: str, asked: Asked) -> Reply | str | None:
        if prompt != "slow":
            return None
        return Reply(fault=Hang()) if answered(asked) else call("add", {"a": 1, "b": 1})

    stage.answers = answers
    stage.work()
    run = await stage.start(
        js(
            "await agent('slow', {timeout: 600})\n"
            "await new Promise(r => setTimeout(r, 3600000)); return budget.spent()"
        )
    )
    await stage.engine.until_asked(2)
    stage.engine.clock.offset += timedelta(seconds=601)
    await stage.until(run.id, lambda seen: len(seen.calls) == 2 and seen.calls[0].usage is not None)
    stage.engine.clock.offset += timedelta(seconds=3601)
    ran = await stage.over(run.id)
    assert ran.run.result == 10
    assert ran.run.budget.spent_tokens == 10
