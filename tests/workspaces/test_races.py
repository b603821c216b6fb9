"""Somebody swaps directories and files for links that lead out, all the while: in ten thousand tries nothing
outside is read, written, listed or deleted."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from holdfast.core.errors import HoldfastError
from holdfast.workspaces.files.chat_files import ChatFiles
from holdfast.workspaces.files.edits import PassageEdit
from holdfast.workspaces.files.file_root import Root, Tree
from holdfast.workspaces.files.git_guard import Guard
from holdfast.workspaces.files.line_ranges import read_lines
from holdfast.workspaces.files.openat2 import kernel_open
from holdfast.workspaces.files.writes import delete_file, list_directory, write_file
from holdfast.workspaces.search.search_process import SearchFound, SearchRequest, answer
from tests.workspaces.stage import CHAT, SECRET, Stage

TRIES = 10_000
PATIENCE_SECONDS = 400
REPOSITORY = Path(__file__).parents[2]


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    stage = Stage(tmp_path)
    stage.write("directory/secret.txt", "inside")
    stage.write("file", "inside")
    with subprocess.Popen(
        [sys.executable, "-m", "tests.workspaces.racing", stage.inside, stage.outside],
        cwd=REPOSITORY,
        stdout=subprocess.PIPE,
    ) as racer:
        assert racer.stdout is not None
        assert racer.stdout.readline() == b"racing\n"
        yield stage
        assert racer.poll() is None, "it raced until the end"
        racer.kill()
    stage.kept_outside()


def no_disk(_: int) -> None:
    """Ten thousand times to the disk would measure the disk."""


def tried(tries: int, what: Callable[[int], object]) -> None:
    """So often, and then until it went well at least once and was refused at least once: both were tried.
    Nothing of the outside is in either."""
    well = refused = n = 0
    until = time.monotonic() + PATIENCE_SECONDS
    while n < tries or not (well and refused):
        try:
            told = str(what(n))
            well += 1
        except HoldfastError as error:
            told = error.text
            refused += 1
        assert SECRET not in told
        assert time.monotonic() < until, f"{well} went well, {refused} were refused"
        n += 1


@pytest.mark.heavy
@pytest.mark.timeout(600)
@pytest.mark.parametrize("kernel", [True, False], ids=["kernel", "by name"])
def test_reading_and_listing(stage: Stage, kernel: bool) -> None:
    descriptor = os.open(stage.inside, os.O_RDONLY)
    tree = Tree(descriptor, kernel_open() if kernel else None)
    paths = (("directory", "secret.txt"), ("file",), ("directory link", "secret.txt"), ("file link",))
    tried(TRIES, lambda n: read_lines(tree, paths[n % 4]))
    until = time.monotonic() + PATIENCE_SECONDS
    while (stage.inside / "directory" / "secret.txt").read_text() != SECRET:
        assert time.monotonic() < until, "whoever does not take care is led out"
    for _ in range(TRIES // 10):
        try:
            assert [entry.name for entry in list_directory(tree, ("directory",))[0]] == ["secret.txt"]
        except HoldfastError:
            continue
    os.close(descriptor)


@pytest.mark.heavy
@pytest.mark.timeout(600)
@pytest.mark.parametrize("kernel", [True, False], ids=["kernel", "by name"])
def test_writing_and_deleting(stage: Stage, kernel: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", no_disk)
    descriptor = os.open(stage.inside, os.O_RDONLY)
    tree = Tree(descriptor, kernel_open() if kernel else None)

    guard = Guard(stage.inside)

    def put(n: int) -> None:
        write_file(tree, ("directory", f"new {n % 5}.txt"), b"inside", lambda _: None, guard)

    def take(n: int) -> None:
        delete_file(tree, ("directory", f"new {n % 5}.txt"), lambda _: None, guard)

    tried(TRIES, lambda n: (put, take)[n % 2](n // 2))
    tried(TRIES // 10, put)
    os.close(descriptor)


@pytest.mark.heavy
@pytest.mark.timeout(600)
def test_editing(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", no_disk)
    root = Root(stage.inside)

    def edit(n: int) -> object:
        files = ChatFiles(root, stage.seen, CHAT, repeated=False)
        path = ("directory/secret.txt", "file")[n % 2]
        stage.seen.forget(CHAT, root, tuple(path.split("/")))
        files.read(path, None, None)
        return files.edit([(path, PassageEdit(old="inside", new="inside!"))])

    tried(TRIES // 10, edit)


@pytest.mark.heavy
@pytest.mark.timeout(600)
def test_searching(stage: Stage) -> None:
    for _ in range(TRIES // 10):
        with stage.root.open() as tree:
            request = SearchRequest(parts=(), pattern="secret|inside", glob=None, limit=10)
            told = [
                event.text
                for event in answer(tree, request, lambda _: None)
                if isinstance(event, SearchFound)
            ]
        assert SECRET not in "\n".join(told)
