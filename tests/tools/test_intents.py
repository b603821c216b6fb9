"""Edits of several files are made completely or not at all, whenever the server is killed; and none of our
files are left behind."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast.core.ids import CallId
from holdfast.store import edit_intents
from holdfast.store.open import open_store
from holdfast.tools.files import file_tools
from holdfast.tools.intents import EditIntents, finish_left_over
from holdfast.workspaces.files.read_state import SeenFiles
from holdfast.workspaces.files.temporary_files import sweep_litter, temporary_name
from holdfast.workspaces.places.allowed_roots import Roots
from holdfast.workspaces.places.chat_directory import Workspaces
from tests.tools.killed_edit import CHAT, NAMES, no_workspace, scratch

ROOT = Path(__file__).parents[2]
BEFORE, AFTER = "one x two\n", "one xx two\n"
POINTS = ["begin", "begun", "link 1", "rename 1", "link 2", "rename 2", "rename 3", "made", "marked"]
FEW = ["begun", "rename 1", "link 2", "made"]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    place = tmp_path / "data"
    place.mkdir(mode=0o700)
    scratch(place).mkdir(parents=True)
    for name in NAMES:
        (scratch(place) / name).write_text(BEFORE)
    return place


def run(url: str, data: Path, *point: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tests.tools.killed_edit", url, str(data), *point],
        cwd=ROOT,
        check=False,
        capture_output=True,
        text=True,
        timeout=110,
    )


def contents(data: Path) -> list[str]:
    return [(scratch(data) / name).read_text() for name in NAMES]


def killed(url: str, data: Path, point: str) -> None:
    done = run(url, data, point)
    assert done.returncode == -9, done


def taken_over(url: str, data: Path) -> dict[str, str]:
    done = run(url, data)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def all_or_none(url: str, data: Path, point: str) -> None:
    killed(url, data, point)
    told = taken_over(url, data)
    assert told["outcome"] == "succeeded", told
    assert all(name in told["output"] for name in NAMES)
    assert contents(data) == [AFTER] * 3
    assert sorted(os.listdir(scratch(data))) == sorted(NAMES)


@pytest.mark.heavy
@pytest.mark.parametrize("point", FEW)
def test_a_kill_at_some_points(data: Path, point: str) -> None:
    all_or_none("sqlite", data, point)


@pytest.mark.heavy
def test_a_kill_with_replicas(data: Path, postgres_url: str) -> None:
    all_or_none(postgres_url, data, "rename 1")


@pytest.mark.slow
@pytest.mark.parametrize("point", POINTS)
def test_a_kill_at_every_point(data: Path, point: str, postgres_url: str) -> None:
    all_or_none("sqlite", data, point)
    for name in NAMES:
        (scratch(data) / name).write_text(BEFORE)
    all_or_none(postgres_url, data, point)


@pytest.mark.heavy
def test_what_somebody_wrote_since_is_left_alone(data: Path) -> None:
    killed("sqlite", data, "rename 1")
    (scratch(data) / "c.txt").write_text("by a person\n")
    told = taken_over("sqlite", data)
    assert told["outcome"] == "uncertain"
    assert "a.txt has its edits; b.txt is as it was before; c.txt was changed" in told["output"]
    assert contents(data) == [AFTER, BEFORE, "by a person\n"]


@pytest.mark.heavy
async def test_a_call_that_is_not_run_again_is_brought_to_an_end(data: Path) -> None:
    """Its chat was interrupted, or is gone. An edit that had not begun does not begin any more."""
    workspaces = Workspaces(Roots(data, ()), no_workspace)
    killed("sqlite", data, "rename 1")
    store = await open_store("sqlite", data=data, publish=lambda _: None)
    assert await finish_left_over(store, workspaces) == 0, "it may still be at work"
    assert await finish_left_over(store, workspaces, after_micros=0) == 1
    assert contents(data) == [AFTER] * 3
    assert await store.read(edit_intents.of_call(CHAT, CallId("call"))) is None
    await store.close()
    for name in NAMES:
        (scratch(data) / name).write_text(BEFORE)
    killed("sqlite", data, "begun")
    store = await open_store("sqlite", data=data, publish=lambda _: None)
    assert await finish_left_over(store, workspaces, after_micros=0) == 1
    assert contents(data) == [BEFORE] * 3
    await store.close()


async def test_one_file_is_never_repeated_and_several_are(data: Path) -> None:
    store = await open_store("sqlite", data=data, publish=lambda _: None)
    tools = file_tools(Workspaces(Roots(data, ()), no_workspace), SeenFiles(), None, EditIntents(store))
    tool = next(tool for tool in tools if tool.name == "edit_files")
    one = {"path": "a.txt", "old": "x", "new": "y"}
    assert tool.call_effect(tool.parse({"edits": [one, one]})) == tool.effect == "unsafe"
    assert tool.call_effect(tool.parse({"edits": [one, one | {"path": "b.txt"}]})) == "idempotent"
    await store.close()


def test_only_what_is_ours_is_swept(tmp_path: Path) -> None:
    """Not what somebody made under such a name: a file, a copy, a link, a directory, a second name."""
    directory = os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)
    try:

        def left_over() -> str:
            descriptor = os.open("new", os.O_CREAT | os.O_WRONLY, dir_fd=directory)
            name = temporary_name(descriptor)
            os.write(descriptor, b"ours")
            os.close(descriptor)
            os.rename("new", name, src_dir_fd=directory, dst_dir_fd=directory)
            return name

        ours = left_over()
        planted = ".holdfast-0123456789abcdef01234567.tmp"
        (tmp_path / planted).write_text("an agent's own")
        (tmp_path / ".holdfast-0123456789abcdef.tmp").write_text("in the old style")
        (tmp_path / ".holdfast-00000000aaaaaaaaaaaaaaaa.tmp").mkdir()
        (tmp_path / ".holdfast-11111111aaaaaaaaaaaaaaaa.tmp").symlink_to(planted)
        second = left_over()
        (tmp_path / "kept").hardlink_to(tmp_path / second)
        others = sorted(set(os.listdir(tmp_path)) - {ours})
        assert sweep_litter(directory) == 1
        assert sorted(os.listdir(tmp_path)) == others
        # A copy under the very name of one that was ours is another file.
        (tmp_path / ours).write_text("a copy")
        (tmp_path / planted).rename(tmp_path / ours)
        assert sweep_litter(directory) == 0
    finally:
        os.close(directory)
