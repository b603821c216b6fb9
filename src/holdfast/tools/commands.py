"""Running commands in a chat's workspace: in the foreground with a timeout, or in the background, where they
are read and signalled by id. Whatever happens to a call, its whole process tree ends with it."""

import asyncio
import signal
from collections.abc import Callable
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Annotated, Protocol

from msgspec import UNSET, Meta, UnsetType
from msgspec.structs import replace

from holdfast.core.clock import Clock
from holdfast.core.errors import CannotRun, InvalidInput, NotBegun, NotFound
from holdfast.core.parts import Outcome
from holdfast.core.shapes import Json, encode_text
from holdfast.core.shortage import is_shortage
from holdfast.tools.approval import EXECUTE
from holdfast.tools.contract import Input, Tool, ToolAnswer, ToolContext, ToolError
from holdfast.tools.output import OUTPUT_LIMIT
from holdfast.workspaces.commands.command_setup import CommandOrder, words_of
from holdfast.workspaces.commands.limits import CommandLimits
from holdfast.workspaces.commands.mounts import CommandPlace
from holdfast.workspaces.commands.output_excerpts import OutputExcerpt, head_and_tail, stretch
from holdfast.workspaces.commands.process_records import ProcessEntry
from holdfast.workspaces.commands.processes import Processes
from holdfast.workspaces.files.file_root import Root

