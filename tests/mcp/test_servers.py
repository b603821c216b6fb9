"""MCP servers in a real server: added, listed, called, and misbehaving."""

import asyncio
import json
import re
import shutil
import sys
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from tests.api.serving import Client, Serving, config_for, serving
from tests.api.test_workspaces import workspace
from tests.changes.trees import tree_of

pytestmark = [pytest.mark.heavy, pytest.mark.timeout(300)]

PROGRAM = Path(__file__).with_name("small_server.py")
PYTHON = "/usr/bin/python3"


@pytest.fixture(params=["sqlite", "postgres"])
def database_url(request: pytest.FixtureRequest) -> str:
    return "sqlite" if request.param == "sqlite" else request.getfixturevalue("postgres_url")


@pytest.fixture
async def server(database_url: str, tmp_path: Path) -> AsyncGenerator[Serving]:
    async with serving(config_for(tmp_path / "data", database_url)) as running:
        yield running


@pytest.fixture
async def lone_server(tmp_path: Path) -> AsyncGenerator[Serving]:
    """On SQLite alone, for what has nothing to do with the database."""
    async with serving(config_for(tmp_path / "data")) as running:
        yield running


async def place(server: Serving) -> tuple[str, Path]:
    """A workspace with the program in it."""
    workspace_id, root = await workspace(server)
    shutil.copy(PROGRAM, root / "server.py")
    return workspace_id, root


async def added(client: Client, *modes: str, **more: Any) -> dict[str, Any]:
    body = {"name": "small", "command": PYTHON, "args": ["server.py", *modes], **more}
    answer = await client.post("mcp-servers", body)
    assert answer.status == 201, answer
    return answer.json


async def tried(client: Client, server_id: str, workspace_id: str) -> dict[str, Any]:
    answer = await client.post(f"mcp-servers/{server_id}/test?workspace_id={workspace_id}")
    assert answer.status == 200, answer
    return answer.json


async def called(client: Client, workspace_id: str, *calls: str, approve: bool = True) -> dict[str, Any]:
    """The result of the last of these calls, each approved."""
    script = "\n".join(f"call: {call}" for call in calls)
    chat = await client.start_chat(f"{script}\nsay: done", workspace_id=workspace_id)
    while (now := await client.until(chat["id"], lambda one: one["status"] != "running"))[
        "status"
    ] == "requires_action":
        for call in now["action"]["calls"]:
            answer = await client.post(
                f"chats/{chat['id']}/calls/{call['call_id']}/decision",
                {"decision": "approve" if approve else "deny"},
            )
            assert answer.status == 202, answer
        await asyncio.sleep(0.05)
    messages = await client.messages(chat["id"])
    results = [part for one in messages for part in one["parts"] if part["type"] == "tool_result"]
    return {
        **results[-1],
        "files": [p for one in messages for p in one["parts"] if p["type"] == "file"],
        "chat_id": chat["id"],
    }


async def test_a_server_is_added_listed_called_and_removed(server: Serving) -> None:
    admin = server.admin
    workspace_id, root = await place(server)
    made = await added(admin, env={"GREETING": "hello"})
    assert (made["env"], made["state"], made["origin"]) == (["GREETING"], "idle", "all")
    assert "hello" not in str((await admin.get("mcp-servers")).json)
    shown = await tried(admin, made["id"], workspace_id)
    assert (shown["state"], shown["error"], shown["version"], shown["title"]) == (
        "ready",
        None,
        "1.2.3",
        "small",
    )
    assert {tool["full_name"]: tool["state"] for tool in shown["offered"]} == {
        "mcp__small__echo": "approved",
        "mcp__small__env": "approved",
        "mcp__small__write": "approved",
        "mcp__small__fail": "approved",
    }
    assert shown["prompts"][0]["name"] == "greet"

    result = await called(admin, workspace_id, 'mcp__small__echo {"text": "hi"}')
    assert (result["outcome"], result["output"]) == ("succeeded", "echo: hi")
    result = await called(admin, workspace_id, 'mcp__small__env {"text": "GREETING"}')
    assert result["output"] == "hello"
    result = await called(admin, workspace_id, 'mcp__small__fail {"text": "x"}')
    assert result["outcome"] == "failed"
    # It works in the workspace of the chat, behind the wall.
    await called(admin, workspace_id, 'mcp__small__write {"text": "made.txt"}')
    assert (root / "made.txt").read_text() == "written by a server"
    outside = root.parent / "outside.txt"
    await called(admin, workspace_id, f'mcp__small__write {{"text": "{outside}"}}')
    assert not outside.exists()

    resource = await called(admin, workspace_id, 'read_resource {"server": "small", "uri": "small://one"}')
    assert resource["output"] == "content of small://one"
    prompt = await admin.post(
        f"mcp-servers/{made['id']}/prompts?workspace_id={workspace_id}",
        {"name": "greet", "arguments": {"who": "Mia"}},
    )
    assert prompt.json == {"text": "Greet Mia."}

    assert (await admin.delete(f"mcp-servers/{made['id']}")).status == 204
    gone = await called(admin, workspace_id, 'mcp__small__echo {"text": "hi"}')
    assert "There is no tool" in gone["output"]


