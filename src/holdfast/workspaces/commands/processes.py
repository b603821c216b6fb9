"""Commands as processes: started behind the wall, watched, stopped with everything they started. A process
belongs to a chat; for any other chat it does not exist. Nothing outlives the server."""

import asyncio
import os
import signal
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TypeVar

import structlog
from msgspec.structs import replace

from holdfast.core.clock import Clock, Stopwatch
from holdfast.core.errors import CannotRun
from holdfast.core.ids import ChatId, Ids, is_uuid7
from holdfast.core.shortage import is_shortage
from holdfast.workspaces.commands.cgroups import Cgroups, Group
from holdfast.workspaces.commands.command_setup import KILL_SECONDS, Cells, CommandOrder, command_text
from holdfast.workspaces.commands.leftover_processes import end_left_over, end_marked
from holdfast.workspaces.commands.limits import CommandLimits
from holdfast.workspaces.commands.mounts import CommandPlace
from holdfast.workspaces.commands.networks import IDLE_SECONDS, Networks, NoNetwork
from holdfast.workspaces.commands.output_files import append, printed, read
from holdfast.workspaces.commands.plain_text import plain
from holdfast.workspaces.commands.process_records import How, ProcessEnd, ProcessEntry, ProcessId, Shelf
from holdfast.workspaces.commands.process_thread import ChildProcess, Launch, ProcessRunner, tell
from holdfast.workspaces.commands.process_trees import Member, descendants, send
from holdfast.workspaces.commands.wall import Joined, Wall
from holdfast.workspaces.git.git_directories import GitDirectories
from holdfast.workspaces.git.new_repositories import (
    LOOK_SECONDS,
    LOOK_SHARE,
    MOST_PUT_ASIDE,
    put_aside,
)

log = structlog.get_logger(__name__)

T = TypeVar("T")

# Between the request to end and the kill.
GRACE_SECONDS = 2.0
# Time to build the wall. Nothing of the command has run before that.
BEGIN_SECONDS = 30.0
BACKGROUND = 16


@dataclass(eq=False, kw_only=True)
class Process:
    """A running one. What the process thread sets is set before the future that announces it."""

    entry: ProcessEntry
    watch: Stopwatch
    begun: "asyncio.Future[bool]"
    ended: "asyncio.Future[ProcessEnd]"
    launched: "asyncio.Future[ChildProcess] | None" = None
    group: Group | None = None
    why: How | None = None
    # Whether it is in the network of its chat.
    joined: bool = False
    # Nothing of it is running any more; what it left is being examined.
    is_over: bool = False
    stopping: "asyncio.Task[None] | None" = None
    looking: "asyncio.Task[None] | None" = None
    # Reported when it has ended, after its own output.
    put_aside: list[str] = field(default_factory=list[str])


