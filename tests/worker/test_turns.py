"""Whole turns over HTTP: what is committed, in how many transactions, and what is counted."""

import threading
from itertools import pairwise

import pytest

from holdfast.core.chats import ClientTool
from holdfast.prompt.system import BASE
from holdfast.providers.prices import Prices
from holdfast.store.steps import turns
from tests.providers.replies import Call, Reply, Say, Search, Think, call, say
from tests.worker.engine import Engine, calls_of, eventually, model, said_to_model
from tests.worker.toolbox import Toolbox


@pytest.mark.parametrize("name", ["default", "claude", "demo"])
async def test_a_turn_with_a_tool(engine_everywhere: Engine, name: str) -> None:
    engine = engine_everywhere
    engine.start()
    chat = await engine.create('call: add {"a": 1, "b": 2}\nsay: The sum is {result}.', model=name)
    view = await engine.idle(chat)
    assert await engine.texts(chat) == [
        ("user", 'call: add {"a": 1, "b": 2}\nsay: The sum is {result}.'),
        ("assistant", "The sum is 3."),
    ]
    (result,) = await engine.results(chat)
    assert (result.output, result.outcome) == (3, "succeeded")
    assert result.started_at is not None
    assert result.finished_at is not None
    assert view.calls == ()
    assert engine.server.refusals == []


async def test_ten_steps_are_twenty_transactions(engine_everywhere: Engine) -> None:
    engine = engine_everywhere
    engine.start()
    chat = await engine.create('repeat 9: call: add {"a": 1, "b": 1}\nsay: Enough.')
    view = await engine.idle(chat)
    assert view.chat.turn_steps == 10
    # Created, acquired and the first attempt; then two for each step, of which the last needs one.
    assert view.chat.version == 3 + 9 * 2 + 1


async def test_every_further_call_of_a_step_is_one_more(engine: Engine) -> None:
    engine.start()
    chat = await engine.create('calls: add {"a": 1, "b": 1}; add {"a": 2, "b": 2}; add {"a": 3, "b": 3}')
    view = await engine.idle(chat)
    assert view.chat.version == 3 + (2 + 2) + 1
    assert [result.output for result in await engine.results(chat)] == [2, 4, 6]


async def test_what_is_stored_with_a_step(engine: Engine) -> None:
    engine.configure(model(context_limit=1000))
    engine.server.queue(
        Reply(
            content=(Think("Hm."), Say("Well.")),
            usage={"input": 100, "output": 20, "cache_read": 60, "reasoning": 5},
            delay_seconds=0.001,
        )
    )
    engine.start()
    chat = await engine.create("Hello")
    view = await engine.idle(chat)
    (step,) = await engine.steps(chat)
    usage = step.usage
    assert (usage.input, usage.output, usage.cache_read, usage.reasoning, usage.total) == (
        100,
        20,
        60,
        5,
        120,
    )
    assert (usage.context_used, usage.context_limit) == (100, 1000)
    assert usage.unpriced_steps == 1
    assert usage.tokens_per_second is not None
    assert (step.model, step.provider, step.response_id) == ("default", "here", "chatcmpl-0")
    assert (step.attempts, step.failures, step.outcome) == (1, (), "finished")
    assert step.first_part_at is not None
    assert step.started_at <= step.first_part_at <= step.finished_at
    message = (await engine.history(chat))[-1]
    assert step.message_id == message.id
    assert (message.usage, message.model) == (usage, "default")
    assert view.chat.usage == usage


async def test_a_priced_step_has_a_price(engine: Engine) -> None:
    engine.server.queue(say("Hi.", usage={"input": 1_000_000, "output": 0}))
    engine.start()
    chat = await engine.create("Hello", model="claude")
    await engine.idle(chat)
    usage = (await engine.chat(chat)).usage
    assert usage.unpriced_steps == 0
    assert usage.cost_usd_micros > 100_000


