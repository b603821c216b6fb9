"""Staying below the root, by the kernel's way and name by name: the same answers."""

import errno
import fcntl
import os
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast.core.errors import HoldfastError, InvalidInput, NotFound, TryAgain
from holdfast.workspaces.files import file_root
from holdfast.workspaces.files.file_root import Root, Tree
from holdfast.workspaces.files.openat2 import kernel_open
from tests.workspaces.stage import Stage, tree_of

WAYS = pytest.mark.parametrize("kernel", [True, False], ids=["kernel", "by name"])


def open_error(tree: Tree, path: str) -> int | None:
    try:
        os.close(tree.open_directory(tuple(path.split("/"))))
    except OSError as error:
        return error.errno
    return None


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux has it")
def test_this_kernel_can_do_it() -> None:
    assert kernel_open() is not None


@WAYS
def test_directories(tmp_path: Path, kernel: bool) -> None:
    stage = Stage(tmp_path)
    (stage.inside / "a" / "b").mkdir(parents=True)
    (stage.inside / "file").write_text("")
    stage.link("in", "a")
    stage.link("a/b/up", "../../a")
    stage.link("a/b/top", "../..")
    stage.link("out", "..")
    stage.link("far", str(stage.inside / "a"))
    stage.link("loop", "loop")
    stage.link("a/b/over", "../../../inside/a")
    with tree_of(stage.root, kernel=kernel) as tree:
        for path in ("a", "a/b", "in/b", "a/b/up/b", "a/b/top/a/b/top/in", "in/b/up/b/up"):
            assert open_error(tree, path) is None, path
        for path in ("out", "out/inside", "far", "far/b", "a/b/over", "a/b/top/out", "a/b/../../.."):
            assert open_error(tree, path) == errno.EXDEV, path
        assert open_error(tree, "loop") == errno.ELOOP
        assert open_error(tree, "gone") == open_error(tree, "a/gone/b") == errno.ENOENT
        assert open_error(tree, "file") == open_error(tree, "file/x") == errno.ENOTDIR


@WAYS
def test_no_descriptor_is_left(tmp_path: Path, kernel: bool) -> None:
    stage = Stage(tmp_path)
    (stage.inside / "a" / "b").mkdir(parents=True)
    stage.link("a/out", "../..")
    with tree_of(stage.root, kernel=kernel) as tree:
        before = len(os.listdir("/dev/fd"))
        for path in ("a/b", "a/out/x", "gone/x", "a/b/../b"):
            open_error(tree, path)
            for follow in (True, False):
                try:
                    with tree.place((*path.split("/"), "f"), follow=follow, make=path == "a/b"):
                        pass
                except HoldfastError:
                    pass
        assert len(os.listdir("/dev/fd")) == before


@WAYS
def test_directories_are_made_below_and_nowhere_else(tmp_path: Path, kernel: bool) -> None:
    stage = Stage(tmp_path)
    stage.link("out", stage.outside)
    stage.link("dangling", "not/there")
    with tree_of(stage.root, kernel=kernel) as tree:
        with tree.place(("x", "y", "z", "f"), make=True) as place:
            assert place.name == "f"
        assert (stage.inside / "x" / "y" / "z").is_dir()
        with pytest.raises(InvalidInput, match="leads out"), tree.place(("out", "new", "f"), make=True):
            pass
        with pytest.raises(NotFound), tree.place(("dangling", "f"), make=True):
            pass
    stage.kept_outside()


def test_a_name_that_is_not_there_is_told_what_is(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    stage.write("src/main.py", "x")
    stage.write("README.md", "x")
    for path, near in (("src/mian.py", "src/main.py"), ("readme.md", "README.md"), ("scr/main.py", "src")):
        with pytest.raises(NotFound) as error:
            stage.read(path)
        assert f"There is no {path}." in error.value.text
        assert near in error.value.text
    with pytest.raises(NotFound, match="list or glob"):
        stage.read("zzz")
    stage.link("dangling", "there")
    with pytest.raises(NotFound, match="Its name is that of a symbolic link"):
        stage.read("dangling")


def test_a_root_that_is_gone_is_told_so(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="moved or removed"), Root(tmp_path, ("gone",)).open():
        pass


def test_an_inner_workspace_is_not_moved_by_a_link(tmp_path: Path) -> None:
    """Whoever works in the outer one can swap the inner one's directory for a link."""
    (tmp_path / "outer").mkdir()
    (tmp_path / "outer" / "inner").symlink_to("/etc")
    with pytest.raises(NotFound), Root(tmp_path, ("outer", "inner")).open():
        pass


def test_writers_wait_for_each_other_but_not_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_root, "_LOCK_SECONDS", 0.05)
    stage = Stage(tmp_path)
    held = os.open(stage.inside, os.O_RDONLY)
    fcntl.flock(held, fcntl.LOCK_EX)
    with pytest.raises(TryAgain, match="Another call"):
        stage.write("a", "x")
    os.close(held)
    stage.write("a", "x")


def test_a_writer_in_another_process_is_waited_for(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    code = (
        "import fcntl, os, sys; held = os.open(sys.argv[1], os.O_RDONLY); fcntl.flock(held, fcntl.LOCK_EX); "
        "print(1, flush=True); input()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, stage.inside], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        assert other.stdin is not None
        other.stdout.readline()
        own = os.open(stage.inside, os.O_RDONLY)
        with pytest.raises(BlockingIOError):
            fcntl.flock(own, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.close(own)
        other.stdin.write("\n")
        other.stdin.flush()
        stage.write("a", "x")
    assert stage.read("a") == "x"
