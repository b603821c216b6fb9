"""Workspaces from templates: by an agent's call, by a person, and when something goes wrong."""

import asyncio
import subprocess
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from holdfast.config.sections import TemplatesSection
from holdfast.store.query import query
from tests.api.serving import Client, Serving, config_for, serving

pytestmark = [pytest.mark.heavy, pytest.mark.timeout(300)]

SERVICE = """
name = "service"
description = "A small service."
setup = 'printf %s "$TEMPLATE_TITLE" > title.txt; echo "set up as $TEMPLATE_WORKSPACE"'
check = "test -s title.txt"
[parameters.properties.title]
type = "string"
default = "nameless"
[[services]]
name = "idle"
command = "sleep 600"
"""
PARTS = {
    "service": SERVICE,
    "plain": 'description = "Only files."\n',
    "failing": 'setup = "mkdir -p deep/er; chmod 0 deep; echo no such compiler; exit 3"\n',
    "unchecked": 'check = "echo it does not work >&2; false"\n',
    "slow": 'setup = "echo begun; until test -e go; do sleep 0.05; done"\n',
    "bad": "name = ",
    "z-again": 'name = "service"\n',
}


@pytest.fixture
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Below no root of workspaces."""
    root = tmp_path_factory.mktemp("templates")
    for name, definition in PARTS.items():
        (root / name).mkdir()
        (root / name / "template.toml").write_text(definition)
        (root / name / "AGENTS.md").write_text(f"Rules of {name}.")
    (root / "plain" / ".git").mkdir()
    (root / "plain" / ".git" / "config").write_text("[core]\n")
    return root


@asynccontextmanager
async def with_templates(tmp_path: Path, *roots: object, url: str = "sqlite") -> AsyncGenerator[Serving]:
    section = TemplatesSection(roots=tuple(map(str, roots)))
    async with serving(config_for(tmp_path / "data", url, templates=section)) as running:
        yield running


@pytest.fixture(params=["sqlite", "postgres"])
async def server(request: pytest.FixtureRequest, tmp_path: Path, root: Path) -> AsyncGenerator[Serving]:
    url = "sqlite" if request.param == "sqlite" else request.getfixturevalue("postgres_url")
    async with with_templates(tmp_path, root, url=url) as running:
        yield running


@pytest.fixture
async def lone_server(tmp_path: Path, root: Path) -> AsyncGenerator[Serving]:
    async with with_templates(tmp_path, root) as running:
        yield running


def at_rest(server: Serving) -> set[str]:
    """What is where workspaces are."""
    return {path.name for path in server.data.parent.iterdir()} - {"data"}


async def approved(client: Client, script: str, **more: Any) -> dict[str, Any]:
    """The chat when it is at rest, with every call approved."""
    chat = await client.start_chat(script, **more)
    while (now := await client.until(chat["id"], lambda one: one["status"] != "running"))[
        "status"
    ] == "requires_action":
        for call in now["action"]["calls"]:
            path = f"chats/{chat['id']}/calls/{call['call_id']}/decision"
            assert (await client.post(path, {"decision": "approve"})).status == 202
        await client.until(chat["id"], lambda one, was=now: one["version"] != was["version"])
    return now


async def results(client: Client, chat_id: str) -> list[dict[str, Any]]:
    messages = await client.messages(chat_id)
    return [part for one in messages for part in one["parts"] if part["type"] == "tool_result"]


async def until_made(client: Client, build: dict[str, Any]) -> dict[str, Any]:
    path = f"workspace-builds/{build['id']}"
    while (now := (await client.get(path)).json)["state"] == "building":  # noqa: ASYNC110
        await asyncio.sleep(0.05)
    return now


async def test_an_agent_makes_a_workspace_and_works_there_at_once(server: Serving) -> None:
    admin = server.admin
    script = (
        "call: list_templates {}\n"
        'call: create_workspace {"template": "service", "name": "billing", '
        '"parameters": {"title": "$(x) \'y"}}\n'
        'call: read_file {"path": "title.txt"}\n'
        "call: process_list {}\n"
        "say: {result}"
    )
    chat = await approved(admin, script)
    assert chat["status"] == "idle"
    listed, made, read, processes = await results(admin, chat["id"])
    assert [one["name"] for one in listed["output"]["templates"]] == [
        *("failing", "plain", "service", "slow", "unchecked")
    ]
    assert {one["name"] for one in listed["output"]["cannot_be_used"]} == {"bad", "service"}
    assert made["outcome"] == "succeeded", made
    assert made["output"]["path"] == str(server.data.parent / "billing")
    assert read["output"] == "1\t$(x) 'y" or "$(x) 'y" in str(read["output"])
    assert (await admin.chat(chat["id"]))["workspace_id"] == made["output"]["workspace_id"]
    everything = await admin.messages(chat["id"], "visibility=all&limit=200")
    assert "Rules of service." in str(everything)
    # Its service runs in the background, and its definition is not part of the workspace.
    assert made["output"]["services"][0]["process_id"] in str(processes["output"])
    assert not (server.data.parent / "billing" / "template.toml").exists()
    (workspace,) = (await admin.get("workspaces")).json["items"]
    assert (workspace["name"], workspace["kind"]) == ("billing", "directory")


async def test_parallel_calls_make_one(server: Serving) -> None:
    admin = server.admin
    call = 'create_workspace {"template": "service"}'
    chat = await approved(admin, f"calls: {call}; {call}\nsay: done")
    first, second = await results(admin, chat["id"])
    assert (first["outcome"], second["outcome"]) == ("succeeded", "succeeded"), (first, second)
    assert first["output"]["workspace_id"] == second["output"]["workspace_id"]
    assert len((await admin.get("workspaces")).json["items"]) == 1
    assert at_rest(server) == {"service"}


@pytest.mark.parametrize(
    "given, said",
    [
        ('{"template": "failing"}', "no such compiler"),
        ('{"template": "unchecked"}', "it does not work"),
        ('{"template": "bad"}', "cannot be used"),
        ('{"template": "nowhere"}', "no template 'nowhere'"),
        ('{"template": "plain", "name": "../up"}', "The name of a workspace"),
        ('{"template": "plain", "name": ".hidden"}', "The name of a workspace"),
        ('{"template": "plain", "name": "a/b"}', "The name of a workspace"),
        ('{"template": "plain", "name": "data"}', "belongs to the server"),
        ('{"template": "plain", "parameters": {"x": 1}}', "do not fit"),
        ('{"template": "service", "parameters": {"title": 1}}', "do not fit"),
        ('{"template": "../templates/plain"}', "no template"),
        ('{"template": "file:///etc"}', "https alone"),
        ('{"template": "https://127.0.0.1/x.git"}', "not a public address"),
    ],
)
async def test_a_failure_leaves_nothing_and_says_why(lone_server: Serving, given: str, said: str) -> None:
    chat = await approved(lone_server.admin, f"call: create_workspace {given}\nsay: done")
    (result,) = await results(lone_server.admin, chat["id"])
    assert result["outcome"] == "failed"
    assert said in result["output"]
    assert at_rest(lone_server) == set()
    assert (await lone_server.admin.get("workspaces")).json["items"] == []
    assert (await lone_server.admin.chat(chat["id"]))["workspace_id"] is None


async def test_an_interrupt_leaves_nothing(lone_server: Serving) -> None:
    admin = lone_server.admin
    chat = await admin.start_chat('call: create_workspace {"template": "slow"}\nsay: done')
    now = await admin.until_status(chat["id"], "requires_action")
    path = f"chats/{chat['id']}/calls/{now['action']['calls'][0]['call_id']}/decision"
    await admin.post(path, {"decision": "approve"})
    query = f"workspace-builds?chat_id={chat['id']}"
    # Its output is there while it runs.
    while "begun" not in str((await admin.get(query)).json):  # noqa: ASYNC110
        await asyncio.sleep(0.05)
    assert (await admin.post(f"chats/{chat['id']}/interrupt")).status == 202
    await admin.until_settled(chat["id"])
    assert at_rest(lone_server) == set()
    assert (await admin.get(query)).json["items"] == []


async def test_a_person_makes_one_in_the_background(lone_server: Serving) -> None:
    admin, member = lone_server.admin, await lone_server.member()
    names = [one["name"] for one in (await member.get("templates")).json["items"] if one["error"] is None]
    assert "service" in names
    shown = (await member.get("templates/one?template=service")).json
    assert (shown["state"], shown["files"]) == ("trusted", ["AGENTS.md", "template.toml"])
    body = {"template": "slow", "name": "my project"}
    begun = await admin.request("POST", "workspace-builds", body, headers={"Idempotency-Key": "k"})
    assert begun.status == 202, begun
    again = await admin.request("POST", "workspace-builds", body, headers={"Idempotency-Key": "k"})
    assert again.json["id"] == begun.json["id"]
    path = f"workspace-builds/{begun.json['id']}"
    while "begun" not in ((await admin.get(path)).json["output"] or ""):  # noqa: ASYNC110
        await asyncio.sleep(0.05)
    assert (await member.get(path)).status == 404
    assert (await member.get("workspace-builds")).json["items"] == []
    (lone_server.data.parent / "my-project" / "go").touch()
    made = await until_made(admin, begun.json)
    assert (made["state"], made["error"]) == ("ready", None)
    workspace = (await admin.get(f"workspaces/{made['workspace_id']}")).json
    assert (workspace["name"], workspace["path"]) == (
        "my project",
        str(lone_server.data.parent / "my-project"),
    )
    for wrong in ({"template": "plain", "parameters": {"x": 1}}, {"template": "nowhere"}):
        assert (await admin.post("workspace-builds", wrong)).status in (404, 422)
    # A name that is taken gets a number when nobody chose it.
    for expected in ("plain", "plain-2"):
        made = await until_made(admin, (await admin.post("workspace-builds", {"template": "plain"})).json)
        assert made["path"] == str(lone_server.data.parent / expected)
    assert not (lone_server.data.parent / "plain" / ".git").exists()


async def test_what_a_killed_server_left_is_removed(lone_server: Serving) -> None:
    """As the next server finds it: a build of another process, with the directory that it made."""
    store, place = lone_server.parts.services.store, lone_server.data.parent
    builds = lone_server.parts.services.builds
    begun = (await lone_server.admin.post("workspace-builds", {"template": "slow"})).json
    while not (place / "slow").exists() or "begun" not in str(  # noqa: ASYNC110
        (await lone_server.admin.get(f"workspace-builds/{begun['id']}")).json
    ):
        await asyncio.sleep(0.05)
    await store.write(
        query(
            "UPDATE workspace_builds SET builder = 'dead', seen_at = 0 WHERE id = $1",
            begun["id"],
            read=lambda _: None,
        )
    )
    (place / "mine").mkdir()
    assert await builds.clean_left_over() == 1
    assert at_rest(lone_server) == {"mine"}
    shown = await until_made(lone_server.admin, begun)
    assert (shown["state"], shown["workspace_id"]) == ("failed", None)
    assert "died" in shown["error"]


def repository(path: Path, definition: str) -> None:
    """Served as plain files: nothing else is needed to be fetched from."""
    path.mkdir(parents=True, exist_ok=True)
    (path / "template.toml").write_text(definition)
    (path / "README.md").write_text("from git\n")
    who = ("-c", "user.name=t", "-c", "user.email=t@example.com")
    commands = ([] if (path / ".git").exists() else [["init", "-q", "-b", "main"]]) + [
        ["add", "."],
        ["commit", "-qm", "x"],
        ["update-server-info"],
    ]
    for command in commands:
        subprocess.run(["git", *who, *command], cwd=path, check=True)


async def test_a_template_at_a_git_address_runs_what_a_person_trusted(tmp_path: Path) -> None:
    from aiohttp import web

    served = tmp_path / "served"
    definition = 'name = "far"\nsetup = "echo ran > ran.txt"\n'
    await asyncio.to_thread(repository, served / "far", definition)
    app = web.Application()
    app.router.add_static("/", served, follow_symlinks=False)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    port = runner.addresses[0][1]
    address = f"http://127.0.0.1:{port}/far/.git"
    try:
        (tmp_path / "place").mkdir()
        async with with_templates(tmp_path / "place", address) as server:
            admin, member = server.admin, await server.member()
            (shown,) = (await admin.get("templates")).json["items"]
            assert (shown["name"], shown["state"], shown["error"]) == ("far", "new", None)
            refused = await admin.post("workspace-builds", {"template": "far"})
            assert (refused.status, refused.code) == (409, "wrong_state")
            trust = {"template": "far", "hash": shown["hash"], "decision": "trust"}
            assert (await admin.post("templates/trust", {**trust, "hash": "0" * 64})).status == 409
            for _ in range(2):
                key = {"Idempotency-Key": "trust"}
                assert (await admin.request("POST", "templates/trust", trust, headers=key)).status == 204
            made = await until_made(admin, (await admin.post("workspace-builds", {"template": "far"})).json)
            assert made["state"] == "ready", made
            root = Path(made["path"])
            assert (root / "ran.txt").read_text() == "ran\n"
            assert (root / "README.md").exists()
            assert not (root / ".git").exists()
            # Another person decides for themselves.
            assert (await member.post("workspace-builds", {"template": "far"})).status == 409
            # What is there now is not what was trusted.
            await asyncio.to_thread(repository, served / "far", definition + "# changed\n")
            server.parts.toolbox.git_templates.forget()
            (shown,) = (await admin.get("templates")).json["items"]
            assert shown["state"] == "changed"
            assert (await admin.post("workspace-builds", {"template": "far"})).status == 409
    finally:
        await runner.cleanup()


async def test_roots_that_are_none_are_said_to_be(tmp_path: Path, root: Path) -> None:
    (tmp_path / "place" / "inside").mkdir(parents=True)
    roots = (tmp_path / "nowhere", tmp_path / "place" / "inside", "relative", "git://example.com/x", root)
    async with with_templates(tmp_path / "place", *roots) as server:
        items = (await server.admin.get("templates")).json["items"]
        said = {one["name"]: one["error"] for one in items}
        assert "No such file" in said[str(roots[0])]
        assert "agents could change" in said[str(roots[1])]
        assert "not an absolute path" in said["relative"]
        assert "https" in said["git://example.com/x"]
        # One that is wrong hurts no other.
        assert said["plain"] is None
