"""Sub-agents under their other names: a task, its status, its result."""

import re
from datetime import datetime

from tests.providers.replies import Call, Status, call, calls, fails, say
from tests.tools.families import AT_REST, Scene, spawn
from tests.worker.engine import eventually

ISO = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")


async def test_a_task_is_a_sub_agent(scene: Scene) -> None:
    parent = await scene.quiet()
    wanted = {"input": "say: x", "label": "a task"}
    started = (await scene.call(parent, "spawn_subagent", wanted, "c1")).output
    again = (await scene.call(parent, "spawn_subagent", wanted, "c1")).output
    child = await scene.child(parent)
    assert started == again
    assert (started["task_id"], started["chat_id"], started["status"]) == (child, child, "pending")
    assert ISO.fullmatch(started["created_at"])
    (listed,) = (await scene.call(parent, "list_agents")).output
    assert (listed["agent_id"], listed["label"]) == (child, "a task")


async def test_how_far_it_is_and_what_came_of_it(scene_everywhere: Scene) -> None:
    scene = scene_everywhere
    scene.start(notice_seconds=AT_REST)
    parent = await scene.busy()
    held = scene.script(call("patient", {"name": "held"}), say("the result\nof it"))
    task = {"task_id": (await scene.call(parent, "spawn_subagent", {"input": held})).output["task_id"]}
    await eventually(lambda: "held" in scene.tools.ledger)
    running = (await scene.call(parent, "subagent_status", task)).output
    assert (running["status"], running["finished_at"]) == ("running", None)
    assert running["elapsed_seconds"] >= 0
    assert (await scene.call(parent, "subagent_result", task)).output == "not ready"
    scene.tools.go("held").set()
    await scene.engine.idle(await scene.child(parent))
    ended = (await scene.call(parent, "subagent_status", task)).output
    assert ended["status"] == "completed"
    # The summary of the turn, once it is made.
    assert ended["output_summary"] in ("the result of it", "the result")
    assert datetime.fromisoformat(ended["finished_at"]).tzinfo is not None
    result = await scene.call(parent, "subagent_result", task)
    assert result.output["output"] == "the result\nof it"
    assert result.output["token_usage"]["total"] > 0
    assert [key.child_id for key in result.consumes] == [task["task_id"]]


async def test_other_endings(scene: Scene) -> None:
    scene.start(notice_seconds=AT_REST)
    parent = await scene.busy()
    broken = scene.script(fails(Status(401)))
    failed = {"task_id": (await scene.call(parent, "spawn_subagent", {"input": broken})).output["task_id"]}
    await scene.engine.failed(failed["task_id"])
    assert (await scene.call(parent, "subagent_status", failed)).output["status"] == "failed"
    result = (await scene.call(parent, "subagent_result", failed)).output
    assert result["output"] == ""
    assert "refused the key" in result["error"]
    held = {"input": 'call: patient {"name": "held"}'}
    stopped = {"task_id": (await scene.call(parent, "spawn_subagent", held)).output["task_id"]}
    await eventually(lambda: "held" in scene.tools.ledger)
    await scene.call(parent, "stop_agent", {"agent_id": stopped["task_id"]})
    assert (await scene.call(parent, "subagent_status", stopped)).output["status"] == "cancelled"


async def test_a_result_is_told_once_and_asked_for_as_often_as_one_likes(scene: Scene) -> None:
    scene.start(notice_seconds=AT_REST)
    result = Call("subagent_result")
    child = scene.script(say("the result"))
    parent = await scene.parent(calls(spawn(child)), call("patient", {"name": "p"}))
    await eventually(lambda: "p" in scene.tools.ledger)
    task = {"task_id": await scene.child(parent)}
    await scene.engine.idle(task["task_id"])
    # Both in one step: the first tells of the end, the second is asked for the same.
    asked = scene.script(
        calls(Call("wait_agents"), Call(result.name, task)), call(result.name, task), say("Enough.")
    )
    await scene.engine.send(parent, asked, "steer")
    scene.tools.go("p").set()
    await scene.engine.idle(parent)
    (waited,) = await scene.outputs(parent, "wait_agents")
    assert waited[0]["result"] == "the result"
    outputs = await scene.outputs(parent, result.name)
    assert [output["output"] for output in outputs] == ["the result", "the result"]
    assert await scene.notices(parent) == []
