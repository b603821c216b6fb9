"""Each end of a sub-agent is reported once: by the result of a call that waits for it, or by a notice."""

from holdfast.core.ids import ChatId
from holdfast.tools.agents import Agents, WaitAgents
from holdfast.tools.contract import ToolAnswer, ToolContext
from holdfast.tools.registry import ToolRegistry
from tests.providers.replies import Call, Status, call, calls, fails, say
from tests.tools.families import AT_ONCE, AT_REST, WAIT, Scene, spawn
from tests.worker.engine import eventually, is_settled
from tests.worker.toolbox import Named, tool

# Waiting


async def test_waiting_takes_no_place_and_says_so(scene: Scene) -> None:
    """With room for one agent at a time the chain of three comes to its end all the same."""
    scene.start(max_chats=1, max_agents=1, max_per_user=1)
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


async def test_who_only_waits_is_handed_over_at_once(scene: Scene) -> None:
    """A stop gives running calls their time, but waiting can be gone on with by anybody."""
    chats = scene.start(notice_seconds=AT_REST, max_agents=0, grace_seconds=600.0)
    scene.start(notice_seconds=AT_REST, max_chats=0)
    held = scene.script(call("patient", {"name": "held"}), say("the result"))
    parent = await scene.parent(calls(spawn(held)), WAIT)
    await scene.engine.until(parent, lambda view: any(call.name == "wait_agents" for call in view.calls))
    await scene.engine.stop(chats)
    scene.start(notice_seconds=AT_REST, max_agents=0)
    scene.tools.go("held").set()
    await scene.engine.idle(parent)
    assert await scene.times_told(parent, "the result") == 1


async def test_waiting_for_some_and_not_for_long(scene: Scene) -> None:
    scene.start()
    parent = await scene.busy()
    quick = (await scene.call(parent, "spawn_agent", {"prompt": "say: quick"})).output
    await scene.call(parent, "spawn_agent", {"prompt": 'call: patient {"name": "s"}'})
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
    scene.start(notice_seconds=AT_REST)
    wait, result = Call("wait_agents"), Call("wait_agents", {"timeout_seconds": 60})
    children = [spawn(f"say: result-{n}", label=f"part {n}") for n in range(4)]
    parent = await scene.parent(calls(*children), calls(wait, result), say("Done."))
    await scene.engine.idle(parent)
    for n in range(4):
        assert await scene.times_told(parent, f"result-{n}") == 1
    first, second = await scene.outputs(parent, "wait_agents")
    assert all("result" in one for one in first)
    assert all("read_agent shows what it said" in one["note"] for one in second)


async def test_all_that_nobody_was_told_of_is_told(scene: Scene) -> None:
    """A sub-agent that was given more to do before anybody asked what it had done."""
    scene.start(notice_seconds=AT_REST)
    parent = await scene.busy()
    prompts = [scene.script(say("the first")), scene.script(say("the second"))]
    await scene.call(parent, "spawn_agent", {"prompt": prompts[0]})
    child = await scene.child(parent)
    await scene.engine.idle(child)
    await scene.call(parent, "message_agent", {"agent_id": child, "text": prompts[1]})
    await scene.engine.until(child, lambda view: view.chat.turn == 2 and is_settled(view))
    told = await scene.call(parent, "wait_agents")
    assert told.output[0]["result"] == "the first\n\nthe second"
    assert [key.turn for key in told.consumes] == [1, 2]


async def test_many_long_results_are_cut_alike(scene: Scene) -> None:
    scene.start(notice_seconds=AT_REST)
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
    scene.start()
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
    scene.start(notice_seconds=AT_ONCE)
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
    """The child ends while its parent does something else, which then turns out to be waiting for it."""
    agents = Agents(scene.family)

    async def late(context: ToolContext, given: Named) -> ToolAnswer:
        await scene.tools.go("late").wait()
        return await agents.wait(context, WaitAgents())

    scene.engine.tools = ToolRegistry([*scene.engine.tools, tool("late_wait", late, effect="read")])
    scene.start(notice_seconds=AT_ONCE)
    child = scene.script(say("the result"))
    parent = await scene.parent(calls(spawn(child), Call("late_wait")), say("I know."))
    await scene.engine.until(parent, lambda view: len(view.inbox) == 1)
    scene.tools.go("late").set()
    view = await scene.engine.idle(parent)
    assert (view.chat.turn, view.inbox) == (1, ())
    assert await scene.times_told(parent, "the result") == 1
    assert await scene.notices(parent) == []


async def _child_of(scene: Scene, parent: ChatId) -> ChatId:
    await scene.engine.until(parent, lambda view: view.chat.message_count > 2)
    return await scene.child(parent)


async def test_a_failed_child_is_told_of_and_revived_by_a_message(scene: Scene) -> None:
    scene.start(notice_seconds=AT_REST)
    child, again = scene.script(fails(Status(401))), scene.script(say("now it works"))
    parent = await scene.parent(calls(spawn(child, label="weak")), WAIT, say("I see."))
    await scene.engine.idle(parent)
    (waited,) = await scene.outputs(parent, "wait_agents")
    assert waited[0]["status"] == "failed"
    assert waited[0]["error"].endswith("message_agent lets it try again.")
    weak = await scene.child(parent)
    assert (await scene.engine.chat(weak)).status == "error"
    await scene.call(parent, "message_agent", {"agent_id": weak, "text": again})
    await scene.engine.idle(weak)
    await scene.engine.until(parent, lambda view: view.chat.turn == 2 and is_settled(view))
    assert await scene.times_told(parent, "now it works") == 1