# How much output an answer contains, so that the answer as a whole is not cut again.
EXCERPT = 24_000
# A single program argument can be little longer.
COMMAND = 100_000
# A background command that fails at once is reported at once.
EARLY_SECONDS = 0.5
FOREGROUND_SECONDS = 30.0
SIGNALS = ("SIGTERM", "SIGINT", "SIGKILL", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGSTOP", "SIGCONT")


class Places(Protocol):
    """Where a chat's commands run. InvalidInput or NotFound: there is no such place, or not any more."""

    async def place_of(self, context: ToolContext, /) -> CommandPlace: ...


class Execute(Input, frozen=True, kw_only=True):
    command: Annotated[
        Annotated[str, Meta(min_length=1, max_length=COMMAND)] | None,
        Meta(
            description="The command, as one would type it into bash. Standard input is empty.",
            examples=["python -m pytest -q tests/test_parser.py"],
        ),
    ] = None
    args: Annotated[
        Annotated[list[str], Meta(min_length=1, max_length=1000)] | None,
        Meta(
            description="Instead of command: a program and its arguments, without a shell. Nothing in them "
            "is expanded or interpreted.",
            examples=[["git", "log", "--grep", "it's $5"]],
        ),
    ] = None
    timeout_seconds: Annotated[
        Annotated[int, Meta(ge=1, le=3600)] | UnsetType,
        Meta(
            description=f"Foreground only: stop it after this many seconds. Default: {FOREGROUND_SECONDS:g}, "
            "or what was configured.",
            examples=[120],
        ),
    ] = UNSET
    background: Annotated[
        bool,
        Meta(description="Do not wait for the end: for servers and watchers. Returns a process_id."),
    ] = False
    cwd: Annotated[
        str, Meta(description="The directory to run in, relative to the workspace.", examples=["web"])
    ] = "."


ProcessRef = Annotated[
    str,
    Meta(
        description="The process_id from execute or process_list.", examples=["p-0c4be51f02"], max_length=64
    ),
]


class ProcessOutput(Input, frozen=True, kw_only=True):
    process_id: ProcessRef
    start_byte: Annotated[
        Annotated[int, Meta(ge=0, le=2**62)] | None,
        Meta(description="Read from this byte on; if omitted, the beginning and the end."),
    ] = None


class ProcessList(Input, frozen=True, kw_only=True):
    pass


class ProcessSignal(Input, frozen=True, kw_only=True):
    process_id: ProcessRef
    signal: Annotated[
        str | int,
        Meta(
            description=f"One of {', '.join(SIGNALS)}. SIGKILL ends it with everything it started.",
            examples=["SIGTERM"],
        ),
    ]


def command_tools(
    processes: Processes, places: Places, clock: Clock, limits: CommandLimits, about_network: str = ""
) -> tuple[Tool, ...]:
    commands = Commands(processes, places, clock, limits)
    return (
        Tool(
            name=EXECUTE,
            description=(
                "Run a shell command in the workspace and return its exit code and output (if it "
                "is long: its beginning and its end). Everything it started ends with it; use "
                "background for what must keep running. /tmp and the home directory persist from "
                "one command to the next. Settings and hooks of git cannot be written (pass "
                f"settings with git -c).{about_network}"
            ),
            input=Execute,
            run=commands.execute,
            effect="unsafe",
            reach="command",
            timeout_seconds=None,
            planning="read_only",
        ),
        Tool(
            name="process_output",
            description="Read what a command of this chat has printed so far, whether it is running or has "
            "ended.",
            input=ProcessOutput,
            run=commands.output,
            effect="read",
        ),
        Tool(
            name="process_list",
            description="List the commands of this chat that are running or ended recently, with their ids.",
            input=ProcessList,
            run=commands.every,
            effect="read",
        ),
        Tool(
            name="process_signal",
            description="Send a signal to a running command of this chat, as Ctrl-C does with SIGINT.",
            input=ProcessSignal,
            run=commands.send,
            effect="unsafe",
        ),
    )


class Commands:
    def __init__(self, processes: Processes, places: Places, clock: Clock, limits: CommandLimits) -> None:
        self._processes = processes
        self._places = places
        self._clock = clock
        self._limits = limits

    async def execute(self, context: ToolContext, asked: Execute) -> ToolAnswer:
        order = await self._order(context, asked)
        try:
            process = await self._processes.start(order)
        except CannotRun as error:
            if error.__cause__ is not None and is_shortage(error.__cause__):
                raise NotBegun(error.text) from error
            raise ToolError(error.text) from error
        limit = _limit(context, asked)
        waiting = EARLY_SECONDS if asked.background else limit
        try:
            await asyncio.wait({process.ended}, timeout=waiting)
            if not asked.background and not process.ended.done():
                await self._processes.stop(process, "timed_out")
        except asyncio.CancelledError:
            # What it had printed is more useful than the news of the cancellation, which everybody knows.
            await self._processes.stop(process, "cancelled")
        entry = process.entry
        return await self._answer(entry, _outcome(entry, asked), self._note(entry, asked, limit))

    async def output(self, context: ToolContext, asked: ProcessOutput) -> ToolAnswer:
        entry = await self._find(context, asked.process_id)
        look = head_and_tail if asked.start_byte is None else partial(stretch, asked.start_byte)
        return await self._answer(entry, "succeeded", look=look)

    async def every(self, context: ToolContext, _: ProcessList) -> ToolAnswer:
        entries = await self._processes.all_of(context.chat_id)
        now = self._clock.now()
        return ToolAnswer(
            output={
                "processes": [{**_state(entry, now), "command": entry.command[:200]} for entry in entries]
            }
        )

    async def send(self, context: ToolContext, asked: ProcessSignal) -> ToolAnswer:
        number = _signal(asked.signal)
        process = self._processes.running(context.chat_id, asked.process_id)
        if process is None:
            entry = await self._find(context, asked.process_id)
            raise ToolError(f"{entry.id} has ended already; process_output has what it printed.")
        await self._processes.send_signal(process, number)
        await asyncio.wait({process.ended}, timeout=EARLY_SECONDS)
        return ToolAnswer(output={"sent": number.name, **_state(process.entry, self._clock.now())})

    async def _order(self, context: ToolContext, asked: Execute) -> CommandOrder:
        command = _command(asked)
        if any("\0" in word or not _encodable(word) for word in words_of(command)):
            raise ToolError(
                "The command contains a character that cannot be passed to a program. Write it to "
                "a file instead."
            )
        try:
            place = await self._places.place_of(context)
            cwd = _directory(Root(place.root), asked.cwd)
        except (InvalidInput, NotFound) as error:
            raise ToolError(error.text) from error
        return CommandOrder(
            chat_id=context.chat_id,
            place=replace(place, read_only=True) if context.read_only else place,
            offline=context.read_only,
            cwd=cwd,
            command=command,
            background=asked.background,
            still_ours=context.still_ours,
        )

    async def _find(self, context: ToolContext, process_id: str) -> ProcessEntry:
        entry = await self._processes.find(context.chat_id, process_id)
        if entry is None:
            raise ToolError(
                f"There is no process {process_id[:64]!r} in this chat. process_list shows those "
                "there are; the oldest ones are forgotten."
            )
        return entry

    async def _answer(
        self,
        entry: ProcessEntry,
        outcome: Outcome,
        note: str = "",
        look: Callable[[int, Path], OutputExcerpt] = head_and_tail,
    ) -> ToolAnswer:
        """With as much output as keeps the answer whole: text grows when it is written as JSON."""
        limit = EXCERPT
        while True:
            excerpt = await self._processes.look(entry, partial(look, limit))
            output = self._described(entry, excerpt, note)
            size = len(encode_text(output))
            if size <= OUTPUT_LIMIT or limit < 1000:
                return ToolAnswer(output=output, outcome=outcome)
            limit = limit * OUTPUT_LIMIT // size * 9 // 10

    def _described(self, entry: ProcessEntry, excerpt: OutputExcerpt, note: str) -> dict[str, Json]:
        described: dict[str, Json] = {**_state(entry, self._clock.now()), "output": excerpt.text}
        if (start := excerpt.left_out_from) is not None:
            note = f"{note} There is more: process_output with start_byte {start} continues.".lstrip()
        if note:
            described["note"] = note
        return described

    def _note(self, entry: ProcessEntry, asked: Execute, limit: float) -> str:
        match entry.end:
            case None if asked.background:
                return "It is still running. process_output reads what it prints, process_signal ends it."
            case None:
                return "It did not end when it was killed; process_signal may try again."
            case end if end.out_of_memory:
                return f"Part of it was killed: it used more than {self._limits.memory_mib} MiB."
            case end if end.how == "timed_out":
                return (
                    f"It did not end within {limit:g} s and was stopped with everything it "
                    "started. Use a larger timeout_seconds, or run it in the background."
                )
            case end if end.how == "cancelled":
                return "It was cancelled and stopped with everything it started."
            case _:
                return ""


def _command(asked: Execute) -> str | tuple[str, ...]:
    if asked.command is not None and asked.args is None:
        return asked.command
    if asked.args is None or asked.command is not None:
        raise ToolError("Give either command, a line for the shell, or args, a program and its arguments.")
    if not asked.args[0] or sum(map(len, asked.args)) > COMMAND:
        raise ToolError(f"args begins with the name of a program and has at most {COMMAND} characters.")
    return tuple(asked.args)


def _limit(context: ToolContext, asked: Execute) -> float:
    """What the call asks for, but no more than is configured for the tool."""
    chosen = context.seconds
    if asked.timeout_seconds is UNSET:
        return chosen or FOREGROUND_SECONDS
    return asked.timeout_seconds if chosen is None else min(chosen, asked.timeout_seconds)


def _state(entry: ProcessEntry, now: datetime) -> dict[str, Json]:
    end = entry.end
    state: dict[str, Json] = {"process_id": entry.id, "status": "running" if end is None else end.how}
    if end is not None and end.exit_code is not None:
        state["exit_code"] = end.exit_code
        if (name := _signal_name(end.exit_code)) is not None:
            state["signal"] = name
    seconds = ((end.at if end is not None else now) - entry.started_at).total_seconds()
    state["seconds"] = round(max(seconds, 0.0), 1)
    return state


def _outcome(entry: ProcessEntry, asked: Execute) -> Outcome:
    match entry.end:
        case None:
            return "succeeded" if asked.background else "failed"
        case end if end.how == "cancelled":
            return "cancelled"
        case end:
            return "succeeded" if end.how == "exited" and end.exit_code == 0 else "failed"


def _signal_name(exit_code: int) -> str | None:
    try:
        return signal.Signals(exit_code - 128).name
    except ValueError:
        return None


def _signal(asked: str | int) -> signal.Signals:
    text = str(asked).strip().upper()
    names = {name: signal.Signals[name] for name in SIGNALS}
    for name, number in names.items():
        if text in (name, name.removeprefix("SIG"), str(int(number))):
            return number
    raise ToolError(f"{str(asked)[:40]!r} is not a signal that can be sent. Use one of {', '.join(SIGNALS)}.")


def _directory(root: Root, cwd: str) -> Path:
    """Opened once, to report what is wrong with it. If somebody changes it afterwards, the wall still
    holds."""
    parts = root.parse(cwd)
    with root.open() as tree, tree.directory(parts):
        return root.path.joinpath(*parts)


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
