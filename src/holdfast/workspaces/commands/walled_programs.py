"""Our own programs (git, ripgrep, a search) that work on what agents can write: each runs behind the wall
with the directories it is given, its own directory and the system's programs, without network. It starts only
after what was mounted has been verified to be what was opened."""

import asyncio
import math
import os
import secrets
import shutil
import stat
import sys
from collections.abc import AsyncGenerator, Mapping
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from msgspec.structs import replace

from holdfast.core.errors import InvalidInput, TryAgain, WrongState
from holdfast.core.subprocesses import (
    DRAIN_BYTES,
    drained,
    kill_group,
    read_at_most,
    start_process,
    to_the_end,
)
from holdfast.workspaces.blocking import blocking
from holdfast.workspaces.commands.command_setup import make_devices
from holdfast.workspaces.commands.limits import CommandLimits
from holdfast.workspaces.commands.mounts import HOME, TEMPORARY, Bind, CommandPlace, Mount, Private
from holdfast.workspaces.commands.wall import SEARCH_PATH, Cell, Protected, Wall, command_line
from holdfast.workspaces.files.file_root import Root
from holdfast.workspaces.files.paths import shown

LIMITS = CommandLimits(processes=64, memory_mib=2048, file_mib=2048, cpu_seconds=120)
PROGRAM_SECONDS = 30.0
_ERROR_BYTES = 5000
_FILE_OUTPUT_BYTES = 4 * 1024 * 1024
# Of the system, our programs get the files they consist of, and none of its settings.
_SYSTEM = ("usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32", "nix")
_LOADER = "/etc/ld.so.cache"
_BEGUN = b"begun\n"
_MOVED = 123
# Arguments: device and inode numbers, the paths that must have them, `--`, the program.
_PROVE = f"""
wanted=$1 seen=; shift
while [ "$1" != -- ]; do seen="$seen$(stat -c %d:%i -- "$1") "; shift; done; shift
[ "$seen" = "$wanted" ] || exit {_MOVED}
exec "$@"
"""


@dataclass(frozen=True, kw_only=True)
class Program:
    """`readable` and `writable` are found at their own paths. A root that means one file shows only that
    file."""

    argv: tuple[str, ...]
    cwd: Path
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    readable: tuple[Root, ...] = ()
    writable: tuple[Root, ...] = ()
    # Of what is writable, repositories: what names programs in them is read-only all the same.
    repositories: tuple[Root, ...] = ()
    # More files that the program consists of. Only the administrator can write there.
    system: tuple[Path, ...] = ()

    @property
    def name(self) -> str:
        return os.path.basename(self.argv[0])


@dataclass(frozen=True, kw_only=True)
class Ran:
    """`cut`: it had more output, and was stopped."""

    code: int
    output: bytes
    cut: bool
    errors: bytes

    @property
    def reason(self) -> str:
        """The last line of its errors."""
        lines = self.errors.decode("utf-8", "replace").strip().splitlines()
        return shown(lines[-1][:300]) if lines else "it gave no reason"


@dataclass(frozen=True, kw_only=True)
class RunningProgram:
    process: asyncio.subprocess.Process
    output: asyncio.StreamReader
    errors: "asyncio.Task[bytes]"


