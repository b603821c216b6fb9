"""Who may do what: every route of the running app times every role that exists. The table is here; a route
without a row fails."""

import re
from pathlib import Path
from typing import Any

import pytest
from litestar.routes import ASGIRoute, WebSocketRoute

from holdfast.api.app import litestar_app
from holdfast.core.grants import Grant
from holdfast.core.ids import CallId, ChatId, GrantId, UserId
from holdfast.store import grants
from tests.api.exports import an_export
from tests.api.serving import Client, Serving, config_for, serving
from tests.api.test_files import upload

# What each role is answered. `own`: it is the caller's. 404 and 403 as they are; 401: no credential.
# Rows: anon, own, other user, admin (of somebody else's thing), suspended, a token that may only read.
ROLES = ("anon", "own", "oth", "adm", "sus", "key")
READ = (401, "A", 404, 404, 401, "A")
WRITE = (401, "A", 404, 404, 401, 403)
OWN_LIST = (401, "A", "A", "A", 401, "A")
MAKE = (401, "A", "A", "A", 401, 403)
ADMIN = (401, 403, 403, "A", 401, 403)
SELF = (401, "A", "A", "A", 401, "A")

TABLE: dict[str, tuple[int | str, ...]] = {
    "GET /chats": OWN_LIST,
    "POST /chats": MAKE,
    "POST /chats/import": MAKE,
    "GET /chats/{chat_id}": READ,
    "PATCH /chats/{chat_id}": WRITE,
    "DELETE /chats/{chat_id}": WRITE,
    "POST /chats/{chat_id}/fork": WRITE,
    "POST /chats/{chat_id}/interrupt": WRITE,
    "POST /chats/{chat_id}/compact": WRITE,
    "POST /chats/{chat_id}/retry": WRITE,
    "POST /chats/{chat_id}/reconcile": WRITE,
    "GET /chats/{chat_id}/messages": READ,
    "GET /chats/{chat_id}/messages/{message_id}": READ,
    "POST /chats/{chat_id}/messages": WRITE,
    "PATCH /chats/{chat_id}/messages/{message_id}": WRITE,
    "GET /chats/{chat_id}/queue": READ,
    "PATCH /chats/{chat_id}/queue/{item_id}": WRITE,
    "DELETE /chats/{chat_id}/queue/{item_id}": WRITE,
    "POST /chats/{chat_id}/queue/{item_id}/promote": WRITE,
    "POST /chats/{chat_id}/tool-results": WRITE,
    "POST /chats/{chat_id}/calls/{call_id}/decision": WRITE,
    "GET /chats/{chat_id}/calls/{call_id}": READ,
    "GET /chats/{chat_id}/approvals": READ,
    "DELETE /chats/{chat_id}/approvals/{rule_id}": WRITE,
    "GET /chats/{chat_id}/feed": READ,
    "WS /chats/{chat_id}/feed/ws": READ,
    "GET /feed": OWN_LIST,
    "GET /chats/{chat_id}/trace": READ,
    "GET /chats/{chat_id}/context": READ,
    "GET /chats/{chat_id}/context/diff": READ,
    "POST /chats/{chat_id}/context/instructions": WRITE,
    "GET /chats/{chat_id}/trace/{span_id}": READ,
    "GET /chats/{chat_id}/debug/runs": READ,
    "GET /chats/{chat_id}/debug/runs/{debug_run_id}": READ,
    "GET /chats/{chat_id}/usage": READ,
    "GET /chats/{chat_id}/changes": READ,
    "GET /chats/{chat_id}/changes/{change_id}": READ,
    "POST /chats/{chat_id}/changes/apply": WRITE,
    "POST /chats/{chat_id}/changes/reject": WRITE,
    "POST /chats/{chat_id}/changes/undo": WRITE,
    "POST /chats/{chat_id}/changes/rewind": WRITE,
    "POST /chats/{chat_id}/changes/commit-message": WRITE,
    "GET /usage": OWN_LIST,
    "GET /chats/{chat_id}/export": READ,
    "GET /chats/{chat_id}/file": READ,
    "GET /models": OWN_LIST,
    "GET /modes": OWN_LIST,
    "GET /tools": OWN_LIST,
    "GET /workspaces": OWN_LIST,
    "POST /workspaces": MAKE,
    "GET /workspaces/at": OWN_LIST,
    "GET /workspaces/{workspace_id}": READ,
    "DELETE /workspaces/{workspace_id}": WRITE,
    "GET /workspaces/{workspace_id}/files": READ,
    "GET /workspaces/{workspace_id}/diff": READ,
    "POST /workspaces/{workspace_id}/git/commit": WRITE,
    "POST /workspaces/{workspace_id}/git/branch": WRITE,
    "GET /workspaces/{workspace_id}/git/patch": READ,
    "GET /workspaces/{workspace_id}/worktrees": READ,
    "POST /workspaces/{workspace_id}/worktrees/{worktree_id}/keep": WRITE,
    "POST /workspaces/{workspace_id}/worktrees/{worktree_id}/merge": WRITE,
    "POST /workspaces/{workspace_id}/worktrees/{worktree_id}/remove": WRITE,
    "GET /workspaces/{workspace_id}/code-map": READ,
    "GET /workspaces/{workspace_id}/agents": READ,
    "POST /workspaces/{workspace_id}/agents/trust": WRITE,
    "GET /workspaces/{workspace_id}/trust": READ,
    "POST /workspaces/{workspace_id}/trust": WRITE,
    "GET /skills": OWN_LIST,
    "GET /templates": OWN_LIST,
    "GET /templates/one": OWN_LIST,
    "POST /templates/trust": MAKE,
    "GET /workspace-builds": OWN_LIST,
    "POST /workspace-builds": MAKE,
    "GET /workspace-builds/{build_id}": READ,
    "GET /hooks": OWN_LIST,
    "GET /hooks/runs": OWN_LIST,
    "POST /hooks/{hook_id}/test": WRITE,
    "POST /files": MAKE,
    "GET /files/{file_id}": READ,
    "GET /files/{file_id}/thumbnail": READ,
    "GET /approvals": OWN_LIST,
    "DELETE /approvals/{rule_id}": WRITE,
    "GET /grants": OWN_LIST,
    "DELETE /grants/{grant_id}": WRITE,
    "GET /agents": OWN_LIST,
    "POST /agents": MAKE,
    # Admins see to everybody's agents.
    "GET /agents/{agent_id}": (401, "A", 404, "A", 401, "A"),
    "PATCH /agents/{agent_id}": (401, "A", 404, "A", 401, 403),
    "DELETE /agents/{agent_id}": (401, "A", 404, "A", 401, 403),
    "GET /workflows": OWN_LIST,
    "GET /workflows/{name}": OWN_LIST,
    "GET /flows": OWN_LIST,
    "GET /flows/{name}": OWN_LIST,
    "GET /flow-runs": OWN_LIST,
    "POST /flow-runs": MAKE,
    "GET /flow-runs/{flow_run_id}": READ,
    "GET /flow-runs/{flow_run_id}/output": READ,
    "POST /flow-runs/{flow_run_id}/steps/{step_id}/decision": WRITE,
    "POST /flow-runs/{flow_run_id}/steps/{step_id}/retry": WRITE,
    "POST /flow-runs/{flow_run_id}/retry": WRITE,
    "POST /flow-runs/{flow_run_id}/cancel": WRITE,
    "GET /flow-runs/{flow_run_id}/feed": READ,
    "WS /flow-runs/{flow_run_id}/feed/ws": READ,
    "GET /workflow-runs": OWN_LIST,
    "POST /workflow-runs": MAKE,
    "GET /workflow-runs/{run_id}": READ,
    "POST /workflow-runs/{run_id}/cancel": WRITE,
    "GET /workflow-runs/{run_id}/feed": READ,
    "WS /workflow-runs/{run_id}/feed/ws": READ,
    "GET /providers": ADMIN,
    "PUT /providers/{name}": ADMIN,
    "DELETE /providers/{name}": ADMIN,
    "GET /providers/{name}/models": ADMIN,
    "PUT /models/default": ADMIN,
    "GET /model-configs": ADMIN,
    "PUT /model-configs/{name}": ADMIN,
    "DELETE /model-configs/{name}": ADMIN,
    "POST /model-configs/{name}/test": ADMIN,
    "GET /mcp-servers": OWN_LIST,
    "POST /mcp-servers": MAKE,
    "POST /mcp-servers/sign-in": MAKE,
    "GET /mcp-servers/{server_id}": READ,
    "PATCH /mcp-servers/{server_id}": WRITE,
    "DELETE /mcp-servers/{server_id}": WRITE,
    "POST /mcp-servers/{server_id}/test": WRITE,
    "POST /mcp-servers/{server_id}/approve": WRITE,
    "POST /mcp-servers/{server_id}/connect": WRITE,
    "POST /mcp-servers/{server_id}/prompts": WRITE,
    "GET /mcp-values": OWN_LIST,
    "PUT /mcp-values/{name}": MAKE,
    "DELETE /mcp-values/{name}": MAKE,
    "GET /chats/{chat_id}/mcp-questions": READ,
    "POST /chats/{chat_id}/mcp-questions/{question_id}": WRITE,
    "GET /session": SELF,
    "DELETE /session": SELF,
    "GET /users": ADMIN,
    "POST /users": ADMIN,
    "GET /users/{user_id}": (401, "A", 403, "A", 401, "A"),
    "PATCH /users/{user_id}": ADMIN,
    "POST /users/{user_id}/sign-in": ADMIN,
    "GET /tokens": SELF,
    # Tokens are made in a session, or by an admin's token.
    "POST /tokens": (401, 403, 403, "A", 401, 403),
    # A narrow one (all but the admin's are, here) ends itself and no other.
    "DELETE /tokens/{token_id}": (401, 403, 403, "A", 401, "A"),
    "GET /audit": ADMIN,
    "GET /settings": OWN_LIST,
    "PATCH /settings": MAKE,
    "PATCH /settings/server": ADMIN,
    "POST /settings/reload": ADMIN,
    "GET /metrics": ADMIN,
}
PUBLIC = {"POST /session"}
SCRIPT = "meta = {'name': 'x', 'description': 'y'}\nreturn 1"
FLOW = "{name: f, description: d, steps: [{id: a, kind: approval, text: ok?}]}"
BODIES: dict[str, object] = {
    "POST /chats": {"content": "say: hi"},
    "POST /chats/import": an_export(),
    "PATCH /chats/{chat_id}": {"title": "x"},
    "POST /chats/{chat_id}/fork": {},
    "POST /chats/{chat_id}/messages": {"content": "say: hi"},
    "PATCH /chats/{chat_id}/messages/{message_id}": {"content": "say: hi"},
    "PATCH /chats/{chat_id}/queue/{item_id}": {"position": 0},
    "POST /chats/{chat_id}/tool-results": {"results": [{"call_id": "x", "output": 1}]},
    "POST /chats/{chat_id}/calls/{call_id}/decision": {"decision": "approve"},
    **{f"POST /chats/{{chat_id}}/changes/{verb}": {"all": True} for verb in ("apply", "reject", "undo")},
    "POST /chats/{chat_id}/changes/rewind": {
        "message_id": "01890000-0000-7000-8000-000000000001",
        "what": "files",
    },
    "POST /workspaces/{workspace_id}/git/branch": {"name": "side"},
    "POST /workspaces/{workspace_id}/git/commit": {"message": "x"},
    "POST /workspaces": {"name": "w", "path": "/nowhere"},
    "POST /workspaces/{workspace_id}/agents/trust": {"path": ".agents/agents/x.md", "digest": "0" * 64},
    "POST /workspaces/{workspace_id}/trust": {
        "items": [{"path": ".mcp.json", "hash": "0" * 64}],
        "decision": "trust",
    },
    "POST /templates/trust": {"template": "nothing", "hash": "0" * 64, "decision": "trust"},
    "POST /workspace-builds": {"template": "nothing"},
    "POST /mcp-servers": {"name": "fresh", "command": "no-such-program"},
    "POST /mcp-servers/sign-in": {"state": "x", "code": "y"},
    "PATCH /mcp-servers/{server_id}": {"enabled": True},
    "POST /mcp-servers/{server_id}/approve": {},
    "POST /mcp-servers/{server_id}/connect": {"redirect_uri": "http://127.0.0.1/settings/mcp"},
    "POST /mcp-servers/{server_id}/prompts": {"name": "x"},
    "PUT /mcp-values/{name}": {"value": "x"},
    "POST /chats/{chat_id}/mcp-questions/{question_id}": {"action": "decline"},
    "POST /agents": {"name": "fresh"},
    "PATCH /agents/{agent_id}": {"description": "x"},
    "POST /workflow-runs": {"script": SCRIPT, "language": "python"},
    "POST /flow-runs": {"flow": FLOW},
    "POST /flow-runs/{flow_run_id}/retry": {},
    "POST /flow-runs/{flow_run_id}/steps/{step_id}/decision": {"decision": "approve"},
    "PUT /providers/{name}": {"kind": "demo"},
    "PUT /model-configs/{name}": {"provider": "demo", "model": "demo"},
    "PUT /models/default": {"name": None},
    "POST /users": {"name": "newcomer"},
    "PATCH /users/{user_id}": {"name": "owner"},
    "POST /tokens": {"name": "x", "scopes": ["chats:read"]},
    "PATCH /settings": {"theme": "dark"},
    "PATCH /settings/server": {"theme": "dark"},
}


