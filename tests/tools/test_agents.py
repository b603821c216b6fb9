"""What a chat may do with sub-agents that it has: tell, stop, list and read them; others do not exist."""

import asyncio

import pytest

from holdfast.chats.commands import Delete, Edit, HoldQueued, Interrupt
from holdfast.chats.view import Queued
from holdfast.core.parts import Text
from holdfast.tools.contract import ToolError
from holdfast.tools.family import AgentLimits
from tests.providers.replies import call, calls, say
from tests.tools.families import AT_REST, WAIT, Scene, spawn
from tests.worker.engine import OWNER, STRANGER, eventually, is_settled

# Telling and stopping


async def test_a_message_arrives_once_and_joins_what_runs(scene: Scene) -> None:
    scene.start()
    parent = await scene.busy()
    await scene.call(parent, "spawn_agent", {"prompt": 'call: patient {"name": "p"}'})
    child = await scene.child(parent)
    await eventually(lambda: "p" in scene.tools.ledger)
    told = [
        await scene.call(parent, "message_agent", {"agent_id": child, "text": "say: and this"}, "m1")
        for _ in range(2)
    ]
    scene.tools.go("p").set()
    view = await scene.engine.idle(child)
    assert view.chat.turn == 1
    assert [said for said in await scene.engine.texts(child) if said[0] == "user"][1:] == [
        ("user", "say: and this")
    ]
    assert told[0].output == told[1].output == 'call: patient {"name": "p"} was told.'


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
    scene.start()
    low = 'call: patient {"name": "low"}'
    middle = scene.script(calls(spawn(low), spawn(low)), WAIT)
    parent = await scene.busy()
    await scene.call(parent, "spawn_agent", {"prompt": middle, "label": "middle"})
    child = await scene.child(parent)
    await eventually(lambda: scene.tools.ledger.count("low") == 2)
    await scene.engine.send(child, "one that waits")
    stopped = await scene.call(parent, "stop_agent", {"agent_id": child}, "s1")
    assert (stopped.output["label"], stopped.output["status"]) == ("middle", "stopped")
    for one in (child, *[below.id for below in await scene.children(child)]):
        view = await scene.engine.idle(one)
        assert view.queue == ()
    # The ends of those below wake nobody who was stopped.
    await scene.engine.until(child, lambda view: len(view.inbox) == 2)
    assert (await scene.engine.idle(child)).chat.turn == 1
    # Told to go on it hears of them; the old call repeated stops it no more.
    further = scene.script(call("patient", {"name": "on"}))
    await scene.call(parent, "message_agent", {"agent_id": child, "text": further})
    await eventually(lambda: "on" in scene.tools.ledger)
    assert len(await scene.notices(child)) == 2
    again = asyncio.create_task(scene.call(parent, "stop_agent", {"agent_id": child}, "s1"))
    await asyncio.wait({again}, timeout=0.5)
    assert (await scene.engine.chat(child)).status == "running"
    scene.tools.go("on").set()
    await again


async def test_one_that_rests_is_not_set_going_by_the_stop_of_those_below_it(scene: Scene) -> None:
    scene.start()
    parent = await scene.busy()
    middle = scene.script(calls(spawn('call: patient {"name": "low"}')), say("Started."))
    await scene.call(parent, "spawn_agent", {"prompt": middle})
    child = await scene.child(parent)
    await scene.engine.idle(child)
    await eventually(lambda: "low" in scene.tools.ledger)
    await scene.call(parent, "stop_agent", {"agent_id": child})
    view = await scene.engine.until(child, lambda view: bool(view.inbox) or view.chat.turn > 1)
    assert (view.chat.status, view.chat.turn) == ("idle", 1)
    # Told to go on it hears of it.
    await scene.call(parent, "message_agent", {"agent_id": child, "text": scene.script(say("I see."))})
    await scene.engine.until(child, lambda view: view.chat.turn == 2 and is_settled(view))
    assert len(await scene.notices(child)) == 1


