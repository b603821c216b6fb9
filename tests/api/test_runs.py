"""Workflows and their runs over real HTTP: listed, started, watched, cancelled, run again."""

import asyncio
import itertools
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.api.serving import PATIENCE_SECONDS, Client, Serving
from tests.api.test_workspaces import workspace
from tests.api.watching import Speaks, Watcher
from tests.feed.run_client import RunClient

Condition = Callable[[dict[str, Any]], bool]
ENDED = ("succeeded", "failed", "cancelled")
SIDES = """\
export const meta = {
  name: 'sides', description: 'Two sides', phases: [{ title: 'Argue', detail: 'both' }, { title: 'Weigh' }],
}
phase('Argue')
log('begins')
const sides = await parallel(['for', 'against'].map(side => () => agent(`say: ${side}`, { label: side })))
phase('Weigh')
phase('Afterwards')
return { sides, last: await agent('say: weighed'), args }
"""
ENDLESS = """\
meta = {"name": "endless", "description": "Waits for long"}
words = "pace: 1\\nsay slowly: " + "on and on " * 5000
await parallel([lambda: agent(words, label="long") for _ in range(3)])
"""
RUN = {
    "id", "name", "language", "status", "args", "result", "error", "phases", "calls", "log", "budget",
    "resumed_from", "started_at", "finished_at",
}  # fmt: skip
CALL = {"label", "phase", "status", "needs_you", "reused", "chat_id", "usage", "started_at", "finished_at"}


async def start(client: Client, **body: Any) -> dict[str, Any]:
    answer = await client.post("workflow-runs", body)
    assert answer.status == 202, answer
    return answer.json


async def sides(client: Client, **more: Any) -> dict[str, Any]:
    return await start(client, script=SIDES, language="javascript", **more)


async def endless(client: Client) -> dict[str, Any]:
    """A run whose agents are at work."""
    run = await start(client, script=ENDLESS, language="python")
    now = await until(client, run["id"], lambda now: count(now, "running") == 3)
    for call in now["calls"]:
        # Written down before it is there.
        while (await client.get(f"chats/{call['chat_id']}")).status == 404:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    return now


def count(run: dict[str, Any], status: str) -> int:
    return sum(call["status"] == status for call in run["calls"])


async def until(client: Client, run_id: str, condition: Condition) -> dict[str, Any]:
    async with asyncio.timeout(PATIENCE_SECONDS):
        for seconds in itertools.chain((0.01, 0.02), itertools.repeat(0.05)):
            run = (await client.get(f"workflow-runs/{run_id}")).json
            if condition(run):
                return run
            await asyncio.sleep(seconds)
    raise AssertionError


async def ended(client: Client, run_id: str) -> dict[str, Any]:
    return await until(client, run_id, lambda run: run["status"] in ENDED)


# --- starting and reading ---


async def test_a_run_from_its_start_to_its_end(admin: Client) -> None:
    run = await sides(admin, args={"n": 1})
    assert run.keys() >= RUN
    assert (run["status"], run["args"], run["calls"], run["result"]) == ("pending", {"n": 1}, [], None)
    done = await ended(admin, run["id"])
    assert (done["status"], done["error"]) == ("succeeded", None), done
    assert done["result"] == {"sides": ["for", "against"], "last": "weighed", "args": {"n": 1}}
    assert done.keys() == run.keys()
    # As it was pinned, not as a file of that name reads now.
    assert done["script"] == run["script"] == SIDES
    assert [phase["title"] for phase in done["phases"]] == ["Argue", "Weigh", "Afterwards"]
    assert all(phase["started_at"] for phase in done["phases"])
    assert [line["text"] for line in done["log"]] == ["begins"]
    first = done["calls"][0]
    assert first.keys() >= CALL
    assert (first["label"], first["phase"], first["status"]) == ("for", "Argue", "succeeded")
    assert first["usage"]["output"] > 0
    assert done["budget"]["spent_tokens"] == sum(call["usage"]["output"] for call in done["calls"])
    agents = (await admin.get(f"chats?run_id={run['id']}")).json["items"]
    assert {agent["id"] for agent in agents} == {call["chat_id"] for call in done["calls"]}
    assert all(agent["run_id"] == run["id"] for agent in agents)
    assert all(agent["origin"] == {"kind": "run", "run_id": run["id"]} for agent in agents)


