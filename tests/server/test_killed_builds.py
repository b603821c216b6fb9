"""A server that is killed while a workspace is made from a template: the call begins again and makes exactly
one; what a person asked for is given up, and nothing of it stays."""

import asyncio
from pathlib import Path

import pytest

from tests.server.process import ServeProcess

pytestmark = [pytest.mark.heavy, pytest.mark.timeout(300)]

SLOW = 'setup = "until test -e go; do sleep 0.05; done"\n'


async def test_what_was_being_made_when_it_died(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    root, code = tmp_path_factory.mktemp("templates"), tmp_path / "code"
    (root / "slow").mkdir()
    (root / "slow" / "template.toml").write_text(SLOW)
    config = (
        f'[templates]\nroots = ["{root}"]\n[workspaces]\nroots = ["{code}"]\n[sandbox]\nnetwork = "host"\n'
    )
    config += '[tools.create_workspace]\napproval = "allow"\n[worker]\nlease_seconds = 3\n'
    async with ServeProcess(tmp_path, config=config) as server:
        await server.start()
        admin = await server.full_admin()
        script = (
            'call: create_workspace {"template": "slow", "name": "called"}\n'
            'call: write_file {"path": "after.txt", "content": "x"}\nsay: done'
        )
        chat = await admin.start_chat(script)
        asked = (await admin.post("workspace-builds", {"template": "slow", "name": "asked"})).json
        await both_there(code)
        # Its inode may be used again, so the one of before is marked.
        (code / "called" / "of_before").touch()
        server.kill()
        await server.ended()
        await server.start()
        admin = await server.full_admin()
        while (code / "asked").exists():  # noqa: ASYNC110
            await asyncio.sleep(0.05)
        shown = (await admin.get(f"workspace-builds/{asked['id']}")).json
        while shown["state"] == "building":
            shown = (await admin.get(f"workspace-builds/{asked['id']}")).json
        assert (shown["state"], "died" in shown["error"]) == ("failed", True)
        # Made anew, by the same call.
        while not (code / "called").exists() or (code / "called" / "of_before").exists():  # noqa: ASYNC110
            await asyncio.sleep(0.05)
        (code / "called" / "go").touch()
        done = await admin.until_settled(chat["id"])
        assert done["status"] == "idle"
        assert (code / "called" / "after.txt").read_text() == "x"
        assert {path.name for path in code.iterdir()} == {"called"}
        (workspace,) = (await admin.get("workspaces")).json["items"]
        assert workspace["id"] == done["workspace_id"]


async def both_there(code: Path) -> None:
    while not (code / "called").exists() or not (code / "asked").exists():  # noqa: ASYNC110
        await asyncio.sleep(0.05)
