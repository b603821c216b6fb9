"""Every route that changes something takes an idempotency key (rule 12): the table here is compared with the
OpenAPI document, so that none is forgotten."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from holdfast.api.app import document
from tests.api.exports import an_export
from tests.api.serving import PATIENCE_SECONDS, Client, Serving
from tests.api.test_calls import asked
from tests.api.test_grants import asks, decide
from tests.api.test_queue import busy_chat, queue

SCRIPT = "meta = {'name': 'x', 'description': 'y'}\nreturn 1"
TODO = 'call: todo {"items": []}\nsay: hi'
MODEL = {"provider": "demo", "model": "demo"}

# Parts of the path, and the body.
Ready = tuple[dict[str, str], object]
Make = Callable[[Client, Path], Awaitable[Ready]]


def _only(body: object, **names: str) -> Make:
    """Nothing must be there before."""

    async def make(_: Client, __: Path) -> Ready:
        return names, body

    return make


async def _settled(admin: Client, body: object, content: str = "say: hi") -> Ready:
    chat = await admin.start_chat(content)
    await admin.until_settled(chat["id"])
    first = (await admin.messages(chat["id"]))[0]
    return {"chat_id": chat["id"], "message_id": first["id"]}, body


async def _busy(admin: Client) -> Ready:
    return {"chat_id": await busy_chat(admin)}, None


async def _queued(admin: Client, body: object) -> Ready:
    chat_id = await busy_chat(admin)
    (item,) = await queue(admin, chat_id, "later")
    return {"chat_id": chat_id, "item_id": item["id"]}, body


async def _question(admin: Client) -> Ready:
    chat = await admin.start_chat('call: ask_user {"questions": [{"id": "q", "text": "Tea?"}]}\nsay: hi')
    (call,) = await asked(admin, chat["id"])
    return {"chat_id": chat["id"]}, {"results": [{"call_id": call["call_id"], "output": {"q": "yes"}}]}


async def _approval(admin: Client) -> Ready:
    chat = await admin.start_chat(TODO, tools={"todo": "ask"})
    (call,) = await asked(admin, chat["id"])
    return {"chat_id": chat["id"], "call_id": call["call_id"]}, {"decision": "approve", "scope": "chat"}


async def _rule(admin: Client) -> Ready:
    names, decision = await _approval(admin)
    path = f"chats/{names['chat_id']}/calls/{names['call_id']}/decision"
    assert (await admin.post(path, decision)).status == 202
    await admin.until_settled(names["chat_id"])
    return {"chat_id": names["chat_id"], "rule_id": names["call_id"]}, None


async def _lasting_rule(admin: Client) -> Ready:
    names, _ = await _approval(admin)
    path = f"chats/{names['chat_id']}/calls/{names['call_id']}/decision"
    assert (await admin.post(path, {"decision": "approve", "scope": "always"})).status == 202
    await admin.until_settled(names["chat_id"])
    return {"rule_id": (await admin.get("approvals")).json["items"][0]["id"]}, None


async def _workspace(_: Client, place: Path) -> Ready:
    return {}, {"name": "a", "path": str(place)}


async def _workspace_agent(admin: Client, place: Path, name: str = "agents") -> Ready:
    (place / ".holdfast" / "agents").mkdir(parents=True, exist_ok=True)
    file = place / ".holdfast" / "agents" / "reader.md"
    file.write_text("---\nname: reader\ndescription: Reads\n---\nYou read.\n")
    names, _ = await _made(admin, "workspace_id", "workspaces", {"name": name, "path": str(place)})
    (agent,) = (await admin.get(f"workspaces/{names['workspace_id']}/agents")).json["items"]
    return names, {"path": agent["path"], "digest": agent["digest"]}


async def _workspace_trust(admin: Client, place: Path) -> Ready:
    names, _ = await _workspace_agent(admin, place, "trusting")
    (item,) = (await admin.get(f"workspaces/{names['workspace_id']}/trust")).json["items"]
    return names, {"items": [{"path": item["path"], "hash": item["hash"]}], "decision": "trust"}


async def _drifted(admin: Client, place: Path) -> Ready:
    """A chat whose instructions were changed on disk since."""
    names, _ = await _made(admin, "workspace_id", "workspaces", {"name": "drifted", "path": str(place)})
    (place / "AGENTS.md").write_text("Use tabs.")
    chat = await admin.start_chat("say: hi", workspace_id=names["workspace_id"])
    await admin.until_settled(chat["id"])
    (place / "AGENTS.md").write_text("Use spaces.")
    return {"chat_id": chat["id"]}, None


async def _grant(admin: Client, outside: Path) -> Ready:
    chat_id, call = await asks(admin, outside)
    await decide(admin, chat_id, call, "approve")
    await admin.until_settled(chat_id)
    return {"grant_id": (await admin.get("grants")).json["items"][0]["id"]}, None


async def _made(admin: Client, name: str, path: str, body: object, then: object = None) -> Ready:
    """Something of its own, to be changed or removed."""
    made = await admin.post(path, body)
    assert made.status < 300, made
    found: dict[str, Any] = made.json.get("token") or made.json.get("user") or made.json
    return {name: found["id"]}, then


async def _put(admin: Client, path: str, body: object) -> Ready:
    assert (await admin.put(f"{path}/gone", body)).status == 200
    return {"name": "gone"}, None


FLOW = "{name: f, description: d, steps: [{id: a, kind: approval, text: ok?}]}"


async def _cancelled_flow(admin: Client, body: object) -> Ready:
    run = (await admin.post("flow-runs", {"flow": FLOW})).json
    await admin.post(f"flow-runs/{run['id']}/cancel")
    return {"flow_run_id": run["id"], "step_id": "a"}, body


async def _flow_approval(admin: Client) -> Ready:
    run = (await admin.post("flow-runs", {"flow": FLOW})).json
    async with asyncio.timeout(PATIENCE_SECONDS):
        while (await admin.get(f"flow-runs/{run['id']}")).json["steps"][0]["state"] != "waiting":  # noqa: ASYNC110
            await asyncio.sleep(0.05)
    return {"flow_run_id": run["id"], "step_id": "a"}, {"decision": "approve"}


ROUTES: dict[str, Make] = {
    "POST chats": _only({"content": "say: hi"}),
    "POST chats/import": _only(an_export()),
    "PATCH chats/{chat_id}": lambda admin, _: _settled(admin, {"pinned": True}),
    "DELETE chats/{chat_id}": lambda admin, _: _settled(admin, None),
    "POST chats/{chat_id}/fork": lambda admin, _: _settled(admin, {}),
    "POST chats/{chat_id}/interrupt": lambda admin, _: _busy(admin),
    "POST chats/{chat_id}/compact": lambda admin, _: _settled(admin, None),
    "POST chats/{chat_id}/retry": lambda admin, _: _settled(admin, None, "fail: auth"),
    "POST chats/{chat_id}/reconcile": lambda admin, _: _settled(admin, None),
    "POST chats/{chat_id}/messages": lambda admin, _: _settled(admin, {"content": "say: hi"}),
    "PATCH chats/{chat_id}/messages/{message_id}": lambda admin, _: _settled(admin, {"content": "say: ho"}),
    "PATCH chats/{chat_id}/queue/{item_id}": lambda admin, _: _queued(admin, {"content": "say: ho"}),
    "DELETE chats/{chat_id}/queue/{item_id}": lambda admin, _: _queued(admin, None),
    "POST chats/{chat_id}/queue/{item_id}/promote": lambda admin, _: _queued(admin, None),
    "POST chats/{chat_id}/tool-results": lambda admin, _: _question(admin),
    "POST chats/{chat_id}/calls/{call_id}/decision": lambda admin, _: _approval(admin),
    "DELETE chats/{chat_id}/approvals/{rule_id}": lambda admin, _: _rule(admin),
    "DELETE approvals/{rule_id}": lambda admin, _: _lasting_rule(admin),
    "POST chats/{chat_id}/context/instructions": _drifted,
    "POST workspaces": _workspace,
    "DELETE workspaces/{workspace_id}": lambda admin, place: _made(
        admin, "workspace_id", "workspaces", {"name": "b", "path": str(place)}
    ),
    "POST workspaces/{workspace_id}/agents/trust": _workspace_agent,
    "POST workspaces/{workspace_id}/trust": _workspace_trust,
    "POST mcp-servers": _only({"name": "one", "command": "no-such-program"}),
    "PATCH mcp-servers/{server_id}": lambda admin, _: _made(
        admin, "server_id", "mcp-servers", {"name": "two", "command": "none"}, {"enabled": False}
    ),
    "DELETE mcp-servers/{server_id}": lambda admin, _: _made(
        admin, "server_id", "mcp-servers", {"name": "three", "command": "none"}
    ),
    "PUT mcp-values/{name}": _only({"value": "v"}, name="A_NAME"),
    "DELETE mcp-values/{name}": _only(None, name="A_NAME"),
    "DELETE grants/{grant_id}": _grant,
    "POST agents": _only({"name": "one"}),
    "PATCH agents/{agent_id}": lambda admin, _: _made(
        admin, "agent_id", "agents", {"name": "two"}, {"description": "x"}
    ),
    "DELETE agents/{agent_id}": lambda admin, _: _made(admin, "agent_id", "agents", {"name": "three"}),
    "POST workflow-runs": _only({"script": SCRIPT, "language": "python"}),
    "POST workflow-runs/{run_id}/cancel": lambda admin, _: _made(
        admin, "run_id", "workflow-runs", {"script": SCRIPT, "language": "python"}
    ),
    "POST flow-runs": _only({"flow": FLOW}),
    "POST flow-runs/{flow_run_id}/cancel": lambda admin, _: _made(
        admin, "flow_run_id", "flow-runs", {"flow": FLOW}
    ),
    "POST flow-runs/{flow_run_id}/retry": lambda admin, _: _cancelled_flow(admin, {}),
    "POST flow-runs/{flow_run_id}/steps/{step_id}/retry": lambda admin, _: _cancelled_flow(admin, None),
    "POST flow-runs/{flow_run_id}/steps/{step_id}/decision": lambda admin, _: _flow_approval(admin),
    "PUT providers/{name}": _only({"kind": "openai", "api_key": "k"}, name="p"),
    "DELETE providers/{name}": lambda admin, _: _put(admin, "providers", {"kind": "openai", "api_key": "k"}),
    "PUT model-configs/{name}": _only(MODEL, name="m"),
    "DELETE model-configs/{name}": lambda admin, _: _put(admin, "model-configs", MODEL),
    "PUT models/default": _only({"name": None}),
    "POST users": _only({"name": "una"}),
    "PATCH users/{user_id}": lambda admin, _: _made(
        admin, "user_id", "users", {"name": "duo"}, {"name": "tre"}
    ),
    "POST users/{user_id}/sign-in": lambda admin, _: _made(admin, "user_id", "users", {"name": "quin"}),
    "POST tokens": _only({"name": "one"}),
    "DELETE tokens/{token_id}": lambda admin, _: _made(admin, "token_id", "tokens", {"name": "two"}),
    "PATCH settings": _only({"theme": "dark"}),
    "PATCH settings/server": _only({"greeting": "hi"}),
    "POST settings/reload": _only(None),
}
# Templates have to be configured: test_templates asks for these twice.
CONFIGURED = {"POST templates/trust", "POST workspace-builds"}
# Their answer has a secret: who asks again is told that it is not kept.
SECRET = {"POST users", "POST users/{user_id}/sign-in", "POST tokens"}
WITHOUT = {
    # Nobody yet, whose key it could be; and then nobody any more.
    "POST session",
    "DELETE session",
    # Changes nothing.
    "POST chats/{chat_id}/changes/commit-message",
    "POST hooks/{hook_id}/test",
    "POST model-configs/{name}/test",
    # What is done already is named, or there is nothing left to do: a second time changes no file.
    "POST chats/{chat_id}/changes/apply",
    "POST chats/{chat_id}/changes/reject",
    "POST chats/{chat_id}/changes/rewind",
    "POST chats/{chat_id}/changes/undo",
    "POST workspaces/{workspace_id}/git/branch",
    "POST workspaces/{workspace_id}/git/commit",
    "POST workspaces/{workspace_id}/worktrees/{worktree_id}/keep",
    "POST workspaces/{workspace_id}/worktrees/{worktree_id}/merge",
    "POST workspaces/{workspace_id}/worktrees/{worktree_id}/remove",
    # Talks with somebody else's program.
    "POST chats/{chat_id}/mcp-questions/{question_id}",
    "POST mcp-servers/sign-in",
    "POST mcp-servers/{server_id}/approve",
    "POST mcp-servers/{server_id}/connect",
    "POST mcp-servers/{server_id}/prompts",
    "POST mcp-servers/{server_id}/test",
    # A form, which is told apart by what the file holds (test_files).
    "POST files",
}


def test_the_table_has_every_route_that_changes_something() -> None:
    found = {
        f"{method.upper()} {path.removeprefix('/api/v1/')}"
        for path, item in document()["paths"].items()
        for method in item
        if method in ("post", "put", "patch", "delete")
    }
    assert found == {*ROUTES, *CONFIGURED, *WITHOUT}


def test_the_document_says_which_take_a_key() -> None:
    said = {
        f"{method.upper()} {path.removeprefix('/api/v1/')}"
        for path, item in document()["paths"].items()
        for method, operation in item.items()
        for parameter in operation.get("parameters", ())
        if (parameter["name"], parameter["in"]) == ("Idempotency-Key", "header")
    }
    assert said == {*ROUTES, *CONFIGURED, "POST files"}


@pytest.mark.heavy
@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
async def test_a_key_makes_it_happen_once(server: Serving, tmp_path: Path, method: str) -> None:
    admin = server.admin
    for number, (route, make) in enumerate(ROUTES.items()):
        if not route.startswith(method):
            continue
        place = tmp_path / f"place-{number}"
        place.mkdir()
        names, body = await make(admin, place)
        path = route.partition(" ")[2].format_map(names)
        key = {"Idempotency-Key": route.translate(str.maketrans(" {}", "___"))}
        first = await admin.request(method, path, body, headers=key)
        assert first.status < 300, (route, first)
        again = await admin.request(method, path, body, headers=key)
        if route in SECRET:
            assert (again.status, again.code) == (409, "shown_once"), route
        else:
            assert (again.status, again.body) == (first.status, first.body), route
        other = await admin.request(method, path, {"something": "else"}, headers=key)
        assert (other.status, other.code) == (409, "idempotency_mismatch"), route
