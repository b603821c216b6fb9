"""Searches in workspaces with special files: links to the outside, pipes that nobody writes to."""

import os
from pathlib import Path

import pytest

from holdfast.workspaces.commands.wall import Kind
from holdfast.workspaces.files.file_root import Root
from holdfast.workspaces.search.file_lookup import find_files
from holdfast.workspaces.search.ripgrep import find_ripgrep
from holdfast.workspaces.search.search_process import SearchRequest
from holdfast.workspaces.search.searches import Results, search
from tests.workspaces.stage import SECRET, Stage
from tests.workspaces.walls import walled_in

pytestmark = pytest.mark.heavy
RIPGREP = find_ripgrep()
WITH = [None, pytest.param(RIPGREP, marks=pytest.mark.skipif(RIPGREP is None, reason="no ripgrep here"))]
KINDS: tuple[Kind, ...] = ("bubblewrap", "unshare", "none")


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    stage = Stage(tmp_path)
    (stage.inside / "sub").mkdir()
    for name in ("a.txt", "sub/b.txt", SECRET):
        (stage.inside / name).write_text(f"{SECRET[:3]} needle\n")
    return stage


async def ask(stage: Stage, kind: Kind, ripgrep: str | None, pattern: str | None) -> Results:
    request = SearchRequest(parts=(), pattern=pattern, glob=None, limit=100, ripgrep=ripgrep)
    walled = walled_in(stage.inside.parent / "data", kind)
    return await search(walled, Root(stage.inside), request, 60.0)


@pytest.mark.parametrize("ripgrep", WITH)
@pytest.mark.parametrize("kind", KINDS)
async def test_links_tell_nothing_of_what_they_lead_to(stage: Stage, kind: Kind, ripgrep: str | None) -> None:
    """Read as rules, a secret would leave out the files that it names: whoever guesses could tell."""
    for name in (".gitignore", ".ignore", ".rgignore", "sub/.gitignore"):
        stage.link(name, stage.outside / "secret.txt")
    stage.link(".git/info/exclude", stage.outside / "secret.txt")
    stage.link("out", stage.outside)
    stage.link("secret.txt", stage.outside / "secret.txt")
    names = await ask(stage, kind, ripgrep, None)
    assert set(names.lines) == {"a.txt", "sub/b.txt", SECRET}
    lines = await ask(stage, kind, ripgrep, "needle|stay outside")
    assert {line.split(":")[0] for line in lines.lines} == {"a.txt", "sub/b.txt", SECRET}
    stage.kept_outside()


@pytest.mark.parametrize("kind", KINDS)
async def test_pipes_are_not_waited_for(stage: Stage, kind: Kind) -> None:
    for name in ("pipe", "sub/pipe.txt", ".gitignore"):
        os.mkfifo(stage.inside / name)
    assert set((await ask(stage, kind, None, None)).lines) == {"a.txt", "sub/b.txt", SECRET}
    assert len((await ask(stage, kind, None, "needle")).lines) == 3
    walled = walled_in(stage.inside.parent / "data", kind)
    assert await find_files(walled, Root(stage.inside), "b.t", 5) == ["sub/b.txt"]
