"""The workspace's check: the command that says whether what was written still holds together. Configured, or
found in the files a project has anyway. Its exit status alone decides; never two at once in a workspace."""

import asyncio
import json
import os
import re
import stat
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import cast

from holdfast.core.checks import Checked
from holdfast.core.clock import Clock
from holdfast.core.ids import ChatId
from holdfast.core.shapes import Record
from holdfast.workspaces.cells import Order
from holdfast.workspaces.excerpts import tail
from holdfast.workspaces.mounts import Place
from holdfast.workspaces.processes import Processes

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
# The shell's own words for "there is no such program" and "it cannot be run".
NOT_RUN = (126, 127)


class Check(Record, frozen=True, kw_only=True):
    command: str
    # What it was found in; None: somebody configured it.
    found_in: str | None = None


class Checks:
    """Runs checks, one at a time in each workspace. `seconds` is how long one may take."""

    def __init__(self, processes: Processes, clock: Clock) -> None:
        self._processes = processes
        self._clock = clock
        self._busy: dict[Path, asyncio.Lock] = {}

    async def run(
        self, chat_id: ChatId, place: Place, configured: str | None = None, seconds: float = CHECK_SECONDS
    ) -> Checked | None:
        """None: the workspace has no check, or the one that was found cannot be run here. Cancelled, it ends
        with everything it started."""
        check = await asyncio.to_thread(find_check, place.root, configured)
        if check is None:
            return None
        async with self._busy.setdefault(place.root, asyncio.Lock()):
            return await self._run(chat_id, place, check, seconds)

    async def _run(self, chat_id: ChatId, place: Place, check: Check, seconds: float) -> Checked | None:
        order = Order(chat_id=chat_id, place=place, cwd=place.root.resolve(), command=check.command)
        started_at = self._clock.now()
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
            return None  # nobody configured it, and the program is not there: no reason to complain
        return Checked(
            command=check.command,
            result="timed_out" if code is None else "failed" if code else "passed",
            exit_code=code,
            output=output,
            started_at=started_at,
            finished_at=self._clock.now(),
        )


def _end_of(output: Path) -> str:
    # Whatever the length in bytes of a character.
    return tail(4 * CHECK_CHARACTERS, output)[-CHECK_CHARACTERS:]


def find_check(root: Path, configured: str | None = None) -> Check | None:
    """The files of the workspace are data: nothing of them but names known here gets into a command."""
    if configured is not None:
        return Check(command=configured) if configured.strip() else None
    return _package_script(root) or _make_target(root) or _python_tool(root)


def _package_script(root: Path) -> Check | None:
    try:
        package: object = json.loads(_text(root / "package.json"))
    except (ValueError, RecursionError):
        return None
    scripts = _table(_table(package).get("scripts"))
    for name in SCRIPTS:
        if isinstance(scripts.get(name), str):
            runners = (runner for lock, runner in PACKAGE_RUNNERS.items() if (root / lock).exists())
            return Check(command=f"{next(runners, 'npm')} run {name}", found_in="package.json")
    return None


def _make_target(root: Path) -> Check | None:
    for name in MAKEFILES:
        targets = set(re.findall(r"^([\w-]+)[ \t]*:(?!=)", _text(root / name), re.MULTILINE))
        for target in MAKE_TARGETS:
            if target in targets:
                return Check(command=f"make {target}", found_in=name)
    return None


def _python_tool(root: Path) -> Check | None:
    try:
        project = tomllib.loads(_text(root / "pyproject.toml"))
    except (tomllib.TOMLDecodeError, RecursionError):
        return None
    configured = _table(project.get("tool"))
    for tool, command in PYTHON_TOOLS.items():
        if tool in configured:
            # A project's own environment first.
            return Check(command=f'PATH="$PWD/.venv/bin:$PATH" {command}', found_in="pyproject.toml")
    return None


def _table(value: object) -> Mapping[str, object]:
    return cast(Mapping[str, object], value) if isinstance(value, dict) else {}


def _text(path: Path) -> str:
    """Of a regular file of ordinary size; anything else is as good as none."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_size > _FILE_BYTES:
            return ""
        return os.read(descriptor, _FILE_BYTES).decode("utf-8", "replace")
    finally:
        os.close(descriptor)