class Walled:
    """`data` is the server's data directory. No program runs for longer than `most_seconds`, whatever its
    caller allows."""

    def __init__(
        self, wall: Wall, data: Path, limits: CommandLimits = LIMITS, *, most_seconds: float = math.inf
    ) -> None:
        self._wall = replace(wall, system=_programs(wall.system), network=False)
        self._base = data.resolve() / "programs"
        self._limits = limits
        self._most_seconds = most_seconds

    @property
    def stands(self) -> bool:
        return self._wall.stands

    def require(self, what: str) -> None:
        """Raises WrongState if there is no wall. For work that is never done without one."""
        if not self.stands:
            raise WrongState(
                f"{what} needs a sandbox, because programs are run on files that an agent may have written. "
                "This machine has no sandbox. `holdfast doctor` says how to get one."
            )

    def remove_left_over(self) -> None:
        """Once, before the first program: removes directories that a killed server left."""
        shutil.rmtree(self._base, ignore_errors=True)

    @asynccontextmanager
    async def room(self) -> AsyncGenerator["ProgramDirectory"]:
        """A directory for one program, or for several that work together."""
        directory = self._base / secrets.token_hex(8)
        try:
            yield await blocking(lambda: self._make_room(directory))
        finally:
            await blocking(lambda: shutil.rmtree(directory, ignore_errors=True))

    async def run(self, program: Program, *, limit: int, seconds: float = PROGRAM_SECONDS) -> Ran:
        async with self.room() as room:
            return await room.run(program, limit=limit, seconds=seconds)

    async def on_file(self, argv: tuple[str, ...], file: Path, seconds: float) -> tuple[int, bytes, bytes]:
        """Runs a program of this package on one file, which is its last argument: its exit status, its
        output, its errors."""
        real = await blocking(file.resolve)
        program = Program(
            argv=(*argv, str(real)),
            cwd=Path("/"),
            readable=(Root(real.parent, only=real.name),),
            system=interpreter(),
        )
        ran = await self.run(program, limit=_FILE_OUTPUT_BYTES, seconds=seconds)
        return ran.code, ran.output, ran.errors

    def _make_room(self, directory: Path) -> "ProgramDirectory":
        self._base.mkdir(mode=0o700, exist_ok=True)
        for path in (directory, *(directory / name for name in ("own", "home", "tmp", "root"))):
            path.mkdir(mode=0o700)
        superuser = self._wall.stands and self._wall.superuser
        devices = make_devices(directory / "devices") if superuser else None
        return ProgramDirectory(self._wall, self._limits, self._most_seconds, directory, devices)


class ProgramDirectory:
    """`own` is the only place that a program can write to unless it was given another; it persists from one
    program to the next."""

    def __init__(
        self, wall: Wall, limits: CommandLimits, most_seconds: float, directory: Path, devices: Path | None
    ) -> None:
        self.own = directory / "own"
        self._directory = directory
        self._wall = wall
        self._limits = limits
        self._most_seconds = most_seconds
        self._devices = devices

    async def run(self, program: Program, *, limit: int, seconds: float = PROGRAM_SECONDS) -> Ran:
        """Ends with everything it started, whatever happens."""
        seconds = min(seconds, self._most_seconds)
        try:
            async with asyncio.timeout(seconds), self.started(program) as running:
                output = await read_at_most(running.output, limit + 1)
                cut = len(output) > limit
                if cut:
                    kill_group(running.process)
                errors = await running.errors
                await drained(running.process)
                code = await running.process.wait()
                return Ran(code=code, output=output[:limit], cut=cut, errors=errors)
        except TimeoutError:
            raise TryAgain(f"{program.name} did not end within {seconds:g} s.") from None

    @asynccontextmanager
    async def started(self, program: Program) -> AsyncGenerator[RunningProgram]:
        """The caller reads its output. TryAgain: nothing of it was run."""
        with ExitStack() as stack:
            argv = await blocking(lambda: self._argv(program, stack))
            told, telling = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
            stack.callback(os.close, told)
            try:
                process = await _start(argv, program.environment, telling)
            finally:
                os.close(telling)
            assert process.stdout is not None
            assert process.stderr is not None
            errors = asyncio.create_task(_complaints(process.stderr))
            try:
                yield RunningProgram(process=process, output=process.stdout, errors=errors)
                if process.returncode == _MOVED:
                    raise TryAgain("The workspace was moved while it was being read. Try again.")
                if process.returncode and process.returncode > 0 and not _begun(told):
                    raise TryAgain(_not_built(program, await errors))
            finally:
                kill_group(process)
                await to_the_end(_ended(process, errors))

    def _argv(self, program: Program, stack: ExitStack) -> list[str]:
        """Every directory stays open until the program has ended, so that nothing else can get its inode
        number."""
        shown_roots = (*program.readable, *program.writable)
        numbers = "".join(f"{_opened(root, stack)} " for root in shown_roots)
        paths = [str(_path(root)) for root in shown_roots]
        cell = Cell(
            place=CommandPlace(
                root=self.own,
                writable=tuple(_path(root) for root in program.writable),
                readable=(
                    *(path for path in program.system if not _is_shown(path, self._wall.system)),
                    *(_path(root) for root in program.readable),
                ),
            ),
            private=Private(home=self._directory / "home", temporary=self._directory / "tmp"),
            cwd=program.cwd,
            command=("/bin/sh", "-c", _PROVE, "sh", numbers, *paths, "--", *program.argv),
            mountpoint=self._directory / "root",
            devices=self._devices,
            protects_git=bool(program.repositories),
            repositories=tuple(
                Protected(path=str(_path(root)), kind="repository") for root in program.repositories
            ),
        )
        return command_line(self._wall, cell, self._limits)


