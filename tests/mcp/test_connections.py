"""Connections to MCP servers: one program for all calls, tried again after a pause, ended when nobody uses
it."""

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from tests.api.serving import Serving, config_for, serving
from tests.mcp.test_servers import added, called, place, tried

pytestmark = [pytest.mark.heavy, pytest.mark.timeout(300)]


@pytest.fixture
async def server(tmp_path: Path) -> AsyncGenerator[Serving]:
    async with serving(config_for(tmp_path / "data")) as running:
        yield running


async def test_one_program_serves_all_calls_until_it_dies_and_is_started_again(
    server: Serving, monkeypatch: pytest.MonkeyPatch
) -> None:
    admin = server.admin
    workspace_id, root = await place(server)
    made = await added(admin, "counts", "die-once")
    await asyncio.gather(*(tried(admin, made["id"], workspace_id) for _ in range(4)))
    assert (root / "starts").read_text().count("\n") == 1

    monkeypatch.setattr("holdfast.tools.mcp.servers.FIRST_BACKOFF_SECONDS", 3600.0)
    call = 'mcp__small__echo {"text": "hi"}'
    assert "its program ended" in (await called(admin, workspace_id, call))["output"]
    # Nobody waits for it, and it is not started for every call.
    again = await called(admin, workspace_id, call)
    assert "it is tried again in a while" in again["output"]
    assert (root / "starts").read_text().count("\n") == 1
    # Unless a person says so.
    shown = await tried(admin, made["id"], workspace_id)
    assert (shown["state"], shown["error"]) == ("ready", None)
    assert (await called(admin, workspace_id, call))["output"] == "echo: hi"
    assert (root / "starts").read_text().count("\n") == 2


async def test_one_that_nobody_uses_is_ended(server: Serving, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holdfast.tools.mcp.servers.IDLE_SECONDS", 0.2)
    admin = server.admin
    workspace_id, root = await place(server)
    made = await added(admin, "counts")
    await tried(admin, made["id"], workspace_id)

    async def state() -> str:
        return (await admin.get(f"mcp-servers/{made['id']}?workspace_id={workspace_id}")).json["state"]

    async with asyncio.timeout(60):
        while await state() != "idle":  # noqa: ASYNC110
            await asyncio.sleep(0.05)
    # That is no failure: the next call starts it.
    assert (await called(admin, workspace_id, 'mcp__small__echo {"text": "hi"}'))["output"] == "echo: hi"
    assert (root / "starts").read_text().count("\n") == 2


async def test_a_server_that_says_its_tools_changed_is_asked_again(server: Serving) -> None:
    admin = server.admin
    workspace_id, _ = await place(server)
    made = await added(admin, "switches")
    assert (await called(admin, workspace_id, 'mcp__small__echo {"text": "hi"}'))["outcome"] == "succeeded"

    async def shown() -> dict[str, Any]:
        return (await admin.get(f"mcp-servers/{made['id']}?workspace_id={workspace_id}")).json

    async with asyncio.timeout(60):
        while (await shown())["waiting"] != 2:  # noqa: ASYNC110
            await asyncio.sleep(0.05)
    refused = await called(admin, workspace_id, 'mcp__small__echo {"text": "hi"}')
    assert "There is no tool" in refused["output"]
    # The others work.
    assert (await called(admin, workspace_id, 'mcp__small__env {"text": "X"}'))["output"] == "not set"


async def test_no_server_has_a_model_write_for_it(server: Serving) -> None:
    workspace_id, _ = await place(server)
    await added(server.admin, "samples")
    result = await called(server.admin, workspace_id, 'mcp__small__echo {"text": "hi"}')
    assert '"id":"s1","error"' in result["output"].replace(" ", "")
