"""Programs that are spoken to while they run, over their standard input and output: servers that a person
configured or trusted. Each runs behind the wall, with a home of its own that stays, and ends with whoever
started it."""

import asyncio
import os
import secrets
import shutil
import socket
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import structlog
from msgspec.structs import replace

from holdfast.core.errors import CannotRun
from holdfast.core.shapes import Record
from holdfast.core.subprocesses import DRAIN_BYTES, kill_group, start_process
from holdfast.workspaces.blocking import blocking
from holdfast.workspaces.commands.cgroups import Cgroups, Group
from holdfast.workspaces.commands.command_setup import KILL_SECONDS, make_devices
from holdfast.workspaces.commands.command_user import identity_of
from holdfast.workspaces.commands.limits import CommandLimits
from holdfast.workspaces.commands.mounts import CommandPlace, Private
from holdfast.workspaces.commands.networks import Network, Networks, NoNetwork
from holdfast.workspaces.commands.wall import SEARCH_PATH, Cell, Joined, Wall, command_line, environment
from holdfast.workspaces.git.git_directories import GitDirectories, to_protect
from holdfast.workspaces.git.new_repositories import LOOK_SECONDS, LOOK_SHARE, MOST_PUT_ASIDE, put_aside

log = structlog.get_logger(__name__)

BEGIN_SECONDS = 30.0
GRACE_SECONDS = 2.0
# How much of its standard error is kept.
ERROR_BYTES = 8 * 1024
_BEGUN = b"begun\n"


class PipedOrder(Record, frozen=True, kw_only=True):
    """What to run, and what surrounds it. `home` names the directories that it keeps from one start to the
    next; `place` None: it has no workspace."""

    home: str
    command: tuple[str, ...]
    environment: Mapping[str, str]
    network: Network
    place: CommandPlace | None = None
    # False: as the server's own user, in the machine itself. Only for what an admin chose.
    walled: bool = True


class PipedProgram:
    """A running one."""

    def __init__(
        self,
        process: asyncio.subprocess.Process,
        writer: asyncio.StreamWriter,
        clear: "_Surroundings",
    ) -> None:
        assert process.stdout is not None
        self.output = process.stdout
        self.input = writer
        self._process = process
        self._clear = clear
        self._errors = bytearray()
        self._reading = asyncio.create_task(self._read_errors())
        self._looking = asyncio.create_task(self._look_while_running())

    @property
    def errors(self) -> str:
        """The end of its standard error."""
        return self._errors.decode("utf-8", "replace")

    @property
    def exit_code(self) -> int | None:
        return self._process.returncode

    async def ended(self) -> int:
        """Waits for its end by itself; then all that it complained of is there."""
        code = await self._process.wait()
        await asyncio.wait({self._reading}, timeout=GRACE_SECONDS)
        return code

    async def close(self) -> None:
        """Its input ends, which asks it to leave; then all of it is killed."""
        self.input.close()
        try:
            async with asyncio.timeout(GRACE_SECONDS):
                while await self.output.read(DRAIN_BYTES):
                    pass
                await self._process.wait()
        except TimeoutError:
            pass
        finally:
            kill_group(self._process)
            with suppress(TimeoutError):
                async with asyncio.timeout(GRACE_SECONDS):
                    while await self.output.read(DRAIN_BYTES):
                        pass
                    await self._process.wait()
            for task in (self._reading, self._looking):
                task.cancel()
            await asyncio.gather(self._reading, self._looking, return_exceptions=True)
            await blocking(self._clear.end)

    async def _read_errors(self) -> None:
        assert self._process.stderr is not None
        while piece := await self._process.stderr.read(DRAIN_BYTES):
            self._errors += piece
            del self._errors[:-ERROR_BYTES]

    async def _look_while_running(self) -> None:
        """A server may run for hours, and a person may use git in what it has made."""
        loop = asyncio.get_running_loop()
        pause, times = LOOK_SECONDS, 0
        while times < MOST_PUT_ASIDE:
            await asyncio.sleep(pause)
            began = loop.time()
            times += await blocking(lambda: self._clear.put_aside(running=True))
            pause = max(LOOK_SECONDS, LOOK_SHARE * (loop.time() - began))
        kill_group(self._process)


class _Repositories:
    """Those of a workspace, as they were before a program began."""

    def __init__(self, place: CommandPlace, git: GitDirectories) -> None:
        self.place = place
        self.before = git.look(place)
        self._git = git

    def put_aside(self, *, running: bool) -> list[str]:
        return put_aside(self.place, self.before, self._git, running=running)


class _Surroundings:
    """What was made for one start, to be cleared away."""

    def __init__(
        self,
        directory: Path | None,
        group: Group | None,
        network: "tuple[Networks, str] | None",
        repositories: _Repositories | None = None,
    ) -> None:
        self._directory = directory
        self._group = group
        self._network = network
        self._repositories = repositories

    def put_aside(self, *, running: bool) -> bool:
        """Whether the program left something for a person's own git, which is put aside."""
        if self._repositories is None:
            return False
        try:
            said = self._repositories.put_aside(running=running)
        except Exception:
            log.exception("what a program made was not looked at")
            return False
        if said:
            log.warning("parts of repositories were put aside", parts=said)
        return bool(said)

    def end(self) -> None:
        if self._group is not None:
            self._group.end(KILL_SECONDS)
        self.put_aside(running=False)
        if self._network is not None:
            networks, name = self._network
            networks.leave(name)
            networks.close_idle(0.0)
        if self._directory is not None:
            shutil.rmtree(self._directory, ignore_errors=True)