async def test_a_call_asks_and_remembers_where_its_tool_came_from(server: Serving) -> None:
    admin = server.admin
    workspace_id, _ = await place(server)
    await added(admin, "read-only")
    chat = await admin.start_chat(
        'call: mcp__small__echo {"text": "hi"}\nsay: done', workspace_id=workspace_id
    )
    waiting = await admin.until_status(chat["id"], "requires_action")
    (call,) = waiting["action"]["calls"]
    assert (call["kind"], call["name"], call["input"]) == ("approval", "mcp__small__echo", {"text": "hi"})
    body = {"decision": "approve", "scope": "chat"}
    assert (await admin.post(f"chats/{chat['id']}/calls/{call['call_id']}/decision", body)).status == 202
    await admin.until_settled(chat["id"])
    row = (await admin.get(f"chats/{chat['id']}/calls/{call['call_id']}")).json
    assert row["source"].startswith("mcp:all:small:")
    # The server's word that it only reads counts once the server is marked as trusted.
    (listed,) = (await admin.get("mcp-servers")).json["items"]
    assert (await admin.patch(f"mcp-servers/{listed['id']}", {"trusted": True})).status == 200
    free = await admin.start_chat(
        'call: mcp__small__echo {"text": "hi"}\nsay: done', workspace_id=workspace_id
    )
    assert (await admin.until(free["id"], lambda one: one["status"] != "running"))["status"] == "idle"


async def test_a_changed_tool_waits_and_the_others_work(server: Serving) -> None:
    admin = server.admin
    workspace_id, root = await place(server)
    made = await added(admin)
    await tried(admin, made["id"], workspace_id)
    (root / "changed").touch()
    # Another program with the same configuration: as after a restart.
    await server.parts.services.mcp.stop(made["id"])
    shown = await tried(admin, made["id"], workspace_id)
    assert {tool["name"]: tool["state"] for tool in shown["offered"]} == {
        "added": "new",
        "echo": "changed",
        "env": "approved",
        "fail": "approved",
        "write": "approved",
    }
    assert shown["waiting"] == 2
    assert (
        next(tool for tool in shown["offered"] if tool["name"] == "echo")["before"]["description"]
        == "Says it again."
    )
    refused = await called(admin, workspace_id, 'mcp__small__echo {"text": "hi"}')
    assert "There is no tool" in refused["output"]
    assert (await called(admin, workspace_id, 'mcp__small__env {"text": "X"}'))["output"] == "not set"
    body = {"tools": ["echo"]}
    approved = await admin.post(f"mcp-servers/{made['id']}/approve?workspace_id={workspace_id}", body)
    assert approved.json["waiting"] == 1
    assert (await called(admin, workspace_id, 'mcp__small__echo {"text": "hi"}'))["output"] == "echo: hi"


@pytest.mark.parametrize(
    "mode, said",
    [
        ("hang", "did not answer within 3 s"),
        ("die", "its program ended"),
        ("wrong-id", "did not answer within 3 s"),
        ("garbage", "not the protocol"),
        ("flood", "messages without end"),
        ("endless", "a message of more than"),
        ("no-start", "there is no such database"),
    ],
)
async def test_what_a_hostile_server_does_is_the_result_of_a_call(
    lone_server: Serving, mode: str, said: str
) -> None:
    admin = lone_server.admin
    workspace_id, _ = await place(lone_server)
    seconds = 120 if mode in ("flood", "endless") else 3
    made = await added(admin, mode, timeout_seconds=seconds)
    if mode == "no-start":
        assert said in (await tried(admin, made["id"], workspace_id))["error"]
        return
    await added(admin, name="good")
    result = await called(admin, workspace_id, 'mcp__small__echo {"text": "hi"}')
    assert result["outcome"] == "failed"
    assert said in result["output"]
    # Others are not touched by it.
    assert (await called(admin, workspace_id, 'mcp__good__echo {"text": "hi"}'))["output"] == "echo: hi"


async def test_a_program_that_the_wall_hides_is_explained(lone_server: Serving) -> None:
    workspace_id, root = await place(lone_server)
    hidden = shutil.copy(PROGRAM, root.parent / "elsewhere.py")
    made = await added(lone_server.admin, command=str(hidden))
    error = (await tried(lone_server.admin, made["id"], workspace_id))["error"]
    assert "behind the wall a program sees only the system's directories, the workspace" in error


