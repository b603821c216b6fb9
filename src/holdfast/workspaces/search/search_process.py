"""The process that searches: it is given a directory and a request, and prints what it finds line by line. A
separate process, so that the server's loop never waits for it and cancelling is a kill. It ends when its
parent is gone."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal

import msgspec

from holdfast.core.errors import HoldfastError
from holdfast.core.shapes import Record, encode
from holdfast.workspaces.files.file_root import DIRECTORY, Tree
from holdfast.workspaces.files.hidden import Identity, identity_of
from holdfast.workspaces.files.line_ranges import open_file
from holdfast.workspaces.files.openat2 import kernel_open
from holdfast.workspaces.files.paths import Parts, join, shown
from holdfast.workspaces.search.globs import Matches, compile_glob
from holdfast.workspaces.search.line_matches import scan
from holdfast.workspaces.search.patterns import compile_pattern
from holdfast.workspaces.search.ripgrep import arguments, names, present, rules_above
from holdfast.workspaces.search.walk import WalkedFile, walk

# A pattern that is slow to prepare, or slow on a file, is given up: the alarm ends the process.
FILE_SECONDS = 4.0


class SearchRequest(Record, frozen=True, kw_only=True):
    """`pattern` None: search names of files, else lines in them."""

    parts: Parts
    glob: str | None
    pattern: str | None
    context: int = 0
    limit: int
    ripgrep: str | None = None
    # A prefix for the paths that are shown.
    above: str = ""
    # Whether a file is found through a link.
    links: bool = True
    # What must not be found, by device and inode.
    hidden: tuple[tuple[int, int], ...] = ()
    # The same by path below the root: behind the wall something else is there.
    covered: tuple[str, ...] = ()

    def shown(self, path: str = "") -> str:
        return shown(self.above + join((*self.parts, path) if path else self.parts))


class SearchFound(Record, frozen=True, kw_only=True, tag_field="type", tag="found"):
    text: str


class SearchEnded(Record, frozen=True, kw_only=True, tag_field="type", tag="ended"):
    """`more`: there was more to find."""

    more: bool


class SearchRefused(Record, frozen=True, kw_only=True, tag_field="type", tag="refused"):
    code: Literal["invalid_input", "not_found"]
    text: str


Event = SearchFound | SearchEnded | SearchRefused


def answer(tree: Tree, request: SearchRequest, alarm: Callable[[float], object]) -> Iterator[Event]:
    """What is found, in the order of the paths, then how it ended."""
    try:
        count = 0
        for text, counts in _lines(tree, request, alarm):
            if count == request.limit and counts:
                yield SearchEnded(more=True)
                return
            count += counts
            yield SearchFound(text=text)
        yield SearchEnded(more=False)
    except HoldfastError as error:
        yield SearchRefused(
            code="not_found" if error.code == "not_found" else "invalid_input", text=error.text
        )


def _lines(
    tree: Tree, request: SearchRequest, alarm: Callable[[float], object]
) -> Iterator[tuple[str, bool]]:
    """Lines to show, and whether each is a match that counts."""
    wanted = compile_glob(request.glob) if request.glob else None
    if request.pattern is None:
        for file in _files(tree, request, wanted):
            yield request.shown(file.path), True
        return
    alarm(FILE_SECONDS)
    pattern = compile_pattern(request.pattern)
    alarm(0)
    before: tuple[str, int] | None = None
    for path, descriptor in _opened(tree, request, wanted):
        alarm(FILE_SECONDS)
        try:
            for line in scan(descriptor, pattern, request.context):
                if request.context and before is not None and before != (path, line.number - 1):
                    yield "--", False
                mark = ":" if line.matches else "-"
                yield f"{path}{mark}{line.number}{mark}{line.text}", line.matches
                before = (path, line.number)
        except OSError:
            continue  # a file that cannot be read is left out, as ripgrep does
        finally:
            os.close(descriptor)
            alarm(0)


def _opened(tree: Tree, request: SearchRequest, wanted: Matches | None) -> Iterator[tuple[str, int]]:
    """The files to look into, opened, with the paths that are shown."""
    if request.parts and _is_file(tree, request.parts):
        with tree.place(request.parts) as place, open_file(place, request.parts) as descriptor:
            yield request.shown(), os.dup(descriptor)
        return
    for file in _files(tree, request, wanted):
        try:
            descriptor = file.open()
        except OSError:
            continue
        if identity_of(os.fstat(descriptor)) in tree.hidden:
            os.close(descriptor)
            continue
        yield request.shown(file.path), descriptor


def _is_file(tree: Tree, parts: Parts) -> bool:
    try:
        os.close(tree.open_directory(parts))
    except NotADirectoryError:
        return True
    except OSError:
        pass  # opening it will tell why
    return False


def _files(tree: Tree, request: SearchRequest, wanted: Matches | None) -> Iterator[WalkedFile]:
    with tree.directory(request.parts) as start:
        found = _candidates(start, request)
        if found is not None:
            yield from present(tree, request.parts, found, wanted)
            return
        for file in walk(start, rules_above(tree, request.parts), "/".join(request.parts), tree.hidden):
            if wanted is None or wanted(file.path):
                yield file


def _candidates(start: int, request: SearchRequest) -> list[str] | None:
    """Where ripgrep finds the pattern; None: everything has to be examined."""
    if request.ripgrep is None or request.pattern is None:
        return None
    if (command := arguments(request.ripgrep, request.pattern, request.glob)) is None:
        return None
    os.fchdir(start)
    try:
        told = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={},
            check=False,
        )
    except OSError:
        return None
    return names(told.returncode, told.stdout)


def _watch() -> None:
    """The parent is gone when the pipe ends; then everything here ends, including ripgrep."""
    sys.stdin.buffer.read()
    os.killpg(0, signal.SIGKILL)


def covers(root: int, paths: tuple[str, ...]) -> Iterator[Identity]:
    for path in paths:
        try:
            yield identity_of(os.stat(path, dir_fd=root, follow_symlinks=False))
        except OSError:
            continue  # nothing is there


def main() -> None:
    """`directory PATH FILE`: behind the wall, which ends with the parent; the request is in the file.
    `descriptor NUMBER`: the request comes on standard input."""
    if sys.argv[1] == "directory":
        asked = Path(sys.argv[3]).read_bytes()
        root = os.open(sys.argv[2], DIRECTORY | os.O_NOFOLLOW)
    else:
        asked, root = sys.stdin.buffer.readline(), int(sys.argv[2])
        threading.Thread(target=_watch, daemon=True).start()
    request = msgspec.json.decode(asked, type=SearchRequest)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    hidden = frozenset((*request.hidden, *covers(root, request.covered)))
    tree = Tree(root, kernel_open(), links=request.links, hidden=hidden)
    out = sys.stdout.buffer
    for event in answer(tree, request, lambda seconds: signal.setitimer(signal.ITIMER_REAL, seconds)):
        out.write(encode(event) + b"\n")
        out.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
