"""Sub-agents are started once, within their parent's limits: tools, policies, budgets."""

import asyncio

import pytest

from holdfast.chats.commands import Decide
from holdfast.core.chats import Settings
from holdfast.core.ids import ChatId
from holdfast.core.usage import Budget
from holdfast.store import settings_rules
from holdfast.tools.contract import ToolError
from holdfast.tools.family import AgentLimits
from holdfast.tools.spawn import AgentBudget, cap_of
from tests.providers.replies import call, calls, say
from tests.tools.families import AT_REST, WAIT, Scene, spawn
from tests.worker.engine import OWNER


async def settings_of(scene: Scene, chat_id: ChatId) -> Settings:
    found = await scene.engine.store.read(settings_rules.settings(chat_id))
    assert found is not None
    return found


# Starting


async def test_children_work_beside_their_parent_and_are_waited_for(scene_everywhere: Scene) -> None:
    scene = scene_everywhere
    scene.start(notice_seconds=AT_REST)
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
    scene.start()
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
    early = scene.engine.tools
    scene.use(scene.related())
    one, other = await asyncio.gather(
        scene.call(parent, "spawn_agent", {"prompt": "x"}, "c1", early),
        scene.call(parent, "spawn_agent", {"prompt": "x"}, "c1"),
    )
    assert one.output == other.output
    assert len(await scene.children(parent)) == 1


async def test_width_is_limited_also_for_calls_at_once(scene: Scene) -> None:
    scene.limits = AgentLimits(per_chat=3)
    scene.start()
    parent = await scene.parent(calls(*[spawn("say: x") for _ in range(5)]), WAIT)
    await scene.engine.idle(parent)
    refused = [output for output in await scene.outputs(parent, "spawn_agent") if isinstance(output, str)]
    assert len(await scene.children(parent)) == 3
    assert len(refused) == 2
    assert "You have 3 sub-agents, which is the limit. Give them more work with message_agent" in refused[0]


async def test_depth_is_limited(scene: Scene) -> None:
    scene.limits = AgentLimits(depth=2)
    scene.start(notice_seconds=AT_REST)
    deepest = scene.script(calls(spawn("say: never")), say("I did it myself."))
    middle = scene.script(calls(spawn(deepest)), WAIT)
    root = await scene.parent(calls(spawn(middle)), WAIT)
    await scene.engine.idle(root)
    second = await scene.child(await scene.child(root))
    assert await scene.children(second) == []
    (refused,) = await scene.outputs(second, "spawn_agent")
    assert "Sub-agents may be nested 2 deep" in refused


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
    scene.start()
    await scene.engine.idle(child)
    (asked,) = [asked for asked in scene.engine.asked if b"You are a sub-agent" in asked.raw]
    assert [tool["function"]["name"] for tool in asked.body["tools"]] == ["look", "spawn_agent"]


async def test_a_child_keeps_to_the_policies_of_its_parent(scene: Scene) -> None:
    parent = await scene.quiet(tools={"write": "deny", "look": "ask"})
    limits = {"tools": ["write", "look", "spawn_agent"]}
    await scene.call(parent, "spawn_agent", {"prompt": 'call: write {"name": "w"}', **limits})
    await scene.call(parent, "spawn_agent", {"prompt": 'calls: look {"name": "l"}; shell {"name": "s"}'})
    limited, free = await scene.children(parent)
    below = await scene.call(limited.id, "spawn_agent", {"prompt": 'calls: write {}; put {"name": "p"}'})
    scene.start()
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
    scene.start()
    both = calls(spawn("say: x"), spawn("say: y", model="claude"))
    parent = await scene.parent(both, WAIT, model="default")
    await scene.engine.idle(parent)
    same, other = await scene.children(parent)
    assert (await scene.engine.chat(same.id)).model == "default"
    assert (await scene.engine.chat(other.id)).model == "claude"


async def test_a_child_as_a_named_agent(scene: Scene) -> None:
    await scene.engine.named_agent("poet", instructions="Rhyme.", model="claude", tools=("look", "write"))
    scene.start()
    parent = await scene.parent(calls(spawn("say: x", agent="poet")), WAIT, model="default")
    await scene.engine.idle(parent)
    (asked,) = [asked for asked in scene.engine.asked if b"You are a sub-agent" in asked.raw]
    assert b"Rhyme." in asked.raw
    assert asked.format == "anthropic"
    assert [tool["name"] for tool in asked.body["tools"]] == ["look", "write"]


# Budgets


def test_a_cap_is_what_is_left_above() -> None:
    above = [Budget(tokens=1000, spent_tokens=400), Budget(cost_usd_micros=70, spent_usd_micros=20)]
    assert cap_of(None, []) is None
    assert cap_of(None, above) == Budget(tokens=600, cost_usd_micros=50)
    assert cap_of(AgentBudget(tokens=100), above) == Budget(tokens=100, cost_usd_micros=50)
    assert cap_of(AgentBudget(tokens=10_000), above) == Budget(tokens=600, cost_usd_micros=50)
    with pytest.raises(ToolError, match="The budget is spent"):
        cap_of(None, [*above, Budget(tokens=10, spent_tokens=10)])


async def test_a_family_stops_at_the_budget_of_its_root(scene_everywhere: Scene) -> None:
    """Eight children that would go on for ever; what is over is at most what was under way."""
    scene = scene_everywhere
    scene.start(notice_seconds=AT_REST)
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
