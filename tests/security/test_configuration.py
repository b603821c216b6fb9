"""The server's own files, and which of them agents could reach: the configuration, the data directory, key
files. The attacker can write in a workspace, or in the directory a server is started in."""

import inspect
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from structlog.testing import capture_logs

from holdfast.config.load import Flags, load
from holdfast.config.places import passed_over
from holdfast.config.sections import needs_restart
from holdfast.core.errors import HoldfastError, InvalidInput, NotFound
from holdfast.core.ids import CallId, ChatId, UserId, WorkspaceId
from holdfast.core.shapes import Json
from holdfast.core.workspaces import Workspace
from holdfast.server.own_files import own_paths
from holdfast.tools.contract import ToolContext, ToolError
from holdfast.tools.files import file_tools
from holdfast.tools.registry import ToolRegistry
from holdfast.tools.search import search_tools
from holdfast.workspaces.commands.mounts import CommandPlace
from holdfast.workspaces.commands.wall import Kind
from holdfast.workspaces.files.grant_roots import grantable
from holdfast.workspaces.files.read_state import SeenFiles
from holdfast.workspaces.places.allowed_roots import Roots
from holdfast.workspaces.places.chat_directory import Workspaces
from holdfast.workspaces.search.ripgrep import find_ripgrep
from tests.api.serving import config_for, serving
from tests.workspaces.rooms import WALLS, room
from tests.workspaces.walls import walled_in

CANARY = "canary-77c1"


