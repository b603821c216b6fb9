"""Commands that are no call of a chat's agent: what a template runs, and fetching one. They run behind the
wall like all others, with the network of [sandbox], and end with everything they started."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from holdfast.core.ids import ChatId
from holdfast.core.text import one_line
from holdfast.workspaces.commands.command_setup import CommandOrder
from holdfast.workspaces.commands.mounts import CommandPlace
from holdfast.workspaces.commands.output_excerpts import tail
from holdfast.workspaces.commands.process_records import ProcessEntry
from holdfast.workspaces.commands.processes import Processes

SHOWN_BYTES = 16_000


@dataclass(frozen=True, kw_only=True)
class CommandEnd:
    """`code` None: it was stopped, because it took too long or somebody asked for it."""

    code: int | None
    output: str

    @property
    def succeeded(self) -> bool:
        return self.code == 0

    @property
    def last_line(self) -> str:
        lines = self.output.strip().splitlines()
        ended = "it did not end in time" if self.code is None else f"it ended with {self.code}"
        return one_line(lines[-1], 500) if lines else ended


class SetUpCommands:
    """`at_work`: the ids under which something runs that may not be those of chats."""

    def __init__(self, processes: Processes) -> None:
        self._processes = processes
        self.at_work: set[ChatId] = set()

    async def run(
        self,
        chat_id: ChatId,
        place: CommandPlace,
        command: tuple[str, ...],
        *,
        seconds: float,
        remove: bool = False,
        still_ours: Callable[[], bool] = lambda: True,
        begun: Callable[[ProcessEntry], None] = lambda _: None,
    ) -> CommandEnd:
        """`remove`: what it kept (its home, its output) goes when it has ended. `begun` is told of the
        process, so that others can read its output meanwhile. CannotRun: nothing of it was run."""
        self.at_work.add(chat_id)
        try:
            order = CommandOrder(
                chat_id=chat_id, place=place, cwd=place.root, command=command, still_ours=still_ours
            )
            process = await self._processes.start(order)
            begun(process.entry)
            try:
                await asyncio.wait({process.ended}, timeout=seconds)
                if not process.ended.done():
                    await self._processes.stop(process, "timed_out")
            except asyncio.CancelledError:
                await self._processes.stop(process, "cancelled")
                raise
            output = await self.shown(process.entry)
            end = process.entry.end
            code = end.exit_code if end is not None and end.how == "exited" else None
            return CommandEnd(code=code, output=output)
        finally:
            self.at_work.discard(chat_id)
            if remove:
                await self._processes.end_chat(chat_id, remove=True)

    async def shown(self, entry: ProcessEntry) -> str:
        """The end of what it has printed so far."""
        return await self._processes.look(entry, partial(tail, SHOWN_BYTES))

    async def background(
        self, chat_id: ChatId, place: CommandPlace, command: str, still_ours: Callable[[], bool]
    ) -> ProcessEntry:
        order = CommandOrder(
            chat_id=chat_id,
            place=place,
            cwd=place.root,
            command=command,
            background=True,
            still_ours=still_ours,
        )
        return (await self._processes.start(order)).entry
