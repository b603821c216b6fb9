"""Where workflows are found, which of them wins, and that a bad file does not affect others."""

import os
from pathlib import Path

import pytest

from holdfast.core.errors import BadScript, HoldfastError, InvalidInput, NotFound
from holdfast.scripts.discovery import CATALOGUE, Workflow, WorkflowDirectory, discover, find, places, read_at
from holdfast.scripts.source import read_script
from holdfast.workspaces.files.file_root import Root


def js(name: str, description: str = "d") -> str:
    return f"export const meta = {{name: '{name}', description: '{description}'}}\nreturn 1\n"


def py(name: str) -> str:
    return f"meta = {{'name': '{name}', 'description': 'd'}}\nreturn 1\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    path = tmp_path / "project"
    path.mkdir()
    return path


@pytest.fixture
def home(tmp_path: Path) -> Path:
    path = tmp_path / "home"
    path.mkdir()
    return path


def put(root: Path, where: str, text: str) -> Path:
    path = root / where
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def by_path(listed: tuple[Workflow, ...]) -> dict[str, Workflow]:
    return {workflow.path: workflow for workflow in listed}


def of_people(project: Path | None, home: Path | None) -> tuple[WorkflowDirectory, ...]:
    where = places(None if project is None else Root(project), home)
    return tuple(place for place in where if place.origin != "catalogue")


def test_scripts_are_found_in_every_place(project: Path, home: Path) -> None:
    put(project, ".holdfast/workflows/a.js", js("a"))
    put(project, ".holdfast/workflows/b.py", py("b"))
    put(project, ".claude/workflows/c.js", js("c"))
    put(home, ".holdfast/workflows/d.py", py("d"))
    put(home, ".claude/workflows/e.js", js("e"))
    listed = discover(of_people(project, home), read_script)
    assert [(workflow.name, workflow.origin, workflow.language) for workflow in listed] == [
        ("a", "project", "javascript"),
        ("b", "project", "python"),
        ("c", "project", "javascript"),
        ("d", "home", "python"),
        ("e", "home", "javascript"),
    ]


def test_python_is_not_looked_for_where_other_programs_keep_their_scripts(project: Path) -> None:
    put(project, ".claude/workflows/x.py", py("x"))
    put(project, ".holdfast/workflows/notes.md", "# no script")
    put(project, ".holdfast/workflows/deeper/y.js", js("y"))
    assert discover(of_people(project, None), read_script) == ()


def test_the_nearest_of_a_name_wins(project: Path, home: Path) -> None:
    near = put(project, ".holdfast/workflows/x.js", js("same", "near"))
    middle = put(project, ".claude/workflows/x.js", js("same", "middle"))
    far = put(home, ".holdfast/workflows/x.py", py("same"))
    where = places(Root(project), home)
    listed = by_path(discover(where, read_script))
    assert listed[str(near)].hidden_by is None
    assert listed[str(middle)].hidden_by == str(near)
    assert listed[str(far)].hidden_by == str(near)
    assert find("same", where, read_script).path == str(near)


def test_two_files_of_one_name_in_one_place_are_told_apart(project: Path) -> None:
    first = put(project, ".holdfast/workflows/a.js", js("same"))
    second = put(project, ".holdfast/workflows/b.js", js("same"))
    listed = by_path(discover(of_people(project, None), read_script))
    assert listed[str(second)].hidden_by == str(first)


def test_a_file_that_hides_a_builtin_is_listed_as_such(project: Path) -> None:
    ours = put(project, ".holdfast/workflows/x.js", js("review-code"))
    other = put(project, ".holdfast/workflows/y.js", js("of-our-own"))
    listed = by_path(discover(places(Root(project), None), read_script))
    assert listed[str(ours)].hides_builtin
    assert not listed[str(other)].hides_builtin
    assert find("review-code", places(Root(project), None), read_script).path == str(ours)