async def test_pictures_are_files_and_links_are_text(lone_server: Serving) -> None:
    admin = lone_server.admin
    workspace_id, _ = await place(lone_server)
    await added(admin, "links", "flood-errors")
    result = await called(admin, workspace_id, 'mcp__small__echo {"text": "hi"}')
    assert result["outcome"] == "succeeded"
    assert "not followed: file:///etc/passwd" in result["output"]["text"]
    assert "root:" not in str(result)
    assert "no valid base64" in result["output"]["text"]
    (file,) = result["files"]
    assert file["media_type"] == "image/png"


async def test_names_and_numbers_of_tools_are_bounded(lone_server: Serving) -> None:
    admin = lone_server.admin
    workspace_id, _ = await place(lone_server)
    made = await added(admin, "named-like-ours", "looped")
    shown = await tried(admin, made["id"], workspace_id)
    names = [tool["full_name"] for tool in shown["offered"]]
    assert "mcp__small__read_file" in names
    assert all(name.startswith("mcp__small__") and len(name) <= 64 and name.isascii() for name in names)
    assert next(tool for tool in shown["offered"] if tool["name"] == "looped")["error"]
    # Ours is still ours.
    assert "print('hello')" in (await called(admin, workspace_id, 'read_file {"path": "hello.py"}'))["output"]
    prompt = await admin.post(
        f"mcp-servers/{made['id']}/prompts?workspace_id={workspace_id}",
        {"name": "greet", "arguments": {"who": "x" * 20_000}},
    )
    assert (prompt.status, len(prompt.json["text"])) == (200, len("Greet .") + 20_000)
    repeating = await added(admin, "repeats", name="repeating")
    prompt = await admin.post(
        f"mcp-servers/{repeating['id']}/prompts?workspace_id={workspace_id}",
        {"name": "greet", "arguments": {"who": "x" * 20_000}},
    )
    assert 99_000 < len(prompt.json["text"]) < 101_000
    many = await added(admin, "many", name="many")
    shown = await tried(admin, many["id"], workspace_id)
    assert (len(shown["offered"]), shown["tool_count"]) == (256, 10_000)


async def test_a_server_asks_the_person(lone_server: Serving) -> None:
    admin = lone_server.admin
    workspace_id, _ = await place(lone_server)
    await added(admin, "asks", approval="allow", timeout_seconds=5)
    chat = await admin.start_chat(
        'call: mcp__small__echo {"text": "hi"}\nsay: done', workspace_id=workspace_id
    )
    path = f"chats/{chat['id']}/mcp-questions"
    while not (items := (await admin.get(path)).json["items"]):  # noqa: ASYNC110
        await asyncio.sleep(0.05)
    assert (items[0]["message"], items[0]["server"]) == ("Which colour?", "small")
    answer = {"action": "accept", "content": {"colour": "blue"}}
    assert (await admin.post(f"{path}/{items[0]['id']}", answer)).status == 204
    assert (await admin.post(f"{path}/{items[0]['id']}", answer)).status == 404
    await admin.until_settled(chat["id"])
    assert '\\"colour\\": \\"blue\\"' in str(await admin.messages(chat["id"])) or "blue" in str(
        await admin.messages(chat["id"])
    )


async def test_a_server_writes_nothing_while_a_chat_plans(lone_server: Serving) -> None:
    """Its writing tool is refused. One that says it only reads runs, and finds the workspace read-only; that
    the same server may write for another chat does not matter."""
    admin = lone_server.admin
    workspace_id, root = await place(lone_server)
    await added(admin)
    await added(admin, "liar", name="liar", trusted=True)
    for name in ("small", "liar"):
        await called(admin, workspace_id, f'mcp__{name}__write {{"text": "built-{name}.txt"}}')
        assert (root / f"built-{name}.txt").exists(), "in build mode it writes"
    before = tree_of(root)
    calls = [f'call: mcp__{name}__write {{"text": "planned-{name}.txt"}}' for name in ("small", "liar")]
    script = "\n".join((*calls, "say: {result}"))
    for mode in ("plan", "ask"):
        chat = await admin.start_chat(script, workspace_id=workspace_id, mode=mode)
        done = await admin.until_settled(chat["id"])
        assert done["status"] == "idle", done
        told = {
            part["name"]: part
            for message in await admin.messages(chat["id"])
            for part in message["parts"]
            if part["type"] == "tool_result"
        }
        assert told["mcp__small__write"]["output"].startswith("denied (mode)")
        assert told["mcp__liar__write"]["outcome"] in ("failed", "denied")
        assert tree_of(root) == before, mode