def routes(server: Serving) -> set[str]:
    """Every route and method under /api/v1 of the app as it runs."""
    found: set[str] = set()
    for route in litestar_app(server.parts.services).routes:
        if isinstance(route, ASGIRoute) or not route.path.startswith("/api/v1/"):
            continue
        path = re.sub(r":\w+\}", "}", route.path.removeprefix("/api/v1"))
        methods = {"WS"} if isinstance(route, WebSocketRoute) else route.methods
        found |= {f"{method} {path}" for method in methods - {"OPTIONS", "HEAD"}}
    return found


async def test_every_route_has_a_row(server: Serving) -> None:
    assert routes(server) == TABLE.keys() | PUBLIC


class Cast:
    """The people of the table, and what belongs to `own`."""

    def __init__(self, server: Serving) -> None:
        self.server = server
        self.clients: dict[str, Client] = {"anon": server.nobody, "adm": server.admin}
        self.ids: dict[str, str] = {}

    async def assemble(self) -> "Cast":
        server = self.server
        for name in ("own", "oth", "sus"):
            self.clients[name] = await server.member(name)
        own = self.clients["own"]
        narrowed = await own.browser.post("tokens", {"name": "narrow", "scopes": ["chats:read"]})
        self.clients["key"] = server.client(narrowed.json["secret"])
        self.ids["token_id"] = narrowed.json["token"]["id"]
        self.ids["user_id"] = (await own.get("session")).json["user"]["id"]
        chat = await own.start_chat('call: todo {"items": []}\nsay: hi', tools={"todo": "ask"})
        self.ids["chat_id"] = chat["id"]
        self.ids["rule_id"] = await self._rule(chat["id"])
        await own.until_settled(chat["id"])
        messages = await own.messages(chat["id"])
        self.ids["message_id"] = messages[0]["id"]
        self.ids["call_id"] = messages[1]["parts"][0]["call_id"]
        self.ids["item_id"] = messages[0]["id"]
        self.ids["span_id"] = "turn-1"
        self.ids["name"] = "nothing"
        self.ids["workspace_id"] = await self._workspace()
        self.ids["file_id"] = (await upload(own, b"text", "a.txt")).json["id"]
        self.ids["grant_id"] = await self._grant(chat["id"])
        self.ids["agent_id"] = (await own.post("agents", {"name": "mine"})).json["id"]
        program = {"name": "mine", "command": "no-such-program"}
        self.ids["server_id"] = (await own.post("mcp-servers", program)).json["id"]
        self.ids["question_id"] = self.ids["debug_run_id"] = self.ids["build_id"] = self.ids["server_id"]
        self.ids["hook_id"] = "0" * 16
        run = await own.post("workflow-runs", {"script": SCRIPT, "language": "python"})
        self.ids["run_id"] = run.json["id"]
        flow_run = await own.post("flow-runs", {"flow": FLOW})
        self.ids |= {"flow_run_id": flow_run.json["id"], "step_id": "a"}
        suspended = (await self.clients["sus"].get("session")).json["user"]["id"]
        await server.admin.patch(f"users/{suspended}", {"suspended": True})
        return self

    async def _rule(self, chat_id: str) -> str:
        """What a person said of a tool for the whole chat."""
        own = self.clients["own"]
        waiting = await own.until_status(chat_id, "requires_action")
        call_id = waiting["action"]["calls"][0]["call_id"]
        decision = {"decision": "approve", "scope": "chat"}
        assert (await own.post(f"chats/{chat_id}/calls/{call_id}/decision", decision)).status == 202
        return call_id

    async def _grant(self, chat_id: str) -> str:
        services, owner = self.server.parts.services, UserId(self.ids["user_id"])
        now = services.clock.now()
        new = Grant(
            id=GrantId(services.ids.uuid7(now)),
            chat_id=ChatId(chat_id),
            call_id=CallId("asked"),
            path="/nowhere",
            kind="file",
            reason="",
            granted_by=owner,
            granted_at=now,
        )
        return (await services.store.write(grants.add(new, owner))).id

    async def _workspace(self) -> str:
        root = self.server.data.parent / "code"
        root.mkdir(exist_ok=True)
        made = await self.clients["own"].post("workspaces", {"name": "code", "path": str(root)})
        assert made.status == 201, made
        return made.json["id"]

    async def status(self, role: str, row: str) -> int:
        method, _, path = row.partition(" ")
        for name, value in self.ids.items():
            path = path.replace("{" + name + "}", value)
        client = self.clients[role]
        if method == "WS":
            return await self._handshake(client, path)
        headers = {"Accept": "text/event-stream"} if path.endswith("feed") else {}
        body = BODIES.get(row)
        if path.endswith("/feed"):
            return await self._first_status(client, path)
        if row == "POST /files":
            return (await upload(client, b"text", "a.txt")).status
        return (await client.request(method, path[1:], body, headers=headers)).status

    async def _first_status(self, client: Client, path: str) -> int:
        headers = {} if client.token is None else {"Authorization": f"Bearer {client.token}"}
        async with client.session.get(f"{client.address}/api/v1{path}", headers=headers) as response:
            return response.status

    async def _handshake(self, client: Client, path: str) -> int:
        import aiohttp

        headers = {} if client.token is None else {"Authorization": f"Bearer {client.token}"}
        try:
            async with client.session.ws_connect(f"{client.address}/api/v1{path}", headers=headers):
                return 101
        except aiohttp.WSServerHandshakeError as error:
            return error.status