def test_a_bad_file_is_listed_with_its_error_and_hurts_no_other(project: Path, home: Path) -> None:
    bad = put(project, ".holdfast/workflows/review-code.js", "export const meta = {\n  name: oops(),\n}")
    put(project, ".holdfast/workflows/good.js", js("good"))
    where = places(Root(project), home)
    listed = by_path(discover(where, read_script))
    assert "oops()" in (listed[str(bad)].error or "")
    assert listed[str(bad)].line == 2
    assert find("good", where, read_script).name == "good"
    # What cannot be read hides nothing: the one of the catalogue is still run.
    assert find("review-code", where, read_script).origin == "catalogue"


def test_a_name_that_only_a_bad_file_has_is_answered_with_what_is_wrong(project: Path) -> None:
    put(project, ".holdfast/workflows/mine.js", js("mine") + "import x from 'y'")
    with pytest.raises(BadScript) as refused:
        find("mine", places(Root(project), None), read_script)
    assert "import" in refused.value.text
    assert refused.value.line == 3


def test_a_name_that_nobody_has_is_answered_with_the_nearest(project: Path) -> None:
    with pytest.raises(NotFound) as refused:
        find("reviewcode", places(Root(project), None), read_script)
    assert "review-code" in refused.value.text


def test_files_that_are_no_files_are_listed_and_never_waited_for(project: Path, home: Path) -> None:
    secret = put(home, "secret.js", "do not show this")
    directory = project / ".holdfast" / "workflows"
    directory.mkdir(parents=True)
    (directory / "link.js").symlink_to(secret)
    os.mkfifo(directory / "pipe.js")
    (directory / "directory.js").mkdir()
    (directory / "huge.js").write_bytes(b"/" * 5_000_000)
    listed = discover(of_people(project, None), read_script)
    assert {workflow.name for workflow in listed} == {"link", "pipe", "directory", "huge"}
    assert all(workflow.error for workflow in listed)
    assert "do not show this" not in str(listed)


def test_a_directory_that_leads_elsewhere_is_not_followed(project: Path, home: Path) -> None:
    put(home, "workflows/x.js", js("outside"))
    (project / ".holdfast").mkdir()
    (project / ".holdfast" / "workflows").symlink_to(home / "workflows")
    assert discover(of_people(project, None), read_script) == ()


def test_places_that_are_not_there_are_empty(tmp_path: Path) -> None:
    listed = discover(places(Root(tmp_path / "gone"), tmp_path / "gone too"), read_script)
    assert {workflow.origin for workflow in listed} == {"catalogue"}


def test_a_project_that_is_the_home_directory_is_looked_at_once(home: Path) -> None:
    put(home, ".holdfast/workflows/a.js", js("a"))
    assert len(discover(of_people(home, home), read_script)) == 1


def test_a_script_is_read_by_its_path(project: Path, home: Path) -> None:
    put(project, "scripts/mine.js", js("mine"))
    assert read_at(Root(project), "scripts/mine.js", read_script).meta.name == "mine"
    put(home, "secret.js", js("secret"))
    (project / "link.js").symlink_to(home / "secret.js")
    for path in ("../home/secret.js", "link.js", "gone.js", "notes.md", str(home / "secret.js")):
        with pytest.raises(HoldfastError) as refused:
            read_at(Root(project), path, read_script)
        assert isinstance(refused.value, NotFound | InvalidInput)


def test_every_file_of_the_catalogue_is_good() -> None:
    listed = [
        workflow for workflow in discover(places(None, None), read_script) if workflow.origin == "catalogue"
    ]
    assert [workflow.error for workflow in listed if workflow.error] == []
    assert len(listed) == len([path for path in CATALOGUE.iterdir() if path.suffix in (".js", ".py")])


def test_a_workspace_that_became_a_link_has_none(tmp_path: Path, project: Path) -> None:
    """Somebody at work in the directory around it has put a link in its place."""
    put(project, ".holdfast/workflows/a.js", js("a"))
    (tmp_path / "inner").symlink_to(project)
    root = Root(tmp_path, ("inner",))
    assert all(workflow.origin == "catalogue" for workflow in discover(places(root, None), read_script))
    with pytest.raises(NotFound):
        read_at(root, ".holdfast/workflows/a.js", read_script)