async def test_a_script_that_does_not_parse_is_answered_with_its_line(admin: Client) -> None:
    script = "export const meta = { name: 'x', description: 'y' }\n\nconst = 3"
    refused = await admin.post("workflow-runs", {"script": script, "language": "javascript"})
    assert (refused.status, refused.code) == (422, "invalid_input")
    assert refused.json["data"] == {"line": 3}
    assert "Line 3" in refused.json["detail"]
    assert refused.json["errors"][0]["field"] == "script"


@pytest.mark.parametrize(
    "body, told",
    [
        ({}, "name"),
        ({"name": "nosuch"}, "nosuch"),
        ({"name": "deep-research", "script": "x", "language": "python"}, "not both"),
        ({"script": SIDES}, "language"),
        ({"name": "deep-research", "args": {}}, "deep-research"),
        ({"name": "deep-research", "model": "nosuch"}, "nosuch"),
        ({"name": "deep-research", "workspace_id": "nosuch"}, "workspace_id"),
        ({"name": "deep-research", "resume_from": "nosuch"}, "resume_from"),
        ({"name": "deep-research", "budget": 0}, "budget"),
        ({"name": "deep-research", "budget": {"cost_usd_micros": 1}}, "output tokens"),
        ({"name": "deep-research", "unknown": 1}, "unknown"),
        ({"script": SIDES, "language": "javascript", "args": {"n": 2**70}}, "64 bits"),
    ],
)
async def test_what_cannot_be_run_is_refused(admin: Client, body: dict[str, Any], told: str) -> None:
    refused = await admin.post("workflow-runs", body)
    assert (refused.status, refused.code) == (422, "invalid_input"), refused
    assert told in str(refused.json)
    assert (await admin.get("workflow-runs")).json["items"] == []


async def test_a_script_that_throws_fails_its_run_with_the_line(admin: Client) -> None:
    script = "meta = {'name': 'x', 'description': 'y'}\nlog('before')\nraise ValueError('no luck')"
    done = await ended(admin, (await start(admin, script=script, language="python"))["id"])
    assert (done["status"], done["result"]) == ("failed", None)
    assert "no luck" in done["error"]["message"]
    assert done["error"]["line"] == 3


async def test_started_once_under_its_key(admin: Client) -> None:
    headers = {"Idempotency-Key": "once"}
    body = {"script": SIDES, "language": "javascript"}
    answers = await asyncio.gather(*(admin.post("workflow-runs", body, headers=headers) for _ in range(3)))
    assert {answer.status for answer in answers} == {202}
    assert len({answer.body for answer in answers}) == 1
    await ended(admin, answers[0].json["id"])
    again = await admin.post("workflow-runs", body, headers=headers)
    assert again.body == answers[0].body
    other = await admin.post("workflow-runs", {**body, "args": 1}, headers=headers)
    assert (other.status, other.code) == (409, "idempotency_mismatch")
    assert len((await admin.get("workflow-runs")).json["items"]) == 1


async def test_runs_are_listed_page_by_page(server: Serving) -> None:
    admin = server.admin
    made = [(await sides(admin, args=number))["id"] for number in range(3)]
    for run_id in made:
        await ended(admin, run_id)
    first = (await admin.get("workflow-runs?limit=2")).json
    rest = (await admin.get(f"workflow-runs?limit=2&cursor={first['next_cursor']}")).json
    assert [run["id"] for run in (*first["items"], *rest["items"])] == made[::-1]
    assert rest["next_cursor"] is None
    assert "result" not in first["items"][0]
    for query, count in (("name=sides", 3), ("name=x", 0), ("status=succeeded", 3), ("status=failed", 0)):
        assert len((await admin.get(f"workflow-runs?{query}")).json["items"]) == count, query
    for query in ("status=sleepy", "cursor=x", "limit=0", "q=x"):
        assert (await admin.get(f"workflow-runs?{query}")).code == "invalid_input", query
    member = await server.member()
    assert (await member.get("workflow-runs")).json["items"] == []


async def test_a_strangers_run_looks_like_nothing(server: Serving) -> None:
    run = await sides(server.admin)
    member = await server.member()
    missing = run["id"][:-4] + "0000"
    for path in ("workflow-runs/{}", "workflow-runs/{}/feed"):
        theirs, nobodys = await member.get(path.format(run["id"])), await member.get(path.format(missing))
        assert (theirs.status, theirs.body) == (404, nobodys.body)
    assert (await member.post(f"workflow-runs/{run['id']}/cancel")).status == 404
    refused = await member.post("workflow-runs", {"resume_from": run["id"]})
    assert (refused.status, refused.code) == (422, "invalid_input")
    assert (await ended(server.admin, run["id"]))["status"] == "succeeded"


