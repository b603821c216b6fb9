"""A server's part for commands, on its own: a data directory, a workspace, and commands that really run."""

import asyncio
import os
import secrets
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from holdfast.core.clock import SystemClock
from holdfast.core.ids import ChatId, RandomIds
from holdfast.workspaces.commands.cgroups import Cgroups
from holdfast.workspaces.commands.command_setup import CommandOrder
from holdfast.workspaces.commands.limits import CommandLimits
from holdfast.workspaces.commands.mounts import CommandPlace
from holdfast.workspaces.commands.networks import Network
from holdfast.workspaces.commands.output_excerpts import head_and_tail
from holdfast.workspaces.commands.process_records import ProcessEnd, ProcessEntry
from holdfast.workspaces.commands.processes import LOOK_SECONDS, Process, Processes
from holdfast.workspaces.commands.wall import Kind
from holdfast.workspaces.commands.wall_probe import Probe, probe

CHAT = ChatId("01890000-0000-7000-8000-000000000001")
# Nothing may depend on speed: these only end a test that would hang.
PATIENCE_SECONDS = 60.0
# What the design gives a tree to die in, times four.
DEATH_SECONDS = 20.0
KINDS: tuple[Kind, ...] = ("bubblewrap", "unshare", "none")
# As parameters of tests: the first one is what most machines have and is quick.
EVERYWHERE = [kind if kind == KINDS[0] else pytest.param(kind, marks=pytest.mark.heavy) for kind in KINDS]
WALLS = EVERYWHERE[:-1]


@dataclass(frozen=True, kw_only=True)
class Room:
    probe: Probe
    data: Path
    workspace: Path
    processes: Processes
    limits: CommandLimits

    @property
    def place(self) -> CommandPlace:
        return CommandPlace(root=self.workspace)

    async def start(self, command: str, chat_id: ChatId = CHAT, **order: object) -> Process:
        asked = {"place": self.place, "cwd": self.workspace, "background": False, **order}
        return await self.processes.start(CommandOrder(chat_id=chat_id, command=command, **asked))  # pyright: ignore[reportArgumentType]

    async def run(self, command: str) -> tuple[ProcessEnd, str]:
        """How it ended, and what it printed."""
        process = await self.start(command)
        await self.ended(process)
        assert process.entry.end is not None
        return process.entry.end, await self.text(process.entry)

    async def ended(self, process: Process) -> None:
        done, _ = await asyncio.wait({process.ended}, timeout=PATIENCE_SECONDS)
        assert done, f"{process.entry.command!r} did not end"

    async def text(self, entry: ProcessEntry) -> str:
        return (await self.processes.look(entry, lambda output: head_and_tail(100_000, output))).text

    async def printed(self, process: Process, wanted: str) -> None:
        """Waits until the command has printed this."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while wanted not in await self.text(process.entry):  # noqa: ASYNC110
                await asyncio.sleep(0.02)


@asynccontextmanager
async def room(
    directory: Path,
    kind: Kind,
    *,
    limits: CommandLimits | None = None,
    network: Network = "host",
    hidden: tuple[Path, ...] = (),
    environment: Mapping[str, str] | None = None,
    groups: bool = True,
    look_seconds: float = LOOK_SECONDS,
) -> AsyncGenerator[Room | None]:
    """None: this machine does not have such a wall."""
    data, workspace = directory / "data", directory / "workspace"
    for path in (data, workspace):
        path.mkdir(exist_ok=True)
    limits = limits or CommandLimits()
    cgroups = Cgroups.find(data) if groups else None
    kinds = () if kind == "none" else (kind,)
    found = probe(data, cgroups=cgroups, limits=limits, hidden=hidden, network=network, kinds=kinds)
    processes = Processes(
        data,
        found.wall,
        networks=found.networks(),
        clock=SystemClock(),
        ids=RandomIds(),
        limits=limits,
        cgroups=cgroups,
        server_environment=os.environ if environment is None else environment,
        look_seconds=look_seconds,
    )
    try:
        if found.wall.kind == kind:
            yield Room(probe=found, data=data, workspace=workspace, processes=processes, limits=limits)
        else:
            yield None
    finally:
        await processes.close()


def token() -> str:
    """A number of seconds to sleep that no other process has on its command line."""
    return f"9{secrets.randbelow(10**12):012d}"


def sleeping(mark: str) -> list[int]:
    """The processes of this machine that sleep for so long."""
    found: list[int] = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            with suppress(OSError):
                words = Path(f"/proc/{name}/cmdline").read_bytes().split(b"\0")
                if words[:2] == [b"sleep", mark.encode()]:
                    found.append(int(name))
    return found


def zombies() -> list[int]:
    """Children of this process that ended and that nobody has waited for."""
    found: list[int] = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            with suppress(OSError):
                fields = Path(f"/proc/{name}/stat").read_bytes().rpartition(b")")[2].split()
                if fields[0] == b"Z" and int(fields[1]) == os.getpid():
                    found.append(int(name))
    return found


async def until(condition: Callable[[], object], what: str) -> None:
    """Waits for a condition, which is called again and again."""
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not condition():  # noqa: ASYNC110 - nobody tells of it
                await asyncio.sleep(0.02)
    except TimeoutError:
        raise AssertionError(f"did not come true: {what}") from None