@pytest.mark.heavy
@pytest.mark.parametrize("role", ROLES)
async def test_the_table(role: str, tmp_path: Path) -> None:
    async with serving(config_for(tmp_path / "data")) as server:
        cast = await Cast(server).assemble()
        wrong: list[str] = []
        for row in sorted(TABLE, key=_last_what_destroys):
            expected = TABLE[row][ROLES.index(role)]
            status = await cast.status(role, row)
            allowed = status < 400 or status in (404, 409, 422) if expected == "A" else status == expected
            if not allowed:
                wrong.append(f"{role}: {row} gave {status}, not {expected}")
        assert wrong == []


def _last_what_destroys(row: str) -> tuple[int, str]:
    """What takes the caller's own things or credential away comes last."""
    order = [
        "DELETE /chats/{chat_id}/approvals/{rule_id}",
        "DELETE /chats/{chat_id}",
        "DELETE /agents/{agent_id}",
        "DELETE /mcp-servers/{server_id}",
        "DELETE /session",
        "DELETE /tokens/{token_id}",
    ]
    return (order.index(row) + 1 if row in order else 0, row)


async def test_a_strangers_thing_looks_like_nothing(server: Serving) -> None:
    """AC-02, AC-03: the same answer for another user's id as for one that nobody has."""
    cast = await Cast(server).assemble()
    other, own = cast.clients["oth"], cast.clients["own"]
    chat_id = cast.ids["chat_id"]
    missing = chat_id[:-4] + ("0000" if not chat_id.endswith("0000") else "1111")
    for path in ("chats/{}", "chats/{}/messages", "chats/{}/trace", "chats/{}/usage", "chats/{}/export"):
        theirs, nobodys = await other.get(path.format(chat_id)), await other.get(path.format(missing))
        assert (theirs.status, theirs.body) == (404, nobodys.body), path
    mine = await other.start_chat("say: hi")
    await other.until_settled(mine["id"])
    nested = await other.get(f"chats/{mine['id']}/messages/{cast.ids['message_id']}")
    assert nested.status == 404
    assert (await other.get(f"chats/{mine['id']}/calls/{cast.ids['call_id']}")).status == 404
    assert (await own.get(f"chats/{chat_id}/messages/{cast.ids['message_id']}")).status == 200


async def test_without_a_credential_only_the_public_paths_answer(server: Serving) -> None:
    """AC-01: at most six."""
    answered = [
        path
        for path in ("/healthz", "/readyz", "/", "/login", "/settings", "/chats/x")
        if (await server.nobody.get(path)).status == 200
    ]
    assert len(answered) == 6
    for path in (
        "/docs/api",
        "/docs/api/",
        "/api",
        "/api/openapi.json",
        "/api/v1",
        "/api/v1/nothing",
        "/v1/models",
    ):
        answer = await server.nobody.get(path)
        assert (answer.status, answer.code) == (401, "unauthorized"), path
    assert (await server.nobody.get("/assets/../index.html")).status in (401, 404)
    traversal: Any = await server.nobody.get("/assets/%2e%2e/%2e%2e/api/app.py")
    assert traversal.status in (401, 404)
