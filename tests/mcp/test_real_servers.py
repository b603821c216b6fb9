"""Servers that others wrote, from the registries: started behind the wall, listed and called."""

import asyncio
import shutil
import socket
import subprocess
import sys
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from tests.api.serving import Serving, config_for, serving
from tests.api.test_workspaces import workspace
from tests.mcp.test_servers import called, tried

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

NODE = ("@modelcontextprotocol/server-everything", "@modelcontextprotocol/server-filesystem")
PYTHON = ("mcp-server-fetch", "mcp-server-git", "mcp-server-time")
SYSTEM_PYTHON = "/usr/bin/python3"


@pytest.fixture
async def place(tmp_path: Path) -> AsyncGenerator[tuple[Serving, str, Path]]:
    """A server with a workspace in which the packages are installed: a wall shows nothing else."""
    async with serving(config_for(tmp_path / "data")) as server:
        workspace_id, root = await workspace(server)
        yield server, workspace_id, root


async def installed(*argv: str) -> None:
    done = await asyncio.to_thread(subprocess.run, argv, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]


async def in_node(root: Path) -> Path:
    npm = shutil.which("npm")
    assert npm is not None, "these tests need npm"
    await installed(npm, "install", "--no-fund", "--no-audit", "--prefix", str(root), *NODE)
    return root / "node_modules" / "@modelcontextprotocol"


async def added(server: Serving, name: str, command: str, *args: str, **more: Any) -> str:
    body = {"name": name, "command": command, "args": list(args), "approval": "allow", **more}
    answer = await server.admin.post("mcp-servers", body)
    assert answer.status == 201, answer
    return answer.json["id"]


async def test_servers_in_node(place: tuple[Serving, str, Path]) -> None:
    server, workspace_id, root = place
    packages = await in_node(root)
    everything = str(packages / "server-everything" / "dist" / "index.js")
    server_id = await added(server, "everything", "node", everything)
    shown = await tried(server.admin, server_id, workspace_id)
    assert shown["error"] is None, shown
    assert "mcp__everything__echo" in [tool["full_name"] for tool in shown["offered"]]
    assert shown["prompts"]
    result = await called(server.admin, workspace_id, 'mcp__everything__echo {"message": "hello there"}')
    assert "hello there" in str(result["output"])
    result = await called(server.admin, workspace_id, "mcp__everything__get-tiny-image {}")
    assert result["outcome"] == "succeeded", result
    assert "image" in str(result["output"])

    files = str(packages / "server-filesystem" / "dist" / "index.js")
    server_id = await added(server, "files", "node", files, str(root))
    shown = await tried(server.admin, server_id, workspace_id)
    assert shown["error"] is None, shown
    path = root / "hello.py"
    result = await called(server.admin, workspace_id, f'mcp__files__read_text_file {{"path": "{path}"}}')
    assert "print('hello')" in str(result["output"])
    result = await called(server.admin, workspace_id, 'mcp__files__read_text_file {"path": "/etc/passwd"}')
    assert "root:" not in str(result["output"])


async def test_servers_in_python(place: tuple[Serving, str, Path]) -> None:
    server, workspace_id, root = place
    await installed(sys.executable, "-m", "pip", "install", "-q", "--target", str(root / "packages"), *PYTHON)
    env = {"PYTHONPATH": str(root / "packages")}
    for name, module, call, said in (
        ("time", "mcp_server_time", 'get_current_time {"timezone": "UTC"}', "UTC"),
        ("git", "mcp_server_git", f'git_log {{"repo_path": "{root}", "max_count": 1}}', "first"),
        ("fetch", "mcp_server_fetch", 'fetch {"url": "http://127.0.0.1:9/"}', "not a public address"),
    ):
        server_id = await added(server, name, SYSTEM_PYTHON, "-m", module, env=env)
        shown = await tried(server.admin, server_id, workspace_id)
        assert shown["error"] is None, shown
        result = await called(server.admin, workspace_id, f"mcp__{name}__{call}")
        assert said in str(result["output"]), result


async def test_one_over_streamable_http(place: tuple[Serving, str, Path], tmp_path: Path) -> None:
    server, workspace_id, _ = place
    packages = await in_node(tmp_path)
    node = shutil.which("node")
    assert node is not None
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    program = str(packages / "server-everything" / "dist" / "index.js")
    process = await asyncio.create_subprocess_exec(
        node, program, "streamableHttp", env={"PORT": str(port), "PATH": "/usr/bin:/bin"}
    )
    try:
        body = {"name": "web", "url": f"http://127.0.0.1:{port}/mcp", "approval": "allow"}
        made = (await server.admin.post("mcp-servers", body)).json
        # Until it listens.
        while (await tried(server.admin, made["id"], workspace_id))["error"] is not None:  # noqa: ASYNC110
            await asyncio.sleep(0.5)
        result = await called(server.admin, workspace_id, 'mcp__web__echo {"message": "over HTTP"}')
        assert "over HTTP" in str(result["output"])
    finally:
        process.kill()
        await process.wait()