class PipedPrograms:
    """`data` is the server's data directory; `network` what commands really have."""

    def __init__(
        self,
        data: Path,
        wall: Wall,
        *,
        limits: CommandLimits,
        cgroups: Cgroups | None,
        network: Network,
        server_environment: Mapping[str, str],
    ) -> None:
        self._base = data.resolve() / "piped"
        self._wall = wall
        self._limits = limits
        self._cgroups = cgroups
        self.network: Network = network
        self._server_environment = server_environment
        self._networks: Networks | None = None
        self._git = GitDirectories((data, *wall.hidden))

    @property
    def stands(self) -> bool:
        return self._wall.stands

    async def start(self, order: PipedOrder) -> PipedProgram:
        """CannotRun: nothing of it was run."""
        if not order.walled:
            return await self._start_unwalled(order)
        if not self._wall.stands:
            raise CannotRun(
                "This machine has no wall around programs, and a server is not started without one unless an "
                "admin sets wall = false for it. `holdfast doctor` says how to get a wall."
            )
        try:
            argv, surroundings, private = await blocking(lambda: self._build(order))
        except (OSError, NoNetwork) as error:
            raise CannotRun(f"Its surroundings could not be made: {error}.") from error
        told = environment(self._wall, private, secrets.token_hex(8), self._server_environment)
        return await self._begin(argv, {**told, **order.environment}, surroundings)

    def close(self) -> None:
        if self._networks is not None:
            self._networks.close()

    async def _begin(
        self, argv: list[str], environ: Mapping[str, str], surroundings: _Surroundings
    ) -> PipedProgram:
        """Its standard input is a socket: one line comes back through it when the wall stands."""
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        try:
            process = await start_process(argv, stdin=theirs.fileno(), env=environ)
        except BaseException as error:
            ours.close()
            await blocking(surroundings.end)
            if isinstance(error, OSError):
                raise CannotRun(f"It could not be started ({error.strerror}).") from error
            raise
        finally:
            theirs.close()
        reader, writer = await asyncio.open_connection(sock=ours)
        program = PipedProgram(process, writer, surroundings)
        try:
            async with asyncio.timeout(BEGIN_SECONDS):
                begun = await reader.readline()
        except TimeoutError:
            begun = b""
        except BaseException:
            await program.close()
            raise
        if begun != _BEGUN:
            await program.close()
            raise CannotRun(f"The wall around it could not be built: {program.errors.strip()[-300:]}")
        return program

    async def _start_unwalled(self, order: PipedOrder) -> PipedProgram:
        kept = {
            name: self._server_environment[name]
            for name in ("PATH", "HOME", "LANG")
            if name in self._server_environment
        }
        environ = {"PATH": SEARCH_PATH, **kept, **order.environment}
        program = shutil.which(order.command[0], path=environ["PATH"])
        if program is None:
            raise CannotRun(f"There is no program {order.command[0][:200]} on this machine.")
        argv = [program, *order.command[1:]]
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        try:
            process = await start_process(argv, stdin=theirs.fileno(), env=environ)
        except OSError as error:
            ours.close()
            raise CannotRun(f"It could not be started ({error.strerror}).") from error
        finally:
            theirs.close()
        _, writer = await asyncio.open_connection(sock=ours)
        return PipedProgram(process, writer, _Surroundings(None, None, None))

    def _build(self, order: PipedOrder) -> tuple[list[str], _Surroundings, Private]:
        home = self._base / order.home
        private = Private(home=home / "home", temporary=home / "tmp")
        number = secrets.token_hex(6)
        directory = home / number
        for path in (self._base, home, private.home, private.temporary, directory, directory / "root"):
            path.mkdir(mode=0o700, exist_ok=True)
        private.temporary.chmod(0o1777)
        place = order.place or CommandPlace(root=private.home)
        for path in (place.root, *place.writable):
            if os.path.realpath(path) != str(path):
                raise CannotRun(f"{path} is a link now, or lies behind one, and nothing can run there.")
        repositories = None if order.place is None else _Repositories(place, self._git)
        wall, joined, network = self._network_for(order)
        group: Group | None = None
        try:
            group = None if self._cgroups is None else self._cgroups.make(f"piped-{number}", self._limits)
            superuser = identity_of(wall, place, private) == "root"
            cell = Cell(
                place=place,
                private=private,
                cwd=place.root,
                command=("/usr/bin/env", "--", *order.command),
                mountpoint=directory / "root",
                devices=make_devices(directory / "devices") if superuser else None,
                groups=() if group is None else group.directories,
                network=joined,
                keeps_input=True,
                repositories=() if repositories is None else to_protect(place, repositories.before),
            )
            argv = command_line(wall, cell, self._limits)
        except BaseException:
            _Surroundings(directory, group, network).end()
            raise
        return argv, _Surroundings(directory, group, network, repositories), private

    def _network_for(self, order: PipedOrder) -> tuple[Wall, Joined | None, tuple[Networks, str] | None]:
        match order.network:
            case "host":
                return replace(self._wall, network=True), None, None
            case "none":
                return replace(self._wall, network=False), None, None
            case "internet":
                if self._networks is None:
                    self._networks = Networks("internet", superuser=self._wall.superuser)
                name = f"{order.home}-{secrets.token_hex(4)}"
                joined = self._networks.join(name)
                return replace(self._wall, network=False), joined, (self._networks, name)