async def test_thinking_goes_back_to_who_thought_it(engine: Engine) -> None:
    engine.server.queue(Reply(content=(Think("Let me add."), Call("add", {"a": 1, "b": 2}))), say("Three."))
    engine.start()
    chat = await engine.create("Add 1 and 2", model="claude", effort="high")
    await engine.idle(chat)
    blocks = engine.asked[1].body["messages"][1]["content"]
    assert [block["type"] for block in blocks] == ["thinking", "tool_use"]
    assert engine.server.refusals == []


async def test_calls_that_the_provider_runs_are_not_run_here(engine: Engine) -> None:
    engine.server.queue(Reply(content=(Search("weather", "http://x", "Rain"), Say("It rains."))))
    engine.start()
    chat = await engine.create("Weather?", model="claude")
    view = await engine.idle(chat)
    (searched,) = calls_of(await engine.history(chat))
    assert searched.provider_executed
    assert await engine.calls(chat) == []
    assert view.chat.turn_steps == 1
    await engine.send(chat, "And tomorrow?")
    await engine.idle(chat)
    assert engine.server.refusals == []


async def test_our_ids_are_unique_and_the_providers_own_are_kept(engine: Engine) -> None:
    engine.server.queue(Reply(content=(Call("add", {"a": 1, "b": 2}, "theirs"),)), say("Three."))
    engine.start()
    chat = await engine.create("Add")
    await engine.idle(chat)
    (made,) = calls_of(await engine.history(chat))
    assert made.call_id.startswith("call_")
    assert len(made.call_id) <= 40
    assert made.provider_data == {"kind": "compatible", "id": "theirs"}
    assert engine.asked[1].body["messages"][-1]["tool_call_id"] == "theirs"


async def test_the_next_message_of_the_queue_follows_at_once(engine: Engine) -> None:
    chat = await engine.create("say: One.")
    for text in ("say: Two.", "say: Three."):
        await engine.send(chat, text)
    engine.start()
    view = await engine.idle(chat)
    assert [text for role, text in await engine.texts(chat) if role == "assistant"] == [
        "One.",
        "Two.",
        "Three.",
    ]
    assert view.chat.turn == 3
    rows = await engine.store.read(turns(chat))
    assert [(row.number, row.outcome) for row in rows] == [(3, "finished"), (2, "finished"), (1, "finished")]


async def test_a_turn_may_be_another_models(engine: Engine) -> None:
    engine.start()
    chat = await engine.create('call: add {"a": 1, "b": 2}\nsay: Three.')
    await engine.idle(chat)
    await engine.send(chat, "say: Four.", model="claude")
    await engine.idle(chat)
    await engine.send(chat, "say: Five.")
    await engine.idle(chat)
    assert [asked.format for asked in engine.asked] == ["openai", "openai", "anthropic", "openai"]
    assert engine.server.refusals == []


async def test_a_named_agent_has_its_instructions_model_and_tools(engine: Engine) -> None:
    adder = await engine.named_agent(
        "adder", instructions="You add.", model="claude", effort="low", tools=("add",)
    )
    engine.start()
    chat = await engine.create("call: look\nsay: {result}", agent=adder, instructions="Be brief.")
    await engine.idle(chat)
    body = engine.asked[0].body
    assert [block["text"] for block in body["system"]][:3] == [BASE, "You add.", "Be brief."]
    assert body["system"][3]["text"].startswith("This chat began on ")
    assert [tool["name"] for tool in body["tools"]] == ["add"]
    assert engine.asked[0].format == "anthropic"
    (result,) = await engine.results(chat)
    assert result.outcome == "failed"
    assert "There is no tool 'look'" in str(result.output)


async def test_a_chats_own_choice_counts_more_than_its_agents(engine: Engine) -> None:
    adder = await engine.named_agent("adder", model="claude")
    engine.start()
    chat = await engine.create("Hello", agent=adder, model="default")
    await engine.idle(chat)
    assert [asked.format for asked in engine.asked] == ["openai"]


