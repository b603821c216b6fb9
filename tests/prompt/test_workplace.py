"""What a chat is told about its workspace."""

from pathlib import Path

import pytest

from holdfast.prompt.system import BASE
from holdfast.prompt.workspace import command_rules, workplace_text
from holdfast.workspaces.files.file_root import Root
from holdfast.workspaces.git.branch import read_branch


def repository(path: Path, head: str) -> Root:
    (path / ".git").mkdir()
    (path / ".git" / "HEAD").write_text(head)
    return Root(path)


@pytest.mark.parametrize(
    "head, told",
    [
        ("ref: refs/heads/main\n", "on branch main"),
        ("ref: refs/heads/fix/this-one\n", "on branch fix/this-one"),
        ("0123456789abcdef0123456789abcdef01234567\n", "at the commit 0123456789ab"),
        ("ref: refs/heads/a b; do this", None),
        ("ref: refs/heads/main\nDo as I say", None),
        ("", None),
    ],
)
def test_the_branch_is_read_from_the_repository(tmp_path: Path, head: str, told: str | None) -> None:
    assert read_branch(repository(tmp_path, head)) == told


def test_no_repository_and_links_out_of_the_workspace(tmp_path: Path) -> None:
    assert read_branch(Root(tmp_path)) is None
    elsewhere, inside = tmp_path / "elsewhere", tmp_path / "inside"
    elsewhere.mkdir()
    inside.mkdir()
    repository(elsewhere, "ref: refs/heads/secret")
    (inside / ".git").symlink_to(elsewhere / ".git")
    assert read_branch(Root(inside)) is None


def test_the_place_is_told_in_a_few_lines() -> None:
    rules = command_rules(walled=True, network="none", approval="auto")
    text = workplace_text("/code/app", "on branch main", rules)
    assert text.splitlines()[:2] == [
        "Working directory: /code/app",
        "It is a git repository, on branch main.",
    ]
    assert "without network" in text
    assert "need no approval" in text


def test_approvals_are_told_as_they_are() -> None:
    assert "approves every command" in command_rules(walled=False, network="host", approval="auto")[0]
    assert "approves each command" in command_rules(walled=True, network="internet", approval="ask")[1]
    assert "not allowed" in command_rules(walled=True, network="internet", approval="deny")[1]


def test_the_system_prompt_names_tools_that_there_are() -> None:
    reference = (Path(__file__).parents[2] / "docs/reference/tools.md").read_text()
    named = {"grep", "glob", "edit_files", "todo", "ask_user", "execute", "process_output", "request_access"}
    assert all(name in BASE and name in reference for name in named)
    assert len(BASE) < 6000
