"""The same through a server: what an agent left in its workspace, and what people and agents then ask for."""

import json
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from tests.api.serving import Serving, config_for, serving
from tests.security.repositories import index_of
from tests.workspaces.repository import git, make_repository

pytestmark = pytest.mark.heavy


@pytest.fixture
async def server(tmp_path: Path) -> AsyncGenerator[Serving]:
    async with serving(config_for(tmp_path / "data", "sqlite")) as running:
        yield running


async def made(server: Serving) -> tuple[str, Path]:
    root = server.data.parent / "project"
    make_repository(root, {"a.txt": "one\n", "Makefile": "check:\n\techo checked\n"})
    answer = await server.admin.post("workspaces", {"name": "project", "path": str(root)})
    return answer.json["id"], root


def plant(server: Serving, root: Path) -> str:
    """An index that names the token of the server, and a sparse file that is a link to it."""
    token = server.data / "admin.token"
    token.write_text("hf_the_token_of_the_administrator\n")
    git(root, "config", "core.sparseCheckout", "true")
    (root / ".git" / "info" / "sparse-checkout").symlink_to(token)
    blob = bytes.fromhex(git(root, "rev-parse", "HEAD:a.txt").strip())
    (root / ".git" / "index").write_bytes(index_of({"/etc/passwd": blob, str(token): blob}))
    return "hf_the_token_of_the_administrator"


def everything(*directories: Path) -> str:
    return "\n".join(
        path.read_text("utf-8", "replace")
        for directory in directories
        for path in directory.rglob("*")
        if path.is_file() and not path.is_symlink()
    )


async def test_a_difference_tells_nothing_of_the_server(server: Serving) -> None:
    workspace_id, root = await made(server)
    token = plant(server, root)
    answer = await server.admin.get(f"workspaces/{workspace_id}/diff")
    assert answer.status == 200
    assert "-one" in answer.json["diff"] or "deleted file" in answer.json["diff"]
    assert token not in answer.json["diff"]
    assert "root:" not in answer.json["diff"]


async def test_a_worktree_of_a_sub_agent_has_nothing_of_the_server(server: Serving) -> None:
    workspace_id, root = await made(server)
    token = plant(server, root)
    write = json.dumps({"path": "x", "content": "y"})
    spawn = json.dumps({"prompt": f"call: write_file {write}", "isolation": "worktree"})
    chat = await server.admin.start_chat(f"call: spawn_agent {spawn}\nsay: ok", workspace_id=workspace_id)
    await server.admin.until_settled(chat["id"])
    assert list((server.data / "worktrees").iterdir()), "it was made"
    assert token not in everything(root, server.data / "worktrees")


async def test_an_agent_cannot_write_a_hook(server: Serving) -> None:
    workspace_id, root = await made(server)
    ask = 'call: write_file {"path": ".git/hooks/pre-commit", "content": "evil"}\nsay: {result}'
    chat = await server.admin.start_chat(ask, workspace_id=workspace_id)
    await server.admin.until_settled(chat["id"])
    assert "people's own git would run" in str(await server.admin.messages(chat["id"]))
    assert not (root / ".git" / "hooks" / "pre-commit").exists()


async def test_a_check_runs_only_where_commands_may(server: Serving) -> None:
    """The Makefile is the agent's to write."""
    workspace_id, _ = await made(server)
    ask = 'call: write_file {"path": "new", "content": "x"}\nsay: {result}'
    for tools, runs in (({"execute": "deny"}, False), ({"execute": "ask"}, False), (None, True)):
        more = {} if tools is None else {"tools": tools}
        chat = await server.admin.start_chat(
            ask.replace("new", f"new{runs}{tools}".replace('"', "").replace("'", "")),
            workspace_id=workspace_id,
            **more,
        )
        await server.admin.until_settled(chat["id"])
        told = str(await server.admin.messages(chat["id"], "visibility=all&limit=200"))
        assert ("make check" in told) is runs, tools