async def test_the_tools_chosen_for_a_chat_are_all_it_has(engine: Engine) -> None:
    helper = await engine.named_agent("helper", tools=("add", "write"))
    engine.server.queue(call("write"), say("I see."))
    engine.start()
    chat = await engine.create("Hello", agent=helper, tools=["add", "look"])
    await engine.idle(chat)
    assert [tool["function"]["name"] for tool in engine.asked[0].body["tools"]] == ["add"]
    assert [result.outcome for result in await engine.results(chat)] == ["failed"]


async def test_the_price_list_is_not_loaded_on_the_loop(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: list[str] = []

    def load(self: Prices) -> None:
        threads.append(threading.current_thread().name)
        self.loaded = True

    monkeypatch.setattr(Prices, "load", load)
    engine.start()
    chat = await engine.create('call: add {"a": 1, "b": 2}\nsay: Three.', model="demo")
    await engine.idle(chat)
    # What it has nothing to say about does not wait for it.
    assert threads == []
    chat = await engine.create('call: add {"a": 1, "b": 2}\nsay: Three.', model="claude")
    await engine.idle(chat)
    assert len(threads) == 1
    assert threads[0] != threading.main_thread().name


async def test_tools_are_always_in_the_same_order(engine: Engine) -> None:
    given = tuple(
        ClientTool(name=name, description="A tool.", input_schema={"type": "object"}) for name in "zy"
    )
    mine = ClientTool(name="add", description="My own.", input_schema={"type": "object"})
    engine.start()
    chat = await engine.create("Hello", client_tools=(*given, mine))
    await engine.idle(chat)
    names = [tool["function"]["name"] for tool in engine.asked[0].body["tools"]]
    ours = [tool.name for tool in engine.tools if tool.name != "add"]
    assert names == [*ours, "z", "y", "add"]


async def test_each_request_begins_with_the_one_before(engine: Engine) -> None:
    """So that the provider's cache hits."""
    engine.start()
    chat = await engine.create('repeat 3: call: add {"a": 1, "b": 2}\nsay: Done.')
    await engine.idle(chat)
    await engine.send(chat, "say: And on.")
    await engine.idle(chat)
    messages = [asked.body["messages"] for asked in engine.asked]
    for before, after in pairwise(messages):
        assert after[: len(before)] == before
    assert len({str(asked.body["tools"]) for asked in engine.asked}) == 1


async def test_what_the_model_sees_is_what_history_says(engine: Engine) -> None:
    engine.server.queue(call("add", {"a": 20, "b": 22}), say("Found it."))
    engine.start()
    chat = await engine.create("What is the answer?")
    await engine.idle(chat)
    assert said_to_model(engine.asked[1]).endswith("What is the answer?\n42")


async def test_live_text_is_what_is_committed(engine: Engine) -> None:
    engine.server.queue(say("One two three four five six seven eight nine ten.", delay_seconds=0.002))
    chat = await engine.create("Count")
    async with engine.watch(chat) as live:
        engine.start()
        view = await engine.idle(chat)
        assert live.text == (await engine.texts(chat))[-1][1]
        assert [event.first for event in live.events] == list(range(1, len(live.events) + 1))
        (episode,) = {event.episode for event in live.events}
        assert episode.attempt == 1
        assert episode.history_version < view.chat.history_version


async def test_counters_and_gauges(engine: Engine, tools: Toolbox) -> None:
    worker = engine.start()
    chat = await engine.create('call: add {"a": 1, "b": 2}\ncall: broken\ncall: patient\nsay: Done.')
    await eventually(lambda: bool(tools.ledger))
    assert worker.held == 1
    assert b"holdfast_chats_running 1.0" in engine.metrics.exposition()
    tools.go().set()
    await engine.idle(chat)
    await eventually(lambda: worker.held == 0)
    shown = engine.metrics.exposition().decode()
    for line in (
        'holdfast_steps_total{model="default",outcome="finished"} 4.0',
        'holdfast_calls_total{outcome="succeeded"} 2.0',
        'holdfast_calls_total{outcome="failed"} 1.0',
        'holdfast_turns_total{outcome="finished"} 1.0',
        "holdfast_chats_running 0.0",
        "holdfast_step_seconds_count 4.0",
        "holdfast_leases_lost_total 0.0",
    ):
        assert line in shown, line
