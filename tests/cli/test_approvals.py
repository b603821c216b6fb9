"""`holdfast approvals`: decisions for a whole chat, and revoking them."""

import json
import time
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from tests.cli.serving import Server, served

PATIENCE_SECONDS = 60.0


def call(server: Server, path: str, body: object = None) -> Any:
    token = (server.home / "data" / "admin.token").read_text().strip()
    request = urllib.request.Request(
        f"{server.url}/api/v1/{path}",
        data=None if body is None else json.dumps(body).encode(),
        headers={"Authorization": f"Bearer {token}", "Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=30) as response:
        return json.loads(response.read())


def asked(server: Server, chat_id: str) -> str:
    """The call that waits for a person."""
    ends = time.monotonic() + PATIENCE_SECONDS
    while (chat := call(server, f"chats/{chat_id}"))["status"] != "requires_action":
        assert time.monotonic() < ends, chat
        time.sleep(0.05)
    return chat["action"]["calls"][0]["call_id"]


@pytest.mark.heavy
def test_they_are_listed_and_taken_back(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    with served(tmp_path) as server:
        script = (
            'call: todo {"items": []}\n'
            f'call: request_access {{"path": "{notes.resolve()}", "reason": "notes"}}\nsay: done'
        )
        chat = call(server, "chats", {"content": script, "tools": {"todo": "ask"}})
        assert "Nothing" in server.done("approvals", chat["id"])
        for scope in ("chat", "once"):
            call_id = asked(server, chat["id"])
            decision = {"decision": "approve", "scope": scope}
            call(server, f"chats/{chat['id']}/calls/{call_id}/decision", decision)
        ends = time.monotonic() + PATIENCE_SECONDS
        while call(server, f"chats/{chat['id']}")["status"] != "idle":
            assert time.monotonic() < ends
            time.sleep(0.05)
        told = server.done("approvals", "last")
        assert "allowed" in told
        assert "todo" in told
        assert str(notes.resolve()) in told
        found = json.loads(server.done("approvals", "last", "--json"))
        for one in (*found["approvals"], *found["grants"]):
            assert server.done("approvals", "last", "--revoke", one["id"]) == "Revoked.\n"
        assert "Nothing" in server.done("approvals", "last")
        assert server.run("approvals", "last", "--revoke", "nothing").returncode == 1
