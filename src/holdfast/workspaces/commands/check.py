"""The workspace's check: a command that says whether what was written still works. Configured, or found in
the project's own files. Only its exit status counts; never two at once in a workspace."""

import asyncio
import json
import os
import re
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import cast

from holdfast.core.checks import Checked
from holdfast.core.clock import Clock, Stopwatch
from holdfast.core.errors import HoldfastError
from holdfast.core.ids import ChatId
from holdfast.core.shapes import Record
from holdfast.workspaces.commands.command_setup import CommandOrder
from holdfast.workspaces.commands.mounts import CommandPlace
from holdfast.workspaces.commands.output_excerpts import tail
from holdfast.workspaces.commands.processes import Processes
from holdfast.workspaces.files.file_root import Root, Tree
from holdfast.workspaces.files.line_ranges import open_file, read_up_to

CHECK_SECONDS = 60
CHECK_CHARACTERS = 8000
_FILE_BYTES = 1024 * 1024

# In this order: the first that a project has.
SCRIPTS = ("build", "compile", "typecheck")
PACKAGE_RUNNERS = {"pnpm-lock.yaml": "pnpm", "yarn.lock": "yarn"}
MAKE_TARGETS = ("check", "build", "test")
MAKEFILES = ("GNUmakefile", "makefile", "Makefile")
PYTHON_TOOLS = {
    "pyright": "pyright",
    "basedpyright": "basedpyright",
    "mypy": "mypy .",
    "ruff": "ruff check .",
}
# The shell's exit codes for "no such program" and "it cannot be run".
NOT_RUN = (126, 127)


class Check(Record, frozen=True, kw_only=True):
    command: str
    # The file it was found in; None: it was configured.
    found_in: str | None = None


class Checks:
    """Runs checks, one at a time in each workspace. `seconds` is the timeout."""

    def __init__(self, processes: Processes, clock: Clock) -> None:
        self._processes = processes
        self._clock = clock
        self._busy: dict[Path, asyncio.Lock] = {}

    async def run(
        self,
        chat_id: ChatId,
        root: Root,
        place: CommandPlace,
        configured: str | None = None,
        seconds: float = CHECK_SECONDS,
        still_ours: Callable[[], bool] = lambda: True,
    ) -> Checked | None:
        """None: the workspace has no check, or the one that was found cannot be run here. If cancelled, it
        ends with everything it started. `still_ours` is called directly before it starts; if False:
        CannotRun."""
        check = await asyncio.to_thread(find_check, root, configured)
        if check is None:
            return None
        async with self._busy.setdefault(place.root, asyncio.Lock()):
            order = CommandOrder(
                chat_id=chat_id,
                place=place,
                cwd=place.root.resolve(),
                command=check.command,
                still_ours=still_ours,
            )
            return await self._run(order, check, seconds)

    async def _run(self, order: CommandOrder, check: Check, seconds: float) -> Checked | None:
        watch = Stopwatch(self._clock)
        process = await self._processes.start(order)
        try:
            await asyncio.wait({process.ended}, timeout=seconds)
            if not process.ended.done():
                await self._processes.stop(process, "timed_out")
        except asyncio.CancelledError:
            await self._processes.stop(process, "cancelled")
            raise
        output = await self._processes.look(process.entry, _end_of)
        end = process.entry.end
        code = end.exit_code if end is not None and end.how == "exited" else None
        if code in NOT_RUN and check.found_in is not None:
            return None  # nobody configured it, and the program does not exist: nothing to report
        return Checked(
            command=check.command,
            result="timed_out" if code is None else "failed" if code else "passed",
            exit_code=code,
            output=output,
            started_at=watch.started_at,
            finished_at=watch.now(),
        )


def _end_of(output: Path) -> str:
    # Whatever the length in bytes of a character.
    return tail(4 * CHECK_CHARACTERS, output)[-CHECK_CHARACTERS:]


def find_check(root: Root, configured: str | None = None) -> Check | None:
    """The files of the workspace are data: only names known here get into a command."""
    if configured is not None:
        return Check(command=configured) if configured.strip() else None
    with root.open() as tree:
        return _package_script(tree) or _make_target(tree) or _python_tool(tree)


def _package_script(tree: Tree) -> Check | None:
    try:
        package: object = json.loads(_text(tree, "package.json"))
    except (ValueError, RecursionError):
        return None
    scripts = _table(_table(package).get("scripts"))
    for name in SCRIPTS:
        if isinstance(scripts.get(name), str):
            runners = (runner for lock, runner in PACKAGE_RUNNERS.items() if _is_there(tree, lock))
            return Check(command=f"{next(runners, 'npm')} run {name}", found_in="package.json")
    return None


def _make_target(tree: Tree) -> Check | None:
    for name in MAKEFILES:
        targets = set(re.findall(r"^([\w-]+)[ \t]*:(?!=)", _text(tree, name), re.MULTILINE))
        for target in MAKE_TARGETS:
            if target in targets:
                return Check(command=f"make {target}", found_in=name)
    return None


def _python_tool(tree: Tree) -> Check | None:
    try:
        project = tomllib.loads(_text(tree, "pyproject.toml"))
    except (tomllib.TOMLDecodeError, RecursionError):
        return None
    configured = _table(project.get("tool"))
    for tool, command in PYTHON_TOOLS.items():
        if tool in configured:
            # A project's own environment comes first.
            return Check(command=f'PATH="$PWD/.venv/bin:$PATH" {command}', found_in="pyproject.toml")
    return None


def _table(value: object) -> Mapping[str, object]:
    return cast(Mapping[str, object], value) if isinstance(value, dict) else {}


def _is_there(tree: Tree, name: str) -> bool:
    try:
        os.stat(name, dir_fd=tree.root, follow_symlinks=False)
    except OSError:
        return False
    return True


def _text(tree: Tree, name: str) -> str:
    """The text of a regular file of ordinary size; anything else counts as missing."""
    try:
        with tree.place((name,), follow=False) as place, open_file(place, (name,)) as descriptor:
            data = read_up_to(descriptor, _FILE_BYTES + 1)
    except (HoldfastError, OSError):
        return ""
    return data.decode("utf-8", "replace") if len(data) <= _FILE_BYTES else ""
