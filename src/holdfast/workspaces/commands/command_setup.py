"""The surroundings of one command: its directories, its device files, its control group, the wall. Built
before it starts and removed when it has ended; both in the process thread, because both wait for the disk."""

import os
import shlex
import stat
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import structlog
from msgspec.structs import replace

from holdfast.core.clock import Clock
from holdfast.core.errors import CannotRun
from holdfast.core.ids import ChatId
from holdfast.core.shapes import Record
from holdfast.workspaces.commands.cgroups import Cgroups, Group
from holdfast.workspaces.commands.command_user import identity_of
from holdfast.workspaces.commands.limits import CommandLimits
from holdfast.workspaces.commands.mounts import CommandPlace, Private, system_mounts
from holdfast.workspaces.commands.process_records import ProcessEntry, Shelf
from holdfast.workspaces.commands.wall import DEVICES, Cell, Joined, Wall, command_line, environment
from holdfast.workspaces.git.git_directories import to_protect

log = structlog.get_logger(__name__)

LOOK_AROUND_SECONDS = 60.0
KILL_SECONDS = 1.0


class CommandOrder(Record, frozen=True, kw_only=True):
    """What to run, and for whom. Paths are real ones, without links."""

    chat_id: ChatId
    place: CommandPlace
    cwd: Path
    # A line for the shell, or a program and its arguments.
    command: str | tuple[str, ...]
    background: bool = False
    # Without any network, whatever other commands have.
    offline: bool = False
    # Called directly before it is started: whether the caller may still start it.
    still_ours: Callable[[], bool] = lambda: True


def words_of(command: str | tuple[str, ...]) -> tuple[str, ...]:
    return (command,) if isinstance(command, str) else command


def _started(command: str | tuple[str, ...]) -> str | tuple[str, ...]:
    """A program is found and started by env, so that none of its words means anything to a shell."""
    return command if isinstance(command, str) else ("/usr/bin/env", "--", *command)


def command_text(command: str | tuple[str, ...]) -> str:
    """As a person would type it."""
    return command if isinstance(command, str) else shlex.join(command)


@dataclass(frozen=True, kw_only=True)
class Built:
    argv: list[str]
    environment: Mapping[str, str]
    cwd: Path
    group: Group | None


class Cells:
    def __init__(
        self,
        wall: Wall,
        shelf: Shelf,
        *,
        limits: CommandLimits,
        cgroups: Cgroups | None,
        clock: Clock,
        server_environment: Mapping[str, str],
    ) -> None:
        self.wall = wall
        self._shelf = shelf
        self._limits = limits
        self._cgroups = cgroups
        self._clock = clock
        self._server_environment = server_environment
        self._looked_at = clock.elapsed()

    def build(self, entry: ProcessEntry, order: CommandOrder, network: Joined | None = None) -> Built:
        """OSError or CannotRun: it could not be built, and nothing of it is left."""
        _check_real(order.place)
        self._look_around()
        private = self._shelf.private(entry.chat_id)
        directory = self._shelf.directory(entry.chat_id, entry.id)
        directory.mkdir(mode=0o700)
        group: Group | None = None
        try:
            if self._cgroups is not None:
                group = self._cgroups.make(entry.id, self._limits)
            (directory / "root").mkdir(mode=0o700)
            cell = Cell(
                place=order.place,
                private=private,
                cwd=order.cwd,
                command=_started(order.command),
                mountpoint=directory / "root",
                devices=make_devices(directory / "devices") if self._is_root(order, private) else None,
                groups=group.directories if group is not None else (),
                network=network,
                offline=order.offline,
                repositories=to_protect(order.place, entry.repositories),
            )
            return Built(
                argv=command_line(self.wall, cell, self._limits),
                environment=environment(self.wall, private, entry.mark, self._server_environment),
                cwd=Path("/") if self.wall.stands else order.cwd,
                group=group,
            )
        except BaseException:
            self.clear(entry, group)
            raise

    def _is_root(self, order: CommandOrder, private: Private) -> bool:
        return self.wall.stands and identity_of(self.wall, order.place, private) == "root"

    def clear(self, entry: ProcessEntry, group: Group | None) -> None:
        """Also kills what is left in the group. The output stays."""
        if group is not None and not group.end(KILL_SECONDS):
            log.error("processes cannot be killed", process_id=entry.id, groups=group.directories)
        directory = self._shelf.directory(entry.chat_id, entry.id)
        with suppress(OSError):
            for name in DEVICES:
                (directory / "devices" / name).unlink(missing_ok=True)
            (directory / "devices").rmdir()
        with suppress(OSError):
            (directory / "root").rmdir()

    def distrust(self) -> None:
        """The wall could not be built as expected: it is probed again before the next command."""
        self._looked_at = -LOOK_AROUND_SECONDS

    def _look_around(self) -> None:
        """The system files that root must not see change now and then; finding them takes some
        milliseconds."""
        now = self._clock.elapsed()
        if self.wall.stands and now - self._looked_at > LOOK_AROUND_SECONDS:
            self.wall = replace(self.wall, system=system_mounts(self.wall.superuser))
            self._looked_at = now


def _check_real(place: CommandPlace) -> None:
    """A link would be followed when the wall is built, and anybody can make links in a workspace."""
    for path in (place.root, *place.writable, *place.readable):
        if os.path.realpath(path) != str(path):
            raise CannotRun(f"{path} is a link now, or lies behind one, and commands cannot run there.")


def make_devices(directory: Path) -> Path | None:
    """Its own device files; None: not even root may create or use any here."""
    directory.mkdir(mode=0o755)
    try:
        for name, (major, minor) in DEVICES.items():
            os.mknod(directory / name, 0o666 | stat.S_IFCHR, os.makedev(major, minor))
            os.chmod(directory / name, 0o666)  # noqa: S103 - devices that everybody may use
        os.close(os.open(directory / "null", os.O_WRONLY | os.O_CLOEXEC))
    except OSError:
        return None
    return directory
