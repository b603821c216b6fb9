"""Sub-agents through their tools, at work on the engine: started once, bound by what binds their parent, and
each end told once, by a result or by a notice."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from holdfast.chats.commands import Decide, Delete, Edit, Interrupt
from holdfast.core.chats import Settings
from holdfast.core.ids import ChatId
from holdfast.core.usage import Budget
from holdfast.store import choices
from holdfast.tools.contract import ToolError
from holdfast.tools.family import AgentLimits
from tests.providers.replies import Call, Status, call, calls, fails, say
from tests.tools.families import Scene, a_scene, spawn
from tests.worker.engine import OWNER, SETTINGS, STRANGER, eventually, is_settled

WAIT = call("wait_agents")


@pytest.fixture
async def scene(tmp_path: Path) -> AsyncIterator[Scene]:
    async with a_scene("sqlite", tmp_path) as scene:
        yield scene


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.heavy)])
async def scene_everywhere(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Scene]:
    url = "sqlite" if request.param == "sqlite" else request.getfixturevalue("postgres_url")
    async with a_scene(url, tmp_path) as scene:
        yield scene


async def settings_of(scene: Scene, chat_id: ChatId) -> Settings:
    found = await scene.engine.store.read(choices.settings(chat_id))
    assert found is not None
    return found


# Starting


async def test_children_work_beside_their_parent_and_are_waited_for(scene_everywhere: Scene) -> None:
    scene = scene_everywhere
    scene.engine.start()
    children = [spawn(f"say: result-{n}", label=f"part {n}") for n in range(3)]
    parent = await scene.parent(calls(*children), WAIT, say("All done."))
    await scene.engine.idle(parent)
    started = await scene.outputs(parent, "spawn_agent")
    found = await scene.children(parent)
    assert [output["agent_id"] for output in started] == [child.id for child in found]
    (ended,) = await scene.outputs(parent, "wait_agents")
    assert [(one["label"], one["status"]) for one in ended] == [(f"part {n}", "done") for n in range(3)]
    for n in range(3):
        assert await scene.times_told(parent, f"result-{n}") == 1
    assert (await scene.engine.texts(parent))[-1] == ("assistant", "All done.")
    chat = await scene.engine.chat(found[0].id)
    assert (chat.parent_id, chat.root_id, chat.owner_id) == (parent, parent, OWNER)


async def test_a_child_knows_its_task_and_nothing_else(scene: Scene) -> None:
    scene.engine.start()
    secret = "the parent's secret"
    parent = await scene.engine.create(scene.script(calls(spawn("say: fine")), WAIT) + secret)
    await scene.engine.idle(parent)
    child = await scene.child(parent)
    (asked,) = [asked for asked in scene.engine.asked if b"You are a sub-agent" in asked.raw]
    assert secret not in asked.raw.decode()
    assert await scene.engine.texts(child) == [("user", "say: fine"), ("assistant", "fine")]


async def test_a_repeated_call_finds_the_child_it_started(scene_everywhere: Scene) -> None:
    """As after a crash between the start of the child and the end of the call."""
    scene = scene_everywhere
    parent = await scene.quiet()
    first = await scene.call(parent, "spawn_agent", {"prompt": "x"}, "c1")
    again = await scene.call(parent, "spawn_agent", {"prompt": "x"}, "c1")
    other = await scene.call(parent, "spawn_agent", {"prompt": "x"}, "c2")
    assert first.output == again.output != other.output
    assert len(await scene.children(parent)) == 2


async def test_two_owners_of_a_chat_start_one_child(scene_everywhere: Scene) -> None:
    """One whose lease has ended may still be at it when the next one repeats the call."""
    scene = scene_everywhere
    parent = await scene.quiet()
    late = scene.engine.tools
    scene.use(scene.related())
    both = [scene.call(parent, "spawn_agent", {"prompt": "x"}, "c1")]
    scene.engine.tools = late
    both.append(scene.call(parent, "spawn_agent", {"prompt": "x"}, "c1"))
    one, other = await asyncio.gather(*both)
    assert one.output == other.output
    assert len(await scene.children(parent)) == 1


async def test_width_is_limited_also_for_calls_at_once(scene: Scene) -> None:
    scene.limits = AgentLimits(per_chat=3)
    scene.engine.start()
    parent = await scene.parent(calls(*[spawn("say: x") for _ in range(5)]), WAIT)
    await scene.engine.idle(parent)
    refused = [output for output in await scene.outputs(parent, "spawn_agent") if isinstance(output, str)]
    assert len(await scene.children(parent)) == 3
    assert len(refused) == 2
    assert "You have 3 sub-agents, which is the limit. Give them more work with message_agent" in refused[0]


async def test_depth_is_limited(scene: Scene) -> None:
    scene.limits = AgentLimits(depth=2)
    scene.engine.start()
    deepest = scene.script(calls(spawn("say: never")), say("I did it myself."))
    middle = scene.script(calls(spawn(deepest)), WAIT)
    root = await scene.parent(calls(spawn(middle)), WAIT)
    await scene.engine.idle(root)
    second = await scene.child(await scene.child(root))
    assert await scene.children(second) == []
    (refused,) = await scene.outputs(second, "spawn_agent")
    assert "Sub-agents may be 2 deep" in refused


async def test_sub_agents_can_be_switched_off(scene: Scene) -> None:
    scene.limits = AgentLimits(depth=0)
    with pytest.raises(ToolError, match="switched off"):
        await scene.call(await scene.quiet(), "spawn_agent", {"prompt": "x"})


@pytest.mark.parametrize(
    "given, complaint",
    [
        ({"model": "unheard"}, "There is no model unheard"),
        ({"agent": "nobody"}, "There is no named agent 'nobody'"),
        ({"tools": ["look", "lok"]}, "You have no tool 'lok'"),
        ({"isolation": "worktree"}, "has no worktrees"),
    ],
)
async def test_what_cannot_be_is_refused_in_words(
    scene: Scene, given: dict[str, object], complaint: str
) -> None:
    parent = await scene.quiet()
    with pytest.raises(ToolError, match=complaint):
        await scene.call(parent, "spawn_agent", {"prompt": "x", **given})
    assert await scene.children(parent) == []


# What a child may do


async def test_a_child_has_no_tool_that_its_parent_lacks(scene: Scene) -> None:
    reviewer = await scene.engine.named_agent("reviewer", tools=("look", "spawn_agent", "write"))
    parent = await scene.quiet(agent=reviewer, tools=["look", "spawn_agent", "put"])
    await scene.call(parent, "spawn_agent", {"prompt": "x"})
    with pytest.raises(ToolError, match="You have no tool 'put'"):
        await scene.call(parent, "spawn_agent", {"prompt": "x", "tools": ["put"]})
    child = await scene.child(parent)
    assert (await settings_of(scene, child)).tools == ["look", "spawn_agent"]
    scene.engine.start()
    await scene.engine.idle(child)
    (asked,) = [asked for asked in scene.engine.asked if b"You are a sub-agent" in asked.raw]
    assert [tool["function"]["name"] for tool in asked.body["tools"]] == ["look", "spawn_agent"]


async def test_a_child_keeps_to_the_policies_of_its_parent(scene: Scene) -> None:
    parent = await scene.quiet(tools={"write": "deny", "look": "ask"})
    await scene.call(parent, "spawn_agent", {"prompt": 'call: write {"name": "w"}', "tools": ["write", "look"]})
    await scene.call(parent, "spawn_agent", {"prompt": 'calls: look {"name": "l"}; shell {"name": "s"}'})
    limited, free = await scene.children(parent)
    below = await scene.call(limited.id, "spawn_agent", {"prompt": 'calls: write {}; put {"name": "p"}'})
    assert isinstance(below.output, dict)
    scene.engine.start()
    await scene.engine.idle(limited.id)
    (denied,) = await scene.engine.results(limited.id)
    assert denied.outcome == "denied"
    await scene.engine.waits(free.id)
    # What is asked there is asked at the top too.
    root = await scene.engine.asked_for(parent)
    assert {(asked.chat_id, asked.name, asked.kind) for asked in root} == {
        (free.id, "look", "approval"),
        (free.id, "shell", "approval"),
    }
    # And what was left out for a child is left out for its children.
    grandchild = ChatId(str(below.output["agent_id"]))
    await scene.engine.idle(grandchild)
    assert [result.outcome for result in await scene.engine.results(grandchild)] == ["denied", "failed"]
    for asked in root:
        await scene.engine.do(free.id, Decide(call_id=asked.call_id, verdict="approve", user_id=OWNER))
    await scene.engine.idle(free.id)
    assert sorted(scene.tools.ledger) == ["l", "s"]


async def test_a_child_goes_on_with_the_model_of_its_parent(scene: Scene) -> None:
    scene.engine.start()
    parent = await scene.parent(calls(spawn("say: x"), spawn("say: y", model="claude")), WAIT, model="default")
    await scene.engine.idle(parent)
    same, other = await scene.children(parent)
    assert (await scene.engine.chat(same.id)).model == "default"
    assert (await scene.engine.chat(other.id)).model == "claude"


async def test_a_child_as_a_named_agent(scene: Scene) -> None:
    await scene.engine.named_agent("poet", instructions="Rhyme.", model="claude", tools=("look", "write"))
    scene.engine.start()
    parent = await scene.parent(calls(spawn("say: x", agent="poet")), WAIT, model="default")
    await scene.engine.idle(parent)
    (asked,) = [asked for asked in scene.engine.asked if b"You are a sub-agent" in asked.raw]
    assert b"Rhyme." in asked.raw
    assert asked.format == "anthropic"
    assert [tool["name"] for tool in asked.body["tools"]] == ["look", "write"]


# Budgets


def test_a_cap_is_what_is_left_above() -> None:
    from holdfast.tools.spawning import AgentBudget, cap_of

    above = [Budget(tokens=1000, spent_tokens=400), Budget(tokens=900, cost_usd_micros=70, spent_usd_micros=20)]
    assert cap_of(None, []) is None
    assert cap_of(None, above) == Budget(tokens=600, cost_usd_micros=50)
    assert cap_of(AgentBudget(tokens=100), above) == Budget(tokens=100, cost_usd_micros=50)
    assert cap_of(AgentBudget(tokens=10_000), above) == Budget(tokens=600, cost_usd_micros=50)
    with pytest.raises(ToolError, match="The budget is spent"):
        cap_of(None, [*above, Budget(tokens=10, spent_tokens=10)])


async def test_a_family_stops_at_the_budget_of_its_root(scene_everywhere: Scene) -> None:
    """Eight children that would go on for ever; what is over is at most what was under way."""
    scene = scene_everywhere
    scene.engine.start()
    used = "usage: input=100 output=0"
    endless = "\n".join([used, 'call: look {"name": "again"}'] * 40)
    parent = await scene.parent(
        calls(*[spawn(endless) for _ in range(8)], usage={"input": 100, "output": 0}),
        call("wait_agents", usage={"input": 100, "output": 0}),
        budget=Budget(tokens=3000),
    )
    await scene.engine.idle(parent)
    children = await scene.children(parent)
    for child in children:
        await scene.engine.settled(child.id)
        budget = (await settings_of(scene, child.id)).budget
        assert budget is not None
        assert budget.tokens is not None
        assert budget.tokens <= 2900
    spent = (await scene.engine.chat(parent)).usage.total
    assert 3000 <= spent <= 3000 + 8 * 100


# Waiting


async def test_waiting_takes_no_place_and_says_so(scene: Scene) -> None:
    """With room for one agent at a time the chain of three comes to its end all the same."""
    scene.engine.start(replace(SETTINGS, max_chats=1, max_agents=1, max_per_user=1))
    lowest = scene.script(call("patient_read", {"name": "low"}), say("from below"))
    middle = scene.script(calls(spawn(lowest)), WAIT, say("from the middle"))
    root = await scene.parent(calls(spawn(middle)), WAIT, say("from the top"))
    await eventually(lambda: "low" in scene.tools.ledger)
    assert (await scene.engine.chat(root)).waiting == "children"
    assert (await scene.engine.chat(await scene.child(root))).waiting == "children"
    scene.tools.go("low").set()
    await scene.engine.idle(root)
    assert await scene.times_told(root, "from the middle") == 1
    assert await scene.times_told(root, "from below") == 0


async def test_waiting_for_some_and_not_for_long(scene: Scene) -> None:
    scene.engine.start()
    parent = await scene.quiet()
    quick = (await scene.call(parent, "spawn_agent", {"prompt": "say: quick"})).output
    slow = (await scene.call(parent, "spawn_agent", {"prompt": 'call: patient {"name": "s"}'})).output
    assert isinstance(quick, dict)
    assert isinstance(slow, dict)
    some = await scene.call(parent, "wait_agents", {"agent_ids": [quick["agent_id"], quick["agent_id"]]})
    assert [(one["status"], one["result"]) for one in some.output] == [("done", "quick")]
    assert [key.child_id for key in some.consumes] == [quick["agent_id"]]
    all_of_them = await scene.call(parent, "wait_agents", {"timeout_seconds": 0.2})
    assert [one["status"] for one in all_of_them.output] == ["done", "running"]
    assert [key.child_id for key in all_of_them.consumes] == [quick["agent_id"]]


async def test_nobody_to_wait_for(scene: Scene) -> None:
    assert (await scene.call(await scene.quiet(), "wait_agents")).output == []


async def test_two_calls_that_wait_tell_of_each_end_once(scene_everywhere: Scene) -> None:
    scene = scene_everywhere
    scene.engine.start()
    wait, result = Call("wait_agents"), Call("wait_agents", {"timeout_seconds": 60})
    children = [spawn(f"say: result-{n}") for n in range(4)]
    parent = await scene.parent(calls(*children), calls(wait, result), say("Done."))
    await scene.engine.idle(parent)
    for n in range(4):
        assert await scene.times_told(parent, f"result-{n}") == 1
    first, second = await scene.outputs(parent, "wait_agents")
    assert all("result" in one for one in first)
    assert all("read_agent shows what it said" in one["note"] for one in second)


async def test_many_long_results_are_cut_alike(scene: Scene) -> None:
    scene.engine.start()
    long = "say: " + "word " * 2000
    parent = await scene.parent(calls(*[spawn(f"{long} end-{n}.") for n in range(8)]), WAIT)
    await scene.engine.idle(parent)
    (waited,) = await scene.outputs(parent, "wait_agents")
    assert [one["result"].endswith(f"end-{n}.") for n, one in enumerate(waited)] == [True] * 8
    assert all("left out" in one["result"] for one in waited)
    child = (await scene.children(parent))[0]
    whole = await scene.call(parent, "read_agent", {"agent_id": child.id})
    assert "word " * 2000 + " end-0." in str(whole.output)


# Notices


async def test_who_does_not_wait_is_told_once_and_woken(scene_everywhere: Scene) -> None:
    scene = scene_everywhere
    scene.engine.start()
    held = scene.script(call("patient", {"name": "held"}), say("the result"))
    parent = await scene.parent(calls(spawn(held, label="slow one")), say("I go on."), say("I heard."))
    await scene.engine.idle(parent)
    scene.tools.go("held").set()
    await scene.engine.until(parent, lambda view: view.chat.turn == 2 and is_settled(view))
    (told,) = await scene.notices(parent)
    assert told.startswith("The sub-agent 'slow one' (")
    assert told.endswith("is done. Its result:\n\nthe result")
    assert (await scene.engine.texts(parent))[-1] == ("assistant", "I heard.")


async def test_a_busy_parent_is_told_before_its_next_step(scene: Scene) -> None:
    scene.engine.start()
    parent = await scene.parent(
        calls(spawn("say: early")), call("patient", {"name": "p"}), say("I know already.")
    )
    await scene.engine.idle(await _child_of(scene, parent))
    await eventually(lambda: "p" in scene.tools.ledger)
    await scene.engine.until(parent, lambda view: len(view.inbox) == 1)
    scene.tools.go("p").set()
    view = await scene.engine.idle(parent)
    assert view.chat.turn == 1
    assert len(await scene.notices(parent)) == 1


async def test_a_notice_that_waits_is_withdrawn_when_a_call_tells_of_the_end(scene: Scene) -> None:
    """The child ends while its parent does something else; then the parent waits for it after all."""
    scene.engine.start()
    parent = await scene.parent(
        calls(spawn("say: early")),
        calls(Call("patient", {"name": "p"}), Call("subagent_result", {"task_id": "x"})),
        WAIT,
    )
    await scene.engine.until(parent, lambda view: len(view.inbox) == 1)
    told = await scene.call(parent, "wait_agents")
    assert [one["result"] for one in told.output] == ["early"]
    assert len(told.consumes) == 1
    scene.tools.go("p").set()
    await scene.engine.idle(parent)
    assert await scene.times_told(parent, "early") == 1


async def _child_of(scene: Scene, parent: ChatId) -> ChatId:
    await scene.engine.until(parent, lambda view: view.chat.message_count > 2)
    return await scene.child(parent)


async def test_a_failed_child_is_told_of_and_revived_by_a_message(scene: Scene) -> None:
    scene.engine.start()
    child = scene.script(fails(Status(401)), say("now it works"))
    parent = await scene.parent(calls(spawn(child, label="weak")), WAIT, say("I see."))
    await scene.engine.idle(parent)
    (waited,) = await scene.outputs(parent, "wait_agents")
    assert waited[0]["status"] == "failed"
    assert waited[0]["error"].endswith("message_agent lets it try again.")
    weak = await scene.child(parent)
    assert (await scene.engine.chat(weak)).status == "error"
    await scene.call(parent, "message_agent", {"agent_id": weak, "text": "say: now it works"})
    await scene.engine.idle(weak)
    await scene.engine.until(parent, lambda view: view.chat.turn == 2 and is_settled(view))
    assert await scene.times_told(parent, "now it works") == 1


# Telling and stopping


async def test_a_message_arrives_once_and_joins_what_runs(scene: Scene) -> None:
    scene.engine.start()
    parent = await scene.quiet()
    await scene.call(parent, "spawn_agent", {"prompt": 'call: patient {"name": "p"}'})
    child = await scene.child(parent)
    await eventually(lambda: "p" in scene.tools.ledger)
    for _ in range(2):
        told = await scene.call(parent, "message_agent", {"agent_id": child, "text": "say: and this"}, "m1")
    scene.tools.go("p").set()
    view = await scene.engine.idle(child)
    assert view.chat.turn == 1
    assert [said for said in await scene.engine.texts(child) if said[0] == "user"][1:] == [
        ("user", "say: and this")
    ]
    assert "was told" in str(told.output)


async def test_the_queue_of_a_child_is_limited(scene: Scene) -> None:
    scene.limits = AgentLimits(queue=2)
    parent = await scene.quiet()
    await scene.call(parent, "spawn_agent", {"prompt": "x"})
    child = await scene.child(parent)
    for _ in range(2):
        await scene.call(parent, "message_agent", {"agent_id": child, "text": "more"})
    with pytest.raises(ToolError, match="2 messages wait already"):
        await scene.call(parent, "message_agent", {"agent_id": child, "text": "more"})


async def test_a_stopped_child_and_all_below_it_rest(scene_everywhere: Scene) -> None:
    scene = scene_everywhere
    scene.engine.start()
    low = 'call: patient {"name": "low"}'
    middle = scene.script(calls(spawn(low), spawn(low)), WAIT)
    parent = await scene.quiet()
    await scene.call(parent, "spawn_agent", {"prompt": middle, "label": "middle"})
    child = await scene.child(parent)
    await eventually(lambda: scene.tools.ledger == ["low", "low"])
    await scene.engine.send(child, "one that waits")
    stopped = await scene.call(parent, "stop_agent", {"agent_id": child}, "s1")
    assert isinstance(stopped.output, dict)
    assert (stopped.output["label"], stopped.output["status"]) == ("middle", "stopped")
    for one in (child, *[below.id for below in await scene.children(child)]):
        view = await scene.engine.idle(one)
        assert view.queue == ()
    # The ends of those below wake nobody who was stopped.
    await scene.engine.until(child, lambda view: len(view.inbox) == 2)
    assert (await scene.engine.idle(child)).chat.turn == 1
    # Told to go on it hears of them; the old call repeated stops it no more.
    await scene.call(parent, "message_agent", {"agent_id": child, "text": 'call: patient {"name": "on"}'})
    await eventually(lambda: "on" in scene.tools.ledger)
    await scene.call(parent, "stop_agent", {"agent_id": child}, "s1", seconds=0.1)
    assert (await scene.engine.chat(child)).status == "running"
    assert len(await scene.notices(child)) == 2


async def test_who_stops_a_child_is_not_woken_to_hear_of_it(scene: Scene) -> None:
    scene.engine.start()
    parent = await scene.parent(calls(spawn('call: patient {"name": "p"}')), say("Started."))
    await scene.engine.idle(parent)
    await eventually(lambda: "p" in scene.tools.ledger)
    child = await scene.child(parent)
    await scene.engine.send(parent, scene.script(say(""), say(""), call("stop_agent", {"agent_id": child})))
    view = await scene.engine.until(parent, lambda view: view.chat.turn == 2 and is_settled(view))
    (stopped,) = await scene.outputs(parent, "stop_agent")
    assert stopped["status"] == "stopped"
    assert (view.inbox, await scene.notices(parent)) == ((), [])


async def test_interrupting_a_parent_leaves_its_children_at_work(scene: Scene) -> None:
    scene.engine.start()
    held = scene.script(call("patient", {"name": "held"}), say("the result"))
    parent = await scene.parent(calls(spawn(held)), WAIT, say("I heard."))
    await eventually(lambda: "held" in scene.tools.ledger)
    await scene.engine.until(parent, lambda view: any(call.name == "wait_agents" for call in view.calls))
    await scene.engine.do(parent, Interrupt())
    await scene.engine.idle(parent)
    child = await scene.child(parent)
    assert (await scene.engine.chat(child)).status == "running"
    scene.tools.go("held").set()
    await scene.engine.until(parent, lambda view: view.chat.turn == 2 and is_settled(view))
    assert await scene.times_told(parent, "the result") == 1


async def test_an_edit_stops_what_was_started_after_it(scene: Scene) -> None:
    scene.engine.start()
    parent = await scene.parent(calls(spawn('call: patient {"name": "p"}')), WAIT)
    await eventually(lambda: "p" in scene.tools.ledger)
    (first, *_) = await scene.engine.history(parent)
    edited = Edit(message_id=first.id, parts=first.parts, created_by=OWNER)
    await scene.engine.do(parent, replace(edited, parts=()) if not first.parts else edited)
    old = (await scene.children(parent))[0].id
    assert (await scene.engine.idle(old)).chat.turn == 1


async def test_a_deleted_child_is_told_of_and_a_deleted_parent_takes_it_along(scene: Scene) -> None:
    scene.engine.start()
    parent = await scene.parent(calls(spawn('call: patient {"name": "p"}')), say("Go."), say("I see."))
    await scene.engine.idle(parent)
    await eventually(lambda: "p" in scene.tools.ledger)
    await scene.engine.do(await scene.child(parent), Delete())
    await scene.engine.until(parent, lambda view: view.chat.turn == 2 and is_settled(view))
    (told,) = await scene.notices(parent)
    assert told.endswith("was deleted.")
    await scene.call(parent, "spawn_agent", {"prompt": 'call: patient {"name": "q"}'})
    child = await scene.child(parent)
    await eventually(lambda: "q" in scene.tools.ledger)
    await scene.engine.do(parent, Delete())
    assert await scene.engine.store.view(child) is None
    await eventually(lambda: "q" in scene.tools.cancelled)


# Looking


async def test_listing_and_reading(scene: Scene) -> None:
    scene.engine.start()
    parent = await scene.parent(calls(spawn('call: look {"name": "l"}\nsay: seen', label="eyes")), WAIT)
    await scene.engine.idle(parent)
    child = await scene.child(parent)
    (listed,) = (await scene.call(parent, "list_agents")).output
    assert listed == {"agent_id": child, "label": "eyes", "status": "done"}
    read = await scene.call(parent, "read_agent", {"agent_id": child})
    assert isinstance(read.output, dict)
    assert read.output["messages"] == [
        {"role": "user", "text": 'call: look {"name": "l"}\nsay: seen'},
        {"role": "assistant", "calls": ["look"]},
        {"role": "assistant", "text": "seen"},
    ]


@pytest.mark.parametrize(
    "name", ["wait_agents", "message_agent", "stop_agent", "read_agent", "subagent_status", "subagent_result"]
)
async def test_other_chats_are_no_sub_agents(scene: Scene, name: str) -> None:
    parent, other, foreign = await scene.quiet(), await scene.quiet(), await scene.quiet(owner=STRANGER)
    await scene.call(other, "spawn_agent", {"prompt": "x"})
    for agent_id in (parent, other, foreign, await scene.child(other), "no id", "x" * 36):
        given = {
            "wait_agents": {"agent_ids": [agent_id]},
            "message_agent": {"agent_id": agent_id, "text": "hello"},
        }.get(name, {"task_id" if name.startswith("subagent") else "agent_id": agent_id})
        with pytest.raises(ToolError, match="You have no sub-agent"):
            await scene.call(parent, name, given)


async def test_a_grandchild_is_of_the_family(scene: Scene) -> None:
    root = await scene.quiet()
    await scene.call(root, "spawn_agent", {"prompt": "x"})
    child = await scene.child(root)
    await scene.call(child, "spawn_agent", {"prompt": "y"})
    below = await scene.child(child)
    assert "was told" in str((await scene.call(root, "message_agent", {"agent_id": below, "text": "z"})).output)
    with pytest.raises(ToolError, match="You have no sub-agent"):
        await scene.call(child, "read_agent", {"agent_id": root})