def interpreter(*more: str | None) -> tuple[Path, ...]:
    """What a program of this package consists of: the interpreter, its library, the package, and these."""
    package = Path(__file__).resolve().parents[3]
    paths = (sys.prefix, sys.base_prefix, sys.exec_prefix, os.path.realpath(sys.executable), *more)
    needed = {package, *(Path(path) for path in paths if path is not None)}
    return tuple(path for path in sorted(needed) if not any(other in path.parents for other in needed))


def _programs(system: tuple[Mount, ...]) -> tuple[Mount, ...]:
    kept = tuple(mount for mount in system if Path(mount.target).parts[1] in _SYSTEM)
    return (*kept, Bind(source=_LOADER, target=_LOADER)) if os.path.isfile(_LOADER) else kept


def _is_shown(path: Path, system: tuple[Mount, ...]) -> bool:
    return any(isinstance(mount, Bind) and path.is_relative_to(mount.target) for mount in system)


def _path(root: Root) -> Path:
    return root.path if root.only is None else root.path / root.only


def _opened(root: Root, stack: ExitStack) -> str:
    """Device and inode number, as `stat` prints them."""
    tree = stack.enter_context(root.open())
    info = os.fstat(tree.root)
    if root.only is not None:
        try:
            flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
            descriptor = os.open(root.only, flags, dir_fd=tree.root)
        except OSError as error:
            raise InvalidInput(f"{shown(root.only)} cannot be read ({error.strerror}).") from error
        stack.callback(os.close, descriptor)
        info = os.fstat(descriptor)
        if not stat.S_ISREG(info.st_mode):
            raise InvalidInput(f"{shown(root.only)} is not an ordinary file.")
    return f"{info.st_dev}:{info.st_ino}"


async def _start(argv: list[str], environment: Mapping[str, str], telling: int) -> asyncio.subprocess.Process:
    own = {"PATH": SEARCH_PATH, "HOME": HOME, "TMPDIR": TEMPORARY[0], "LC_ALL": "C.UTF-8"}
    try:
        return await start_process(argv, stdin=telling, env={**own, **environment})
    except OSError as error:
        raise TryAgain(f"A program could not be started ({error.strerror}). Try again.") from error


async def _ended(process: asyncio.subprocess.Process, errors: asyncio.Task[bytes]) -> None:
    await errors
    await drained(process)


async def _complaints(stream: asyncio.StreamReader) -> bytes:
    """The beginning of what the program writes to standard error. The rest is read and dropped, so that the
    program does not block."""
    first = await read_at_most(stream, _ERROR_BYTES)
    while await stream.read(DRAIN_BYTES):
        pass
    return first


def _begun(told: int) -> bool:
    try:
        return os.read(told, len(_BEGUN)) == _BEGUN
    except BlockingIOError:
        return False


def _not_built(program: Program, errors: bytes) -> str:
    said = shown(errors.decode("utf-8", "replace").strip()[-300:])
    return (
        f"The wall around {program.name} could not be built, so it was not run"
        f"{f': {said}' if said else ''}. `holdfast doctor` says what is wrong."
    )
