"""Searching a workspace without holding up the loop: each search is a process (`scan`), bounded in time and
in what it may say, and killed when the call is cancelled."""

import asyncio
import signal
import sys
from contextlib import ExitStack, suppress
from itertools import islice

import msgspec

from holdfast.core.errors import HoldfastError, InvalidInput, NotFound, TryAgain
from holdfast.core.shapes import Record, encode
from holdfast.workspaces.beneath import Root, Tree
from holdfast.workspaces.blocking import blocking
from holdfast.workspaces.fitting import SHOWN_CHARACTERS, fitting
from holdfast.workspaces.globs import compile_glob
from holdfast.workspaces.ripgrep import arguments, names, present
from holdfast.workspaces.scan import FILE_SECONDS, Ended, Event, Found, Refused, Request
from holdfast.workspaces.streams import drained, kill_group, read_at_most

SEARCH_SECONDS = 20.0
_STOP_SECONDS = 5.0
_NAMES_BYTES = 6 * 1024 * 1024
MORE = "there is more; narrow the path, the glob or the pattern to see it"

_decoder: msgspec.json.Decoder[Event] = msgspec.json.Decoder(Event)


class Results(Record, frozen=True, kw_only=True):
    """Lines as they are shown, and what is to be said about them when they are not all."""

    lines: tuple[str, ...]
    note: str | None = None


async def search(root: Root, request: Request, seconds: float = SEARCH_SECONDS) -> Results:
    lines: list[str] = []
    try:
        async with asyncio.timeout(seconds):
            if (named := await _names(root, request)) is not None:
                return named
            note = await _scan(root, request, lines)
    except TimeoutError:
        note = f"stopped after {seconds:g} s; narrow the path or the pattern to see the rest"
    return Results(lines=tuple(lines), note=note)


async def _names(root: Root, request: Request) -> Results | None:
    """Names of files by ripgrep itself, which is done before another process has begun; None: not this
    way."""
    if request.pattern is not None or request.ripgrep is None or not sys.platform.startswith("linux"):
        return None
    command = arguments(request.ripgrep, None, request.glob)
    assert command is not None
    with ExitStack() as stack:
        tree = await blocking(lambda: stack.enter_context(root.open()))
        start = await blocking(lambda: stack.enter_context(tree.directory(request.parts)))
        try:
            process = await _start(command, cwd=f"/proc/self/fd/{start}")
        except TryAgain:
            return None
        try:
            assert process.stdout is not None
            output = await read_at_most(process.stdout, _NAMES_BYTES + 1)
            if len(output) > _NAMES_BYTES:
                return None  # so many are the searching process's to hold
            code = await process.wait()
        finally:
            await _stop(process)
        found = names(code, output)
        return None if found is None else await blocking(lambda: _named(tree, request, found))


def _named(tree: Tree, request: Request, found: list[str]) -> Results:
    wanted = compile_glob(request.glob) if request.glob else None
    paths = (request.shown(file.path) for file in present(tree, request.parts, found, wanted))
    lines = tuple(islice(paths, request.limit + 1))
    shown_lines = lines[: min(fitting(lines), request.limit)]
    return Results(lines=shown_lines, note=MORE if len(shown_lines) < len(lines) else None)


async def _scan(root: Root, request: Request, lines: list[str]) -> str | None:
    with ExitStack() as stack:
        tree = await blocking(lambda: stack.enter_context(root.open()))
        # Isolated: nothing that lies in the workspace or is set for the server is imported or passed on.
        command = [sys.executable, "-I", "-m", "holdfast.workspaces.scan", str(tree.root)]
        process = await _start(command, cwd="/", pass_fds=(tree.root,))
    try:
        assert process.stdin is not None
        process.stdin.write(encode(request) + b"\n")
        return await _collect(process, lines)
    finally:
        await _stop(process)


async def _start(command: list[str], cwd: str, pass_fds: tuple[int, ...] = ()) -> asyncio.subprocess.Process:
    try:
        return await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            pass_fds=pass_fds,
            env={},
            cwd=cwd,
            start_new_session=True,
        )
    except OSError as error:
        raise TryAgain(f"The search could not be started ({error.strerror}). Try again.") from error


async def _collect(process: asyncio.subprocess.Process, lines: list[str]) -> str | None:
    """Takes lines until the search has ended or there are enough; what is to be said about what is
    missing."""
    assert process.stdout is not None
    room = SHOWN_CHARACTERS
    while line := await process.stdout.readline():
        match _decoder.decode(line):
            case Found(text=text):
                room -= len(text) + 1
                if room < 0:
                    return MORE
                lines.append(text)
            case Ended(more=more):
                return MORE if more else None
            case Refused(code=code, text=text):
                raise _refusal(code, text)
    if await process.wait() == -signal.SIGALRM:
        return f"stopped: one file took over {FILE_SECONDS:g} s; use a simpler pattern or narrow the path"
    return "the search broke off; what is shown was found before"


def _refusal(code: str, text: str) -> HoldfastError:
    return NotFound(text) if code == "not_found" else InvalidInput(text)


async def _stop(process: asyncio.subprocess.Process) -> None:
    """The whole group, ripgrep with it; whatever happens, no process is left."""
    kill_group(process)
    if process.stdin is not None:
        process.stdin.close()
    waiting = asyncio.ensure_future(drained(process))
    with suppress(TimeoutError):
        await asyncio.wait_for(asyncio.shield(waiting), _STOP_SECONDS)