# --- cancelling and running again ---


async def test_cancelling_stops_the_agents(admin: Client) -> None:
    run = await endless(admin)
    headers = {"Idempotency-Key": "stop"}
    answer = await admin.post(f"workflow-runs/{run['id']}/cancel", headers=headers)
    assert answer.status == 202, answer
    assert answer.json["status"] == "cancelled"
    assert [call["status"] for call in answer.json["calls"]] == ["cancelled"] * 3
    assert (await admin.post(f"workflow-runs/{run['id']}/cancel", headers=headers)).body == answer.body
    for call in run["calls"]:
        assert (await admin.until_settled(call["chat_id"]))["status"] == "idle"
    again = await admin.post(f"workflow-runs/{run['id']}/cancel")
    assert (again.status, again.json["finished_at"]) == (202, answer.json["finished_at"])


async def test_running_again_reuses_what_was_done(admin: Client) -> None:
    first = await ended(admin, (await sides(admin))["id"])
    second = await ended(admin, (await sides(admin, reuse=True))["id"])
    assert (second["resumed_from"], second["reused"]) == (first["id"], 3)
    assert second["result"] == first["result"]
    assert [call["reused"] for call in second["calls"]] == [True] * 3
    assert second["budget"]["spent_tokens"] == 0
    fresh = await ended(admin, (await sides(admin, fresh=True))["id"])
    assert (fresh["resumed_from"], fresh["reused"]) == (None, 0)
    other = await ended(admin, (await sides(admin, args={"n": 2}, resume_from=first["id"]))["id"])
    assert (other["resumed_from"], other["reused"]) == (first["id"], 3)


async def test_a_run_again_as_it_was(admin: Client) -> None:
    """Of a cancelled one, with its own script, arguments and settings."""
    script = SIDES.replace("agent('say: weighed')", "agent(`pace: 1\\nsay slowly: ${'on '.repeat(5000)}`)")
    run = await start(admin, script=script, language="javascript", args=[1], budget={"tokens": 9000})
    busy = await admin.post("workflow-runs", {"resume_from": run["id"]})
    assert (busy.status, busy.code) == (422, "invalid_input")
    await until(admin, run["id"], lambda now: count(now, "succeeded") == 2)
    await admin.post(f"workflow-runs/{run['id']}/cancel")
    again = await start(admin, resume_from=run["id"])
    assert (again["name"], again["args"], again["budget"]["tokens"]) == ("sides", [1], 9000)
    now = await until(admin, again["id"], lambda now: len(now["calls"]) == 3)
    assert now["reused"] == 2
    await admin.post(f"workflow-runs/{again['id']}/cancel")


# --- workflows ---


async def test_workflows_are_listed_with_what_is_wrong(server: Serving) -> None:
    admin = server.admin
    root = server.data.parent / "project"
    await asyncio.to_thread(_project, root)
    made = await admin.post("workspaces", {"name": "project", "path": str(root)})
    where = f"workspace_id={made.json['id']}"
    builtin = (await admin.get("workflows")).json["items"]
    assert {"deep-research", "review-code", "find-issues", "plan-verify", "multi-review", "bounty-hunt"} <= {
        workflow["name"] for workflow in builtin if workflow["source"] == "catalogue"
    }
    found = (await admin.get(f"workflows?{where}")).json["items"]
    broken = next(workflow for workflow in found if workflow["name"] == "broken")
    assert (broken["line"], broken["source"]) == (2, "project")
    assert "Line 2" in broken["error"]
    mine, theirs = [workflow for workflow in found if workflow["name"] == "plan-verify"]
    assert (mine["path"], mine["hides_builtin"]) == (".claude/workflows/mine.js", True)
    assert (theirs["source"], theirs["hidden_by"]) == ("catalogue", ".claude/workflows/mine.js")
    assert str(root) not in str(found)
    shown = (await admin.get(f"workflows/plan-verify?{where}")).json
    assert shown["script"] == SIDES.replace("'sides'", "'plan-verify'")
    assert [phase["title"] for phase in shown["phases"]] == ["Argue", "Weigh"]
    assert (await admin.get(f"workflows/broken?{where}")).json["script"] is None
    assert (await admin.get("workflows/broken")).status == 404
    run = await ended(admin, (await start(admin, name="plan-verify", workspace_id=made.json["id"]))["id"])
    assert run["result"]["last"] == "weighed"
    member = await server.member()
    assert (await member.get(f"workflows?{where}")).code == "invalid_input"
    assert (await member.post("workflow-runs", {"name": "broken"})).code == "invalid_input"


