"""Searching a workspace without blocking the loop: each search is a process (`search_process`) behind the
wall, bounded in time and output, and killed when the call is cancelled. Without a wall it is the same process
with nothing but the directory, and no other program."""

import asyncio
import os
import signal
import sys
from contextlib import ExitStack, suppress
from itertools import islice
from pathlib import Path

import msgspec
from msgspec.structs import replace

from holdfast.core.errors import HoldfastError, InvalidInput, NotFound, TryAgain
from holdfast.core.shapes import Record, encode
from holdfast.core.subprocesses import drained, kill_group, start_process
from holdfast.workspaces.blocking import blocking
from holdfast.workspaces.commands.walled_programs import Program, Walled, interpreter
from holdfast.workspaces.files.file_root import Root, Tree
from holdfast.workspaces.files.hidden import Identity
from holdfast.workspaces.files.paths import Parts
from holdfast.workspaces.search.globs import compile_glob
from holdfast.workspaces.search.prompt_fit import SHOWN_CHARACTERS, fitting
from holdfast.workspaces.search.ripgrep import arguments, names, present
from holdfast.workspaces.search.search_process import (
    FILE_SECONDS,
    Event,
    SearchEnded,
    SearchFound,
    SearchRefused,
    SearchRequest,
)

SEARCH_SECONDS = 20.0
_STOP_SECONDS = 5.0
_NAMES_BYTES = 6 * 1024 * 1024
MORE = "there is more; narrow the path, the glob or the pattern to see it"

# Isolated: nothing in the workspace or in the server's environment is imported or passed on.
_SCAN = (sys.executable, "-I", "-m", "holdfast.workspaces.search.search_process")

_decoder: msgspec.json.Decoder[Event] = msgspec.json.Decoder(Event)


class Results(Record, frozen=True, kw_only=True):
    """The lines to show, and a note if they are not all."""

    lines: tuple[str, ...]
    note: str | None = None


async def search(
    walled: Walled, root: Root, request: SearchRequest, seconds: float = SEARCH_SECONDS
) -> Results:
    """Without a wall ripgrep is not run: files that it reads on its way may be links."""
    lines: list[str] = []
    program = await blocking(lambda: _program(request.ripgrep)) if walled.stands else None
    request = replace(request, ripgrep=program)
    try:
        async with asyncio.timeout(seconds):
            if (named := await _names(walled, root, request)) is not None:
                return named
            note = await (_scan_walled if walled.stands else _scan)(walled, root, request, lines)
    except TimeoutError:
        note = f"stopped after {seconds:g} s; narrow the path or the pattern to see the rest"
    return Results(lines=tuple(lines), note=note)


async def _names(walled: Walled, root: Root, request: SearchRequest) -> Results | None:
    """Names of files by ripgrep directly, which is done before another process has started; None: not
    possible this way."""
    if request.pattern is not None or request.ripgrep is None or root.only is not None:
        return None
    command = arguments(request.ripgrep, None, request.glob)
    assert command is not None
    with ExitStack() as stack:
        tree = await blocking(lambda: stack.enter_context(root.open()))
        where = await blocking(lambda: _directory(tree, root, request.parts))
        program = Program(argv=tuple(command), cwd=where, readable=(root,), system=(Path(request.ripgrep),))
        ran = await walled.run(program, limit=_NAMES_BYTES, seconds=SEARCH_SECONDS)
        if ran.cut:
            return None  # this many are left to the search process
        found = names(ran.code, ran.output)
        return None if found is None else await blocking(lambda: _named(tree, request, found))


def _program(ripgrep: str | None) -> str | None:
    real = None if ripgrep is None else os.path.realpath(ripgrep)
    return real if real is not None and os.path.isfile(real) else None


def _directory(tree: Tree, root: Root, parts: Parts) -> Path:
    """Where a search starts, if that can be opened. Behind the wall its name leads nowhere else."""
    with tree.directory(parts):
        return root.path.joinpath(*parts)


def _named(tree: Tree, request: SearchRequest, found: list[str]) -> Results:
    wanted = compile_glob(request.glob) if request.glob else None
    paths = (request.shown(file.path) for file in present(tree, request.parts, found, wanted))
    lines = tuple(islice(paths, request.limit + 1))
    shown_lines = lines[: min(fitting(lines), request.limit)]
    return Results(lines=shown_lines, note=MORE if len(shown_lines) < len(lines) else None)


async def _scan_walled(walled: Walled, root: Root, request: SearchRequest, lines: list[str]) -> str | None:
    hidden, covered = await blocking(lambda: hidden_below(root))
    request = replace(request, hidden=hidden, covered=covered)
    async with walled.room() as room:
        asked = room.own / "request"
        await blocking(lambda: asked.write_bytes(encode(request)))
        program = Program(
            argv=(*_SCAN, "directory", str(root.path), str(asked)),
            cwd=Path("/"),
            readable=(root,),
            system=interpreter(request.ripgrep),
        )
        async with room.started(program) as running:
            return await _collect(running.process, lines)


def hidden_below(root: Root) -> tuple[tuple[Identity, ...], tuple[str, ...]]:
    """What no search may find, by device and inode, and by path below the root."""
    paths = () if root.hidden is None else root.hidden.paths()
    covered = (str(path.relative_to(root.path)) for path in paths if path.is_relative_to(root.path))
    with root.open() as tree:
        return tuple(tree.hidden), tuple(covered)


async def _scan(_: Walled, root: Root, request: SearchRequest, lines: list[str]) -> str | None:
    with ExitStack() as stack:
        tree = await blocking(lambda: stack.enter_context(root.open()))
        request = replace(request, hidden=tuple(tree.hidden))
        process = await _start([*_SCAN, "descriptor", str(tree.root)], tree.root)
    try:
        assert process.stdin is not None
        process.stdin.write(encode(request) + b"\n")
        return await _collect(process, lines)
    finally:
        await _stop(process)


async def _start(command: list[str], descriptor: int) -> asyncio.subprocess.Process:
    try:
        return await start_process(command, stderr=asyncio.subprocess.DEVNULL, pass_fds=(descriptor,))
    except OSError as error:
        raise TryAgain(f"The search could not be started ({error.strerror}). Try again.") from error


async def _collect(process: asyncio.subprocess.Process, lines: list[str]) -> str | None:
    """Reads lines until the search has ended or there are enough; returns a note about what is missing."""
    assert process.stdout is not None
    room = SHOWN_CHARACTERS
    while line := await process.stdout.readline():
        match _decoder.decode(line):
            case SearchFound(text=text):
                room -= len(text) + 1
                if room < 0:
                    return MORE
                lines.append(text)
            case SearchEnded(more=more):
                return MORE if more else None
            case SearchRefused(code=code, text=text):
                raise _refusal(code, text)
    if await process.wait() in (-signal.SIGALRM, 128 + signal.SIGALRM):
        return f"stopped: one file took over {FILE_SECONDS:g} s; use a simpler pattern or narrow the path"
    return "the search broke off; what is shown was found before"


def _refusal(code: str, text: str) -> HoldfastError:
    return NotFound(text) if code == "not_found" else InvalidInput(text)


async def _stop(process: asyncio.subprocess.Process) -> None:
    """The whole group, including ripgrep; whatever happens, no process is left."""
    kill_group(process)
    waiting = asyncio.ensure_future(drained(process))
    with suppress(TimeoutError):
        await asyncio.wait_for(asyncio.shield(waiting), _STOP_SECONDS)