# The file is read from three places


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A current directory in which somebody left a configuration."""
    work = tmp_path / "work"
    work.mkdir()
    (work / "holdfast.toml").write_text("[server]\nport = 6666")
    monkeypatch.chdir(work)
    monkeypatch.setenv("HOME", str(tmp_path))
    return work


def test_a_file_in_the_current_directory_is_not_read(here: Path, tmp_path: Path) -> None:
    config = load(Flags(), {"HOME": str(tmp_path)})
    assert (config.file, config.server.port) == (None, 8420)


def test_that_it_is_not_read_is_told(here: Path) -> None:
    assert passed_over(None) == here / "holdfast.toml"
    assert passed_over(here / "holdfast.toml") is None
    assert passed_over(here / "other.toml") == here / "holdfast.toml"


def test_a_variable_names_the_file(here: Path, tmp_path: Path) -> None:
    named = tmp_path / "named.toml"
    named.write_text("[server]\nport = 7777")
    config = load(Flags(), {"HOME": str(tmp_path), "HOLDFAST_CONFIG": str(named)})
    assert (config.file, config.server.port) == (named, 7777)
    # The one here counts when somebody names it.
    assert load(Flags(config=Path("holdfast.toml")), {"HOME": str(tmp_path)}).server.port == 6666


def test_key_files_are_known_wherever_they_are_named(here: Path, tmp_path: Path) -> None:
    for name in ("one", "two", "three"):
        (tmp_path / name).write_text("a" * 64)
    named = tmp_path / "named.toml"
    named.write_text(
        f'[server]\nsecret_key = "file:{tmp_path}/one"\n[providers.openai]\napi_key = "file:{tmp_path}/two"\n'
    )
    environ = {"HOME": str(tmp_path), "HOLDFAST_PROVIDERS_GROQ_API_KEY": "file:~/three"}
    config = load(Flags(config=named), environ)
    assert set(config.key_files) == {tmp_path / "one", tmp_path / "two", tmp_path / "three"}
    before = replace(config, key_files=(tmp_path / "one",))
    assert f"file:{tmp_path}/two" in needs_restart(before, config)


def test_a_database_elsewhere_is_the_servers_own(tmp_path: Path) -> None:
    config = config_for(tmp_path / "data", f"sqlite:{tmp_path}/code/my.db")
    own = own_paths(config, {"HOME": str(tmp_path)})
    assert {tmp_path / "code" / "my.db", tmp_path / "code" / "my.db-wal"} <= set(own)


# What is the server's own is found by no tool

HERE = "0199c000-0000-7000-8000-000000000002"


class Agent:
    """Works in a workspace that has a configuration file, a key file and more ways to secrets in it."""

    def __init__(self, base: Path) -> None:
        self.base = base
        self.code = base / "code" / "project"
        data = base / "data"
        for path in (self.code / "conf", self.code / "keys", data):
            path.mkdir(parents=True)
        self.config, self.key = self.code / "conf" / "holdfast.toml", self.code / "key.txt"
        for path in (self.config, self.key, data / "admin.token", data / "secret.key"):
            path.write_text(f"{CANARY} {path.name}\n")
        os.link(data / "admin.token", self.code / "hard-token")
        os.link(self.config, self.code / "hard-config")
        (self.code / "soft-key").symlink_to("key.txt")
        (self.code / "notes.txt").write_text("mine\n")
        (self.code / "keys" / "inner.key").write_text(f"{CANARY} inner\n")
        self.roots = Roots(data, (base / "code",), (self.config, self.key, self.code / "keys"))

        async def find(workspace_id: WorkspaceId, owner_id: UserId) -> Workspace | None:
            return Workspace(
                id=workspace_id,
                owner_id=owner_id,
                name="w",
                path=str(self.code),
                created_at=datetime(2030, 1, 1, tzinfo=UTC),
            )

        async def nothing(_: ChatId) -> tuple[Any, ...]:
            return ()

        self.workspaces = Workspaces(self.roots, find, nothing)
        self.walled = walled_in(self.roots.data / "walled")

    def tools(self, ripgrep: str | None = None) -> ToolRegistry:
        return ToolRegistry(
            (*file_tools(self.workspaces, SeenFiles()), *search_tools(self.workspaces, self.walled, ripgrep))
        )

    async def call(self, name: str, given: Json, ripgrep: str | None = None) -> str:
        tool = self.tools(ripgrep).get(name)
        assert tool is not None
        assert tool.run is not None
        context = ToolContext(
            chat_id=ChatId(HERE),
            owner_id=UserId("o"),
            workspace_id=WorkspaceId(HERE),
            call_id=CallId("c"),
            run=1,
        )
        work = tool.run(context, tool.parse(given))
        assert inspect.isawaitable(work)
        try:
            return str((await work).output)
        except (ToolError, HoldfastError) as error:
            return f"refused: {error}"


@pytest.fixture
def agent(tmp_path: Path) -> Agent:
    return Agent(tmp_path)


SECRETS = ("conf/holdfast.toml", "key.txt", "soft-key", "hard-token", "hard-config", "keys/inner.key")


@pytest.mark.parametrize("path", SECRETS)
async def test_read_file_does_not_read_it(agent: Agent, path: str) -> None:
    told = await agent.call("read_file", {"path": path})
    assert told.startswith("refused:")
    assert "belongs to the server itself" in told
    assert CANARY not in told


@pytest.mark.parametrize("path", SECRETS)
async def test_nothing_writes_over_it(agent: Agent, path: str) -> None:
    for name, given in (
        ("write_file", {"path": path, "content": "[server]"}),
        ("delete_file", {"path": path}),
        ("edit_files", {"edits": [{"path": path, "old": CANARY, "new": "x"}]}),
    ):
        if (name, path) == ("delete_file", "soft-key"):
            continue  # the link is the agent's own
        assert (await agent.call(name, given)).startswith("refused:"), name
    assert CANARY in agent.config.read_text() + agent.key.read_text()
    assert (agent.code / path).exists()


async def test_nothing_is_put_beside_it_in_a_hidden_directory(agent: Agent) -> None:
    assert (await agent.call("write_file", {"path": "keys/new", "content": "x"})).startswith("refused:")
    assert (await agent.call("write_file", {"path": "keys/deep/new", "content": "x"})).startswith("refused:")
    assert not (agent.code / "keys" / "new").exists()


async def test_list_leaves_it_out(agent: Agent) -> None:
    told = await agent.call("list", {})
    assert "notes.txt" in told
    for name in ("key.txt", "hard-token", "hard-config", "keys"):
        assert name not in told.replace("soft-key -> key.txt", "").replace("soft-key", ""), name
    assert "holdfast.toml" not in await agent.call("list", {"path": "conf"})
    assert (await agent.call("list", {"path": "keys"})).startswith("refused:")


@pytest.mark.parametrize("ripgrep", [None, "rg"])
async def test_glob_and_grep_leave_it_out(agent: Agent, ripgrep: str | None) -> None:
    program = None if ripgrep is None else find_ripgrep()
    if ripgrep is not None and program is None:
        pytest.skip("this machine has no ripgrep")
    assert (await agent.call("glob", {"pattern": "**/*"}, program)).strip() == "notes.txt"
    for given in ({"pattern": CANARY}, *({"pattern": CANARY, "path": path} for path in SECRETS)):
        told = await agent.call("grep", given, program)
        assert CANARY not in told.replace(f"no matches for {CANARY}", "").replace(f"“{CANARY}”", ""), told
        assert " holdfast.toml" not in told


def test_it_cannot_be_granted(agent: Agent) -> None:
    data = agent.base / "data"
    (agent.base / "elsewhere").mkdir()
    os.link(data / "secret.key", agent.base / "elsewhere" / "copy")
    for path in (agent.config, agent.key, agent.code, data, data / "admin.token", agent.code / "keys"):
        with pytest.raises(InvalidInput, match="keeps for itself"):
            grantable(str(path), agent.roots)
    with pytest.raises(InvalidInput, match="keeps for itself"):
        grantable(str(agent.base / "elsewhere" / "copy"), agent.roots)


def test_a_workspace_that_became_the_servers_own_is_none(agent: Agent) -> None:
    with pytest.raises(NotFound):
        agent.roots.directory(str(agent.code / "keys"))


# Nor by a command


@pytest.mark.parametrize("kind", WALLS)
async def test_a_command_neither_reads_nor_replaces_it(tmp_path: Path, kind: Kind) -> None:
    """A directory on the way to the configuration cannot be renamed, so that no other file gets its path."""
    agent = Agent(tmp_path / "stage")
    async with room(tmp_path, kind, hidden=agent.roots.hidden.there()) as found:
        if found is None:
            pytest.skip(f"this machine has no wall made by {kind}")
        process = await found.start(
            "cat conf/holdfast.toml key.txt keys/inner.key; ls keys; rm -f key.txt conf/holdfast.toml; "
            "mv conf other; mv conf/holdfast.toml x; mkdir -p conf; echo '[server]' > conf/holdfast.toml; "
            "mv keys old; echo mine > conf/mine; echo done",
            place=CommandPlace(root=agent.code),
            cwd=agent.code,
        )
        await found.ended(process)
        text = await found.text(process.entry)
    assert CANARY not in text
    assert "inner.key" not in text.replace("keys/inner.key", "")
    assert text.endswith("done\n")
    assert CANARY in agent.config.read_text()
    assert CANARY in agent.key.read_text()
    assert (agent.code / "conf" / "mine").read_text() == "mine\n"


@pytest.fixture
def own_things(tmp_path: Path) -> tuple[Path, Path]:
    project = tmp_path / "project"
    project.mkdir()
    file, key = project / "holdfast.toml", project / "key.txt"
    for path in (file, key):
        path.write_text("")
    return file, key


async def test_a_server_hides_its_own_files_and_warns_where_they_lie(
    own_things: tuple[Path, Path], tmp_path: Path
) -> None:
    file, key = own_things
    config = replace(config_for(tmp_path / "data"), file=file, key_files=(key,))
    with capture_logs() as logs:
        async with serving(config, {"XDG_CONFIG_HOME": str(tmp_path / "none")}) as server:
            hidden = server.parts.toolbox.probe.wall.hidden
            made = await server.admin.post("workspaces", {"name": "w", "path": str(file.parent)})
            assert made.status == 201, made
            asked = await server.admin.get(f"workspaces/{made.json['id']}/files?q=t")
            assert "key.txt" not in str(asked.json)
            assert "holdfast.toml" not in str(asked.json)
    assert {file, key, tmp_path / "data"} <= set(hidden)
    warned = {entry.get("path") for entry in logs if entry["log_level"] == "warning"}
    assert {str(file), str(key), str(tmp_path / "data")} <= warned