def _project(root: Path) -> None:
    (root / ".holdfast" / "workflows").mkdir(parents=True)
    (root / ".claude" / "workflows").mkdir(parents=True)
    (root / ".holdfast" / "workflows" / "broken.py").write_text(
        "meta = {'name': 'x', 'description': 'y'}\nif"
    )
    (root / ".claude" / "workflows" / "mine.js").write_text(SIDES.replace("'sides'", "'plan-verify'"))


# --- the feed ---

both = pytest.mark.parametrize("speaks", ["sse", "websocket"])


def as_told(run: dict[str, Any]) -> dict[str, Any]:
    """The pinned script never changes: it is read once, and no event repeats it."""
    return {name: value for name, value in run.items() if name != "script"}


class RunWatcher(Watcher):
    """Of one run's feed. Comes back with the id of the last event, if it is told to go after so many."""

    def __init__(self, who: Client, run_id: str, speaks: Speaks = "sse", **more: Any) -> None:
        super().__init__(who, f"workflow-runs/{run_id}/feed", speaks, **more)
        self.client = RunClient()
        self.leave_after: int | None = None

    def apply(self, event: str, event_id: str | None, data: dict[str, Any]) -> None:  # pyright: ignore[reportImplicitOverride]
        self.client.apply(event, event_id, data)
        self.cursor = self.client.cursor
        self.changed.set()


@asynccontextmanager
async def watched(who: Client, run_id: str, speaks: Speaks) -> AsyncGenerator[RunWatcher]:
    watcher = RunWatcher(who, run_id, speaks)
    task = asyncio.create_task(watcher.connect_once())
    task.add_done_callback(watcher.note_end)
    try:
        yield watcher
    finally:
        task.cancel()
        await asyncio.wait({task})


@both
async def test_a_run_watched_from_its_start(admin: Client, speaks: Speaks) -> None:
    run = await sides(admin)
    async with watched(admin, run["id"], speaks) as watcher:
        await watcher.until(lambda _: watcher.ended)
    client = watcher.client
    assert client.held == as_told(await ended(admin, run["id"]))
    assert client.closing == "over"
    assert client.names.count("caught_up") == 1
    assert client.names[-2:] == ["run", "closing"]
    if speaks == "websocket":
        assert watcher.close_code == 1000


ASKS = """\
meta = {"name": "asks", "description": "Two agents, of whom one asks"}
asks = 'call: ask_user {"questions": [{"id": "q", "text": "Which?"}]}\\nsay: {result}'
return await parallel([lambda: agent(asks, label="curious"), lambda: agent("say: content", label="content")])
"""


async def test_an_agent_that_needs_a_person_is_told_of(admin: Client) -> None:
    """By the feed and by the run itself, until somebody has answered."""

    def needy(now: dict[str, Any]) -> list[str]:
        return [call["label"] for call in now["calls"] if call["needs_you"]]

    run = await start(admin, script=ASKS, language="python")
    async with watched(admin, run["id"], "sse") as watcher:
        client = watcher.client
        await watcher.until(lambda _: client.run is not None and needy(client.held) == ["curious"])
        now = await until(admin, run["id"], lambda now: needy(now) == ["curious"])
        (call,) = [call for call in now["calls"] if call["needs_you"]]
        assert call["status"] == "running"
        chat = (await admin.get(f"chats/{call['chat_id']}")).json
        (asked,) = chat["action"]["calls"]
        answer = {"results": [{"call_id": asked["call_id"], "output": "This."}]}
        assert (await admin.post(f"chats/{chat['id']}/tool-results", answer)).status < 300
        await watcher.until(lambda _: watcher.ended)
    over = await ended(admin, run["id"])
    assert over["status"] == "succeeded"
    assert needy(over) == []
    assert client.held == as_told(over)


