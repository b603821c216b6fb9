"""Where workspaces may be, and from a chat to the directory it works in."""

import stat
from datetime import UTC, datetime
from pathlib import Path

import pytest

from holdfast.core.errors import InvalidInput, NotFound
from holdfast.core.ids import ChatId, UserId, WorkspaceId
from holdfast.core.shapes import Record
from holdfast.core.workspaces import Workspace
from holdfast.workspaces.places.allowed_roots import Roots
from holdfast.workspaces.places.chat_directory import Workspaces

OWNER = UserId("owner")


class Where(Record, frozen=True, kw_only=True):
    chat_id: ChatId = ChatId("0199c000-0000-7000-8000-000000000001")
    owner_id: UserId = OWNER
    workspace_id: WorkspaceId | None = None


@pytest.fixture
def base(tmp_path: Path) -> Path:
    for name in ("code/project", "codex", "data", "elsewhere", "code/config"):
        (tmp_path / name).mkdir(parents=True)
    return tmp_path


@pytest.fixture
def roots(base: Path) -> Roots:
    return Roots(base / "data", (base / "code",), private=(base / "code" / "config",))


def test_what_is_below_a_root_is_allowed(roots: Roots, base: Path) -> None:
    assert roots.allow(str(base / "code" / "project")) == base / "code" / "project"
    assert roots.allow(f"{base}/code/./project/../project/") == base / "code" / "project"
    (base / "code" / "link").symlink_to("project")
    assert roots.allow(str(base / "code" / "link")) == base / "code" / "project"
    root = roots.directory(str(base / "code" / "project"))
    assert root.path == base / "code" / "project"
    with root.open():
        pass


def test_what_is_not_is_refused_in_the_same_words(roots: Roots, base: Path) -> None:
    (base / "code" / "out").symlink_to(base / "elsewhere")
    (base / "code" / "file").touch()
    paths = ("codex", "elsewhere", "gone", "code/gone", "code/out", "code/../elsewhere", "code/file", ".")
    for path in (*(f"{base}/{name}" for name in paths), "/", "/etc", "/var/secret", "/proc/self/cwd"):
        with pytest.raises(InvalidInput) as error:
            roots.allow(path)
        assert "is not a directory below an allowed root" in error.value.text
        assert str(base / "code") in error.value.text
    for path in ("code/project", "~/code", "", "file:///x", "\0"):
        with pytest.raises(InvalidInput, match="is absolute"):
            roots.allow(path)


def test_the_servers_own_directories_are_never_workspaces(base: Path) -> None:
    roots = Roots(base / "data", (base,), private=(base / "code" / "config",))
    for path in (base, base / "data", base / "code", base / "code" / "config"):
        with pytest.raises(InvalidInput, match="keeps for itself"):
            roots.allow(str(path))
    assert roots.allow(str(base / "code" / "project"))


def test_a_root_that_was_taken_back(roots: Roots, base: Path) -> None:
    with pytest.raises(NotFound, match="not below an allowed root any more"):
        roots.directory(str(base / "elsewhere"))
    with pytest.raises(NotFound):
        roots.directory(str(base / "codex"))


async def test_a_chat_without_a_workspace_has_a_directory_of_its_own(roots: Roots, base: Path) -> None:
    async def find(workspace_id: WorkspaceId, owner_id: UserId) -> Workspace | None:
        raise AssertionError

    workspaces = Workspaces(roots, find)
    root = await workspaces.root_of(Where())
    assert root == await workspaces.root_of(Where())
    assert root.path == base / "data" / "scratch" / Where().chat_id
    with root.open():
        pass
    for path in (root.path, root.path.parent):
        assert stat.S_IMODE(path.stat().st_mode) == 0o700
    assert (await workspaces.place_of(Where())).root == root.path


async def test_a_workspace_is_found_for_its_owner(roots: Roots, base: Path) -> None:
    project = Workspace(
        id=WorkspaceId("w"),
        owner_id=OWNER,
        name="project",
        path=str(base / "code" / "project"),
        created_at=datetime(2026, 1, 1, tzinfo=UTC),
    )

    async def find(workspace_id: WorkspaceId, owner_id: UserId) -> Workspace | None:
        return project if (workspace_id, owner_id) == (project.id, OWNER) else None

    workspaces = Workspaces(roots, find)
    assert (await workspaces.root_of(Where(workspace_id=project.id))).path == base / "code" / "project"
    assert (await workspaces.place_of(Where(workspace_id=project.id))).root == base / "code" / "project"
    for where in (
        Where(workspace_id=WorkspaceId("other")),
        Where(workspace_id=project.id, owner_id=UserId("somebody")),
    ):
        with pytest.raises(NotFound, match="not there any more"):
            await workspaces.root_of(where)