async def test_nothing_of_a_workspace_runs_before_it_is_trusted(lone_server: Serving) -> None:
    admin = lone_server.admin
    workspace_id, root = await place(lone_server)
    (root / ".mcp.json").write_text(
        f'{{"mcpServers": {{"repo": {{"command": "{PYTHON}", "args": ["server.py", "mark"]}}}}}}'
    )
    result = await called(admin, workspace_id, 'mcp__repo__echo {"text": "hi"}')
    assert "There is no tool" in result["output"]
    assert (await admin.get(f"mcp-servers?workspace_id={workspace_id}")).json["items"] == []
    assert not (root / "started").exists()

    (item,) = (await admin.get(f"workspaces/{workspace_id}/trust")).json["items"]
    assert (item["kind"], item["path"], item["state"]) == ("mcp", ".mcp.json", "new")
    assert [file["path"] for file in item["files"]] == ["server.py"]
    body = {"items": [{"path": item["path"], "hash": item["hash"]}], "decision": "trust"}
    assert (await admin.post(f"workspaces/{workspace_id}/trust", body)).status == 200
    assert (await called(admin, workspace_id, 'mcp__repo__echo {"text": "hi"}'))["output"] == "echo: hi"
    assert (root / "started").exists()

    # The program is another one now: nothing of it runs, though the file that names it is the same.
    (root / "started").unlink()
    (root / "server.py").write_text(PROGRAM.read_text() + "# changed\n")
    assert (
        "There is no tool" in (await called(admin, workspace_id, 'mcp__repo__echo {"text": "hi"}'))["output"]
    )
    assert not (root / "started").exists()
    (item,) = (await admin.get(f"workspaces/{workspace_id}/trust")).json["items"]
    assert item["state"] == "changed"


async def test_members_have_servers_of_their_own_and_no_more(lone_server: Serving) -> None:
    mia, admin = await lone_server.member("mia"), lone_server.admin
    tom = await lone_server.member("tom")
    refused: tuple[dict[str, Any], ...] = (
        {"wall": False},
        {"network": "host"},
        {"shared": True},
        {"command": "", "args": [], "url": "http://127.0.0.1:1/mcp"},
        {"command": "", "args": [], "url": "http://169.254.169.254/"},
    )
    for wrong in refused:
        answer = await mia.post("mcp-servers", {"name": "x", "command": "python3", **wrong})
        assert answer.status in (403, 422), (wrong, answer)
    made = await added(mia, env={"TOKEN": "canary-secret"})
    assert made["origin"] == "own"
    for other in (tom, admin):
        assert (await other.get(f"mcp-servers/{made['id']}")).status == 404
        assert (await other.patch(f"mcp-servers/{made['id']}", {"enabled": False})).status == 404
        assert (await other.delete(f"mcp-servers/{made['id']}")).status == 404
        assert made["id"] not in str((await other.get("mcp-servers")).json)
    shared = await added(admin, name="shared")
    assert (await mia.get(f"mcp-servers/{shared['id']}")).status == 200
    assert (await mia.patch(f"mcp-servers/{shared['id']}", {"enabled": False})).status == 403
    # Another address needs the secrets again.
    web = await admin.post(
        "mcp-servers", {"name": "web", "url": "http://127.0.0.1:1/mcp", "headers": {"X-Key": "canary-secret"}}
    )
    moved = {"url": "http://127.0.0.1:2/mcp"}
    assert (await admin.patch(f"mcp-servers/{web.json['id']}", moved)).status == 422
    again = {**moved, "headers": {"X-Key": "canary-secret"}}
    assert (await admin.patch(f"mcp-servers/{web.json['id']}", again)).status == 200
    shown = (await admin.post(f"mcp-servers/{web.json['id']}/test")).json
    assert shown["error"]
    assert "canary-secret" not in str(shown)


assert sys.platform == "linux", "these tests need the wall"


async def test_calls_continue_the_trace_of_their_turn(tmp_path: Path) -> None:
    """Where traces are exported; nobody has to listen for that."""
    nobody = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9"}
    async with serving(config_for(tmp_path / "data"), nobody) as running:
        workspace_id, _ = await place(running)
        made = await added(running.admin, "meta")
        await tried(running.admin, made["id"], workspace_id)
        calls = [await called(running.admin, workspace_id, "mcp__small__echo {}") for _ in range(2)]
    parents = [json.loads(result["output"])["traceparent"] for result in calls]
    found = [re.fullmatch(r"00-([0-9a-f]{32})-([0-9a-f]{16})-0[01]", parent) for parent in parents]
    assert all(found), parents
    assert parents[0] != parents[1]