@both
async def test_coming_back_after_every_event(admin: Client, speaks: Speaks) -> None:
    """Whatever was the last event that came, the rest comes once."""
    run = await ended(admin, (await sides(admin))["id"])
    async with watched(admin, run["id"], speaks) as whole:
        await whole.until(lambda _: whole.ended)
    for number, (_, event_id, _) in enumerate(whole.events[:-1], 1):
        watcher = RunWatcher(admin, run["id"], speaks)
        for event in whole.events[:number]:
            watcher.apply(*event)
        assert watcher.cursor == event_id
        await asyncio.wait_for(watcher.connect_once(), PATIENCE_SECONDS)
        assert watcher.client.held == as_told(run)
        told = {"phase", "log", "call"}
        assert [name for name in watcher.client.names if name in told] == [
            name for name, _, _ in whole.events if name in told
        ]


async def test_an_id_that_means_nothing_is_answered_with_everything(admin: Client) -> None:
    run = await ended(admin, (await sides(admin))["id"])
    other = await ended(admin, (await sides(admin, args=1))["id"])
    foreign = RunWatcher(admin, other["id"])
    await foreign.connect_once()
    for cursor in ("x", "1.9.3.0.0.00000000", foreign.cursor):
        watcher = RunWatcher(admin, run["id"], cursor=cursor)
        await watcher.connect_once()
        assert watcher.client.held == as_told(run)


async def test_a_cancelled_run_ends_its_feed(admin: Client) -> None:
    run = await endless(admin)
    async with watched(admin, run["id"], "sse") as watcher:
        await watcher.until(lambda _: "caught_up" in watcher.client.names)
        cancelled = (await admin.post(f"workflow-runs/{run['id']}/cancel")).json
        await watcher.until(lambda _: watcher.ended)
        assert watcher.client.held == as_told(cancelled)


@pytest.mark.heavy
async def test_a_feed_of_a_revoked_token_is_cut(server: Serving) -> None:
    member = await server.member()
    run = await endless(member)
    made = (await member.browser.post("tokens", {"name": "watching", "scopes": ["chats:read"]})).json
    async with watched(server.client(made["secret"]), run["id"], "sse") as watcher:
        await watcher.until(lambda _: "caught_up" in watcher.client.names)
        await member.browser.delete(f"tokens/{made['token']['id']}")
        await watcher.until(lambda _: watcher.ended)
        assert watcher.client.closing == "access"
    await member.post(f"workflow-runs/{run['id']}/cancel")


@pytest.mark.heavy
async def test_a_script_of_many_lines_is_run(admin: Client) -> None:
    lines = "".join(f"const a{number} = {{ label: 'n{number}', items: [1, 2] }}\n" for number in range(600))
    text = "export const meta = { name: 'long', description: 'Many lines' }\n" + lines
    run = await start(admin, script=f"{text}return a599.label", language="javascript")
    over = await until(admin, run["id"], lambda now: now["status"] in ENDED)
    assert over["result"] == "n599"
    broken = await admin.post(
        "workflow-runs", {"script": f"{text}let b = 1\nlet b = 2\n", "language": "javascript"}
    )
    assert broken.status == 422
    assert broken.json["data"]["line"] == 603


@pytest.mark.heavy
async def test_a_finished_run_is_reused_only_when_asked_and_while_the_workspace_is_unchanged(
    server: Serving,
) -> None:
    admin = server.admin
    workspace_id, root = await workspace(server)
    script = (
        "export const meta = { name: 'look', description: 'Looks at the workspace' }\n"
        "return [await agent('say: looked'), await agent('say: thought', { tools: [] })]"
    )

    async def reused(**more: Any) -> tuple[int, str | None]:
        body = {"script": script, "language": "javascript", "workspace_id": workspace_id, **more}
        run = await start(admin, **body)
        over = await until(admin, run["id"], lambda now: now["status"] in ENDED)
        assert over["result"] == ["looked", "thought"]
        return over["reused"], over["reuse"]

    assert await reused() == (0, None)
    count, why = await reused()
    assert count == 0
    assert "Ask with reuse" in (why or "")
    assert (await reused(reuse=True))[0] == 2
    (root / "hello.py").write_text("print('changed')\n")
    assert (await reused(reuse=True))[0] == 1
    assert (await reused(reuse=True))[0] == 2
    assert (await reused(fresh=True))[0] == 0