@pytest.mark.parametrize("by", ["stop", "edit"])
async def test_what_somebody_holds_in_the_queue_of_a_stopped_child_never_starts(
    scene_everywhere: Scene, by: str
) -> None:
    scene = scene_everywhere
    scene.start()
    parent = await scene.parent(calls(spawn('call: patient {"name": "p"}')), say("Started."))
    await eventually(lambda: "p" in scene.tools.ledger)
    child = await scene.child(parent)
    waits = (await scene.engine.send(child, "later")).answer
    assert isinstance(waits, Queued)
    await scene.engine.do(child, HoldQueued(item_id=waits.id))
    scene.tools.go("p").set()
    assert len((await scene.engine.idle(child)).queue) == 1
    if by == "stop":
        await scene.call(parent, "stop_agent", {"agent_id": child})
    else:
        (first, *_) = await scene.engine.history(parent)
        again = Text(text=scene.script(say("Never mind.")))
        await scene.engine.do(parent, Edit(message_id=first.id, parts=(again,), created_by=OWNER))
    view = await scene.engine.idle(child)
    assert (view.queue, view.chat.turn) == ((), 1)


async def test_who_stops_a_child_is_not_woken_to_hear_of_it(scene: Scene) -> None:
    scene.start()
    parent = await scene.parent(calls(spawn('call: patient {"name": "p"}')), say("Started."))
    await scene.engine.idle(parent)
    await eventually(lambda: "p" in scene.tools.ledger)
    child = await scene.child(parent)
    await scene.engine.send(parent, scene.script(call("stop_agent", {"agent_id": child})))
    view = await scene.engine.until(parent, lambda view: view.chat.turn == 2 and is_settled(view))
    (stopped,) = await scene.outputs(parent, "stop_agent")
    assert stopped["status"] == "stopped"
    assert (view.inbox, await scene.notices(parent)) == ((), [])


async def test_interrupting_a_parent_leaves_its_children_at_work(scene: Scene) -> None:
    scene.start()
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
    scene.start()
    parent = await scene.parent(calls(spawn('call: patient {"name": "p"}')), WAIT)
    await eventually(lambda: "p" in scene.tools.ledger)
    (first, *_) = await scene.engine.history(parent)
    again = Text(text=scene.script(say("Never mind.")))
    await scene.engine.do(parent, Edit(message_id=first.id, parts=(again,), created_by=OWNER))
    old = (await scene.children(parent))[0].id
    assert (await scene.engine.idle(old)).chat.turn == 1


async def test_an_edit_sets_nobody_going_that_rested_already(scene: Scene) -> None:
    scene.start()
    middle = scene.script(calls(spawn('call: patient {"name": "low"}')), say("Started."))
    parent = await scene.parent(calls(spawn(middle)), WAIT, say("Well."))
    await scene.engine.idle(parent)
    await eventually(lambda: "low" in scene.tools.ledger)
    (first, *_) = await scene.engine.history(parent)
    again = Text(text=scene.script(say("Never mind.")))
    await scene.engine.do(parent, Edit(message_id=first.id, parts=(again,), created_by=OWNER))
    child = (await scene.children(parent))[0].id
    view = await scene.engine.until(child, lambda view: bool(view.inbox) or view.chat.turn > 1)
    assert (view.chat.status, view.chat.turn) == ("idle", 1)


async def test_one_that_is_started_just_after_the_edit_is_stopped_too(scene: Scene) -> None:
    scene.start()
    parent = await scene.busy()
    view = await scene.engine.store.view(parent)
    assert view is not None
    (first, *_) = await scene.engine.history(parent)
    again = Text(text=scene.script(call("patient", {"name": "anew"})))
    await scene.engine.do(parent, Edit(message_id=first.id, parts=(again,), created_by=OWNER))
    late = {"prompt": scene.script(call("patient", {"name": "late"}))}
    await scene.call(parent, "spawn_agent", late, view.calls[0].call_id)
    assert (await scene.engine.idle(await scene.child(parent))).chat.turn == 1


async def test_a_deleted_child_is_told_of_and_a_deleted_parent_takes_it_along(scene: Scene) -> None:
    scene.start()
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
    scene.start(notice_seconds=AT_REST)
    parent = await scene.parent(calls(spawn('call: look {"name": "l"}\nsay: seen', label="eyes")), WAIT)
    await scene.engine.idle(parent)
    child = await scene.child(parent)
    (listed,) = (await scene.call(parent, "list_agents")).output
    assert listed == {"agent_id": child, "label": "eyes", "status": "done"}
    read = await scene.call(parent, "read_agent", {"agent_id": child})
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
    told = await scene.call(root, "message_agent", {"agent_id": below, "text": "z"})
    assert "was told" in str(told.output)
    with pytest.raises(ToolError, match="You have no sub-agent"):
        await scene.call(child, "read_agent", {"agent_id": root})