class Processes:
    def __init__(
        self,
        data: Path,
        wall: Wall,
        *,
        clock: Clock,
        ids: Ids,
        limits: CommandLimits,
        cgroups: Cgroups | None,
        server_environment: Mapping[str, str],
        networks: Networks | None = None,
        look_seconds: float = LOOK_SECONDS,
    ) -> None:
        self._networks = networks
        self._look_seconds = look_seconds
        self._cgroups = cgroups
        self._clock = clock
        self._ids = ids
        self._shelf = Shelf(data)
        self._cells = Cells(
            wall,
            self._shelf,
            limits=limits,
            cgroups=cgroups,
            clock=clock,
            server_environment=server_environment,
        )
        self._walled = wall.stands
        self._git = GitDirectories((data, *wall.hidden))
        self._thread = ProcessRunner()
        # What follows a command may take as long as its workspace is large, and others need the process
        # thread.
        self._after = ThreadPoolExecutor(1, "holdfast-after")
        self._running: dict[ProcessId, Process] = {}
        self._closed = False

    @property
    def about_network(self) -> str:
        """For the model, where commands cannot reach what they usually can."""
        if self._networks is None or self._networks.mode == "internet":
            return ""
        return " Commands have no network; those of this chat reach each other on localhost."

    async def end_left_over(self) -> list[ProcessEntry]:
        """Once, before the first command: ends what a killed server left behind."""
        now = self._clock.now()
        tame = partial(self._tame_ended, earlier=[])
        return await self._thread.ask(partial(end_left_over, self._shelf, self._cgroups, now, tame))

    async def start(self, order: CommandOrder) -> Process:
        """Returns when the command has started. CannotRun: nothing of it was run."""
        self._check_room(order)
        process = self._new(order)
        self._running[process.entry.id] = process
        try:
            begun = await self._begin(process, order)
        except asyncio.CancelledError:
            await self.stop(process, "cancelled")
            raise
        if not begun:
            self._cells.distrust()
            await self.stop(process, "stopped", grace_seconds=0)
            raise CannotRun(await self._thread.ask(partial(self._why_not, process.entry)))
        if self._walled:
            process.looking = asyncio.create_task(self._look_while_running(process))
        return process

    async def stop(self, process: Process, how: How, grace_seconds: float = GRACE_SECONDS) -> None:
        """Ends it with everything it started: asks, waits, kills. A cancelled caller leaves early, the
        stopping continues."""
        if process.stopping is None:
            process.stopping = asyncio.create_task(self._stop(process, how, grace_seconds))
        await asyncio.shield(process.stopping)

    async def send_signal(self, process: Process, number: signal.Signals) -> None:
        """To everything the command started, as a terminal does with Ctrl-C."""
        if number == signal.SIGKILL:
            await self.stop(process, "stopped", grace_seconds=0)
        else:
            await self._thread.ask(partial(self._send_all, process, number))

    def running(self, chat_id: ChatId, process_id: str) -> Process | None:
        process = self._running.get(ProcessId(process_id))
        return process if process is not None and process.entry.chat_id == chat_id else None

    async def find(self, chat_id: ChatId, process_id: str) -> ProcessEntry | None:
        """Running or ended; None: this chat has no such process."""
        if (process := self.running(chat_id, process_id)) is not None:
            return process.entry
        return await self._thread.ask(partial(self._shelf.finished, chat_id, process_id))

    async def all_of(self, chat_id: ChatId) -> list[ProcessEntry]:
        """Oldest first."""
        running = [process.entry for process in self._running.values() if process.entry.chat_id == chat_id]
        ended = await self._thread.ask(partial(self._shelf.all_finished, chat_id))
        known = {entry.id for entry in running}
        entries = [*running, *(entry for entry in ended if entry.id not in known)]
        return sorted(entries, key=lambda entry: entry.started_at)

    async def look(self, entry: ProcessEntry, at: Callable[[Path], T]) -> T:
        """Reads its output, off the loop."""
        return await self._thread.ask(partial(at, self._shelf.output(entry)))

    def chats(self) -> set[ChatId]:
        """Chats with something running."""
        return {process.entry.chat_id for process in self._running.values()}

    async def end_chat(self, chat_id: ChatId, *, remove: bool) -> None:
        """Ends its processes; with `remove` (the chat was deleted) their output and directories are deleted
        too."""
        mine = [process for process in self._running.values() if process.entry.chat_id == chat_id]
        await asyncio.gather(*(self.stop(process, "stopped") for process in mine))
        if remove:
            await asyncio.to_thread(self._shelf.remove_chat, chat_id)

    async def stored_chats(self) -> set[ChatId]:
        """Chats that have a directory, whether anything is running in them or not."""
        return {ChatId(name) for name in await asyncio.to_thread(self._shelf.chats) if is_uuid7(name)}

    async def close(self) -> None:
        """Ends everything. Nothing can be started any more."""
        if self._closed:
            return
        self._closed = True
        running = list(self._running.values())
        await asyncio.gather(*(self.stop(process, "lost") for process in running))
        await asyncio.to_thread(self._after.shutdown)
        self._thread.close()
        if self._networks is not None:
            await asyncio.to_thread(self._networks.close)
        if self._cgroups is not None:
            self._cgroups.close()

    def _check_room(self, order: CommandOrder) -> None:
        if self._closed:
            raise CannotRun("The server is stopping and starts no more commands.")
        background = [
            process.entry.id
            for process in self._running.values()
            if process.entry.chat_id == order.chat_id and process.entry.background
        ]
        if order.background and len(background) >= BACKGROUND:
            raise CannotRun(
                f"This chat already has {BACKGROUND} background processes. End one with process_signal "
                f"first: {', '.join(background)}."
            )

    def _new(self, order: CommandOrder) -> Process:
        loop = asyncio.get_running_loop()
        watch = Stopwatch(self._clock)
        now = watch.started_at
        entry = ProcessEntry(
            id=ProcessId(f"p-{self._ids.uuid7(now).replace('-', '')[-10:]}"),
            chat_id=order.chat_id,
            command=command_text(order.command),
            cwd=str(order.cwd),
            background=order.background,
            started_at=now,
            mark=self._ids.token(),
            places=(str(order.place.root), *map(str, order.place.writable)),
        )
        process = Process(entry=entry, watch=watch, begun=loop.create_future(), ended=loop.create_future())
        process.ended.add_done_callback(lambda _: self._running.pop(entry.id, None))
        return process

    async def _begin(self, process: Process, order: CommandOrder) -> bool:
        """Whether the command has started."""
        loop = asyncio.get_running_loop()
        process.launched = asyncio.ensure_future(self._join_and_launch(process, order, loop))
        await asyncio.wait({process.launched})
        if (error := process.launched.exception()) is not None:
            self._running.pop(process.entry.id, None)
            if isinstance(error, CannotRun):
                raise error
            raise CannotRun(f"The command could not be started: {error}.") from error
        done, _ = await asyncio.wait({process.begun}, timeout=BEGIN_SECONDS)
        return bool(done) and process.begun.result()

    async def _join_and_launch(
        self, process: Process, order: CommandOrder, loop: asyncio.AbstractEventLoop
    ) -> ChildProcess:
        if self._walled:
            seen = await asyncio.to_thread(self._git.look, order.place)
            process.entry = replace(process.entry, repositories=seen)
        if self._networks is None or order.offline:
            return await self._thread.ask(partial(self._launch, process, order, None, loop))
        try:
            network = await asyncio.to_thread(self._networks.join, order.chat_id)
            process.joined = True
        except NoNetwork as error:
            raise CannotRun(f"The network of commands cannot be made: {error}.") from None
        try:
            return await self._thread.ask(partial(self._launch, process, order, network, loop))
        except BaseException:
            self._networks.leave(order.chat_id)
            raise

    def _launch(
        self, process: Process, order: CommandOrder, network: Joined | None, loop: asyncio.AbstractEventLoop
    ) -> ChildProcess:
        entry = process.entry
        if not order.still_ours():
            raise CannotRun(
                "The command was not started: the call was given up, or another server runs the chat now."
            )
        self._shelf.make_room(entry.chat_id)
        self._shelf.write(entry)
        try:
            built = self._cells.build(entry, order, network)
            process.group = built.group
            return self._thread.launch(
                Launch(
                    argv=built.argv,
                    environment=built.environment,
                    cwd=built.cwd,
                    output=self._shelf.output(entry),
                    begun=partial(tell, loop, process.begun, True),
                    ended=partial(self._ended, process, loop),
                )
            )
        except BaseException:
            self._cells.clear(entry, process.group)
            self._shelf.discard(entry)
            raise

    def _ended(self, process: Process, loop: asyncio.AbstractEventLoop, code: int) -> None:
        """In the process thread. A wall ends with everything behind it; without one, what escaped is looked
        for."""
        if not self._walled and code < 0:
            end_marked({process.entry.mark}, KILL_SECONDS)
        if self._networks is not None and process.joined:
            self._networks.leave(process.entry.chat_id)
            with suppress(RuntimeError):  # the loop is closed, and so are all networks
                loop.call_soon_threadsafe(self._close_networks_later, loop)
        out_of_memory = process.group is not None and process.group.out_of_memory()
        self._cells.clear(process.entry, process.group)
        process.is_over = True
        self._after.submit(self._settle, process, loop, code, out_of_memory)

    def _settle(
        self, process: Process, loop: asyncio.AbstractEventLoop, code: int, out_of_memory: bool
    ) -> None:
        """In its own thread."""
        try:
            self._tame_ended(process.entry, process.put_aside)
        except Exception:
            log.exception("what a command left was not looked at", process_id=process.entry.id)
        how = process.why or "exited"
        end = ProcessEnd(
            how=how,
            at=process.watch.now(),
            # How it ended says more than the result of killing it, and is never taken for success.
            exit_code=None if how in ("timed_out", "cancelled") else (code if code >= 0 else 128 - code),
            out_of_memory=out_of_memory,
            printed=printed(self._shelf.output(process.entry)),
        )
        process.entry = replace(process.entry, repositories=(), end=end)
        try:
            self._shelf.finish(process.entry)
        except OSError as error:
            # A full disk. Whoever waits for the end is told all the same; the next start finds what is left.
            log.error(
                "the end of a command was not written down", process_id=process.entry.id, reason=str(error)
            )
        tell(loop, process.begun, False)
        tell(loop, process.ended, end)

    def _tame(self, entry: ProcessEntry, *, running: bool = False) -> list[str]:
        """What the command may have left for a person's own git is put aside, and reported in sentences."""
        if not self._walled or not entry.places:
            return []
        root, *writable = map(Path, entry.places)
        place = CommandPlace(root=root, writable=tuple(writable))
        said = put_aside(place, entry.repositories, self._git, running=running)
        if said:
            log.warning("parts of repositories were put aside", process_id=entry.id, parts=said)
        return said

    def _tame_ended(self, entry: ProcessEntry, earlier: list[str]) -> None:
        said = [*earlier, *self._tame(entry)]
        with suppress(OSError):
            append(self._shelf.output(entry), "".join(f"[holdfast] {one}\n" for one in said))

    async def _look_while_running(self, process: Process) -> None:
        """A command may run for hours, and a person may use git in what it has made."""
        loop = asyncio.get_running_loop()
        pause, times = self._look_seconds, 0
        while times < MOST_PUT_ASIDE:
            await asyncio.wait({process.ended}, timeout=pause)
            if process.is_over or process.ended.done() or self._closed:
                return
            began = loop.time()
            try:
                look = partial(self._tame, process.entry, running=True)
                said = await loop.run_in_executor(self._after, look)
            except Exception:
                log.exception("what a command makes was not looked at", process_id=process.entry.id)
            else:
                process.put_aside += said
                times += bool(said)
            pause = max(self._look_seconds, LOOK_SHARE * (loop.time() - began))
        process.put_aside.append("The command was stopped: it keeps restoring what is put aside.")
        await self.stop(process, "stopped")

    def _close_networks_later(self, loop: asyncio.AbstractEventLoop) -> None:
        assert self._networks is not None
        networks = self._networks

        def close() -> None:
            try:
                loop.run_in_executor(None, networks.close_idle)
            except RuntimeError as error:
                if not is_shortage(error):
                    raise
                self._close_networks_later(loop)

        loop.call_later(IDLE_SECONDS + 1, close)

    async def _stop(self, process: Process, how: How, grace_seconds: float) -> None:
        process.why = process.why or how
        assert process.launched is not None
        await asyncio.wait({process.launched})
        if process.launched.exception() is not None:
            self._running.pop(process.entry.id, None)
            return
        if grace_seconds > 0 and await self._thread.ask(partial(self._send_all, process, signal.SIGTERM)):
            await asyncio.wait({process.ended}, timeout=grace_seconds)
        if not process.ended.done():
            await self._thread.ask(partial(self._kill, process, leader=False))
            await asyncio.wait({process.ended}, timeout=KILL_SECONDS)
        if not process.ended.done():
            await self._thread.ask(partial(self._kill, process, leader=True))
            await asyncio.wait({process.ended}, timeout=KILL_SECONDS)
        if process.is_over:
            await asyncio.wait({process.ended})
        elif not process.ended.done():
            log.error("a process cannot be ended", process_id=process.entry.id, chat_id=process.entry.chat_id)

    def _send_all(self, process: Process, number: signal.Signals) -> bool:
        """Whether anybody received it. A stopped process has to be continued to receive it."""
        sent = [send(member, number) for member in self._members(process)]
        if number == signal.SIGTERM:
            for member in self._members(process):
                send(member, signal.SIGCONT)
        return any(sent)

    def _members(self, process: Process) -> list[Member]:
        """The processes of the command itself, without ours around it."""
        if (leader := _leader(process)) is None:
            return []
        family = descendants(leader)
        # Behind the wall the first child is our shell, and all others descend from it.
        return family[1:] if self._walled else family

    def _kill(self, process: Process, *, leader: bool) -> None:
        """Signals all but the leader, which then notices and exits by itself; if that fails or it is alone,
        the leader too."""
        if (pid := _leader(process)) is None:
            return
        family = descendants(pid)
        for member in family:
            send(member, signal.SIGKILL)
        # It cannot be another process by now: only this thread waits for it, and has not done so yet.
        if leader or not family:
            os.kill(pid, signal.SIGKILL)
        elif not self._walled:
            os.kill(pid, signal.SIGTERM)

    def _why_not(self, entry: ProcessEntry) -> str:
        said = plain(read(self._shelf.output(entry), 0, 2000).data).strip()
        return (
            "The wall around commands could not be built, so the command was not run"
            f"{f': {said}' if said else ''}. `holdfast doctor` says what is wrong."
        )


def _leader(process: Process) -> int | None:
    """Our process that the command runs under; None: there is none, or it has been waited for."""
    if process.is_over or process.launched is None or not process.launched.done():
        return None
    return process.launched.result().pid
