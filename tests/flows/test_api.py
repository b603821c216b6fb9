# ruff: noqa: E501 - flows
"""Flow runs over real HTTP, on the feed, on the command line and as a tool, with the demo model."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.api.serving import PATIENCE_SECONDS, Client, Serving, config_for, serving

pytestmark = pytest.mark.heavy

FLOW = """\
name: greet
description: Greets, if somebody approves
steps:
  - {id: hello, kind: agent, prompt: "say: hello {{ args.who }}"}
  - {id: ok, kind: approval, deps: [hello], text: "Send {{ results.hello }}?", approvers: [boss]}
  - {id: sent, kind: code, deps: [ok], python: "return results['hello'] + '!'"}
report: "{{ results.sent }}"
output: greeting.md
"""
RUN = {
    "id", "name", "status", "args", "result", "error", "steps", "switches", "log", "budget", "resumed_from",
    "workspace_id", "created_at", "started_at", "finished_at",
}  # fmt: skip
STEP = {
    "id", "kind", "state", "reason", "attempt", "chat_id", "output", "batch", "started_at", "finished_at",
    "deadline_at",
}  # fmt: skip


async def until(client: Client, run_id: str, condition: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            now = (await client.get(f"flow-runs/{run_id}")).json
            if condition(now):
                return now
            await asyncio.sleep(0.05)


def states(run: dict[str, Any]) -> dict[str, str]:
    return {step["id"]: step["state"] for step in run["steps"]}


async def events(client: Client, path: str, cursor: str | None = None) -> list[tuple[str, str, Any]]:
    """All of a feed until it ends."""
    headers = {"Authorization": f"Bearer {client.token}", "Accept": "text/event-stream"}
    if cursor is not None:
        headers["Last-Event-ID"] = cursor
    found: list[tuple[str, str, Any]] = []
    async with client.session.get(f"{client.address}/api/v1/{path}", headers=headers) as response:
        name = event_id = ""
        async for raw in response.content:
            line = raw.decode().rstrip("\n")
            if line.startswith("event: "):
                name = line[7:]
            elif line.startswith("id: "):
                event_id = line[4:]
            elif line.startswith("data: "):
                found.append((name, event_id, json.loads(line[6:])))
    return found


@pytest.fixture
async def server(tmp_path: Path) -> Any:
    async with serving(config_for(tmp_path / "data")) as running:
        yield running


async def test_a_run_from_its_start_to_its_file(server: Serving) -> None:
    boss, me, stranger = [await server.member(name) for name in ("boss", "me", "stranger")]
    answer = await me.post("flow-runs", {"flow": FLOW, "args": {"who": "you"}})
    assert answer.status == 202, answer
    run = answer.json
    assert run.keys() >= RUN
    assert all(step.keys() >= STEP for step in run["steps"])
    assert [step["deps"] for step in run["graph"]["steps"]] == [[], ["hello"], ["ok"]]
    path = f"flow-runs/{run['id']}"
    waiting = await until(me, run["id"], lambda now: now["status"] == "waiting")
    ok = waiting["steps"][1]
    assert (ok["state"], ok["text"], ok["needs_you"]) == ("waiting", "Send hello you?", True)
    # For whom it is named, and nobody else.
    assert (await me.post(f"{path}/steps/ok/decision", {"decision": "approve"})).status == 403
    assert (await stranger.get(path)).status == 404
    assert (await stranger.post(f"{path}/steps/ok/decision", {"decision": "approve"})).status == 404
    assert (await boss.get(path)).status == 200
    assert (await boss.post(f"{path}/cancel")).status == 404
    assert (await boss.post(f"{path}/steps/hello/decision", {"decision": "approve"})).status == 422
    decided = await boss.post(f"{path}/steps/ok/decision", {"decision": "approve", "note": "fine"})
    assert decided.status == 200, decided
    assert (await boss.post(f"{path}/steps/ok/decision", {"decision": "deny"})).status == 409
    ended = await until(me, run["id"], lambda now: now["status"] == "succeeded")
    assert ended["result"] == "hello you!"
    assert ended["steps"][1]["answer"] == {
        "decision": "approve",
        "by": "boss",
        "note": "fine",
        "answer": None,
    }
    file = await me.get(f"{path}/output")
    assert (file.status, file.body) == (200, b"hello you!")
    assert 'filename="greeting.md"' in file.headers["Content-Disposition"]
    chat = (await me.get(f"chats/{ended['steps'][0]['chat_id']}")).json
    assert chat["origin"] == {"kind": "flow_step", "flow_run_id": run["id"], "step_id": "hello"}
    assert [one["id"] for one in (await me.get("flow-runs")).json["items"]] == [run["id"]]
    assert (await me.get("chats")).json["items"] == []


async def test_the_feed_resumes_exactly(server: Serving) -> None:
    me = await server.member("me")
    flow = FLOW.replace(", approvers: [boss]", ", timeout: 1s, on_timeout: approve")
    run = (await me.post("flow-runs", {"flow": flow, "args": {"who": "you"}})).json
    told = await events(me, f"flow-runs/{run['id']}/feed")
    names = [name for name, _, _ in told]
    assert {"run", "step", "caught_up"} <= set(names)
    assert (names[-1], told[-1][2]["reason"]) == ("closing", "over")
    last = {data["id"]: data["state"] for name, _, data in told if name == "step"}
    assert last == {"hello": "succeeded", "ok": "succeeded", "sent": "succeeded"}
    assert [data for name, _, data in told if name == "run"][-1]["result"] == "hello you!"
    whole = await events(me, f"flow-runs/{run['id']}/feed")
    for place, (_, event_id, _) in enumerate(whole):
        if whole[place][0] == "step":
            rest = await events(me, f"flow-runs/{run['id']}/feed", event_id)
            kept = [one for one in whole[place + 1 :] if one[0] in ("step", "log")]
            assert [one for one in rest if one[0] in ("step", "log")] == kept


async def test_bad_flows_are_problems_with_line_and_column(server: Serving) -> None:
    answer = await server.admin.post("flow-runs", {"flow": "name: x\nname: y"})
    assert answer.status == 422
    assert (answer.json["data"]["line"], answer.json["data"]["column"]) == (2, 1)
    assert (await server.admin.post("flow-runs", {"name": "nothing"})).status == 422
    assert (await server.admin.post("flow-runs", {})).status == 422
    listed = (await server.admin.get("flows")).json["items"]
    assert [flow["name"] for flow in listed] == [
        "research-report", "review-and-fix", "triage-issues", "upgrade-dependency",
    ]  # fmt: skip
    shown = (await server.admin.get("flows/review-and-fix")).json
    assert shown["graph"]["output"] == "review.md"


async def test_cancel_and_retry(server: Serving) -> None:
    me = server.admin
    flow = '{name: f, description: d, steps: [{id: a, kind: agent, prompt: "pace: 1\\nsay slowly: on and on and on"}]}'
    run = (await me.post("flow-runs", {"flow": flow})).json
    await until(me, run["id"], lambda now: states(now)["a"] == "running")
    assert (await me.post(f"flow-runs/{run['id']}/retry", {})).status == 409
    cancelled = (await me.post(f"flow-runs/{run['id']}/cancel")).json
    assert (cancelled["status"], states(cancelled)) == ("cancelled", {"a": "cancelled"})
    chat_id = cancelled["steps"][0]["chat_id"]
    await me.until_settled(chat_id)
    again = await me.post(f"flow-runs/{run['id']}/steps/a/retry")
    assert again.status == 202, again
    assert (await until(me, run["id"], lambda now: states(now)["a"] == "running"))["steps"][0]["attempt"] >= 2
    await me.post(f"flow-runs/{run['id']}/cancel")


async def test_an_agent_runs_a_flow(server: Serving) -> None:
    flow = "{name: f, description: d, steps: [{id: a, kind: agent, prompt: 'say: inner'}]}"
    call = json.dumps({"flow": flow})
    chat = await server.admin.start_chat(f"call: run_flow {call}\nsay: done")
    await server.admin.until_settled(chat["id"])
    results = [
        part
        for message in await server.admin.messages(chat["id"])
        for part in message["parts"]
        if part["type"] == "tool_result"
    ]
    assert results[0]["output"]["result"] == {"a": "inner"}
