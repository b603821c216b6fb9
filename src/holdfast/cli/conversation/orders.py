"""What the commands of a conversation do, and what runs on this machine for it."""

import asyncio
import shutil
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import aclosing
from pathlib import Path
from typing import Any, Protocol

from msgspec.structs import replace

from holdfast.cli.client import Client
from holdfast.cli.conversation.along import Along
from holdfast.cli.conversation.commands import SlashCommand, help_text
from holdfast.cli.conversation.deeds import NO_CHAT, Deeds, usage_text
from holdfast.cli.conversation.local_command import run_locally
from holdfast.cli.files import upload_file
from holdfast.cli.results import unfolded
from holdfast.cli.runs.beside import told
from holdfast.cli.safe_text import neutral, neutral_line
from holdfast.cli.transcript import Transcript
from holdfast.cli.wording import title
from holdfast.core.ids import ChatId, RunId
from holdfast.core.messages import Busy
from holdfast.core.parts import ToolResult

Deed = Callable[[], Awaitable[str | None]]


class Conversation(Protocol):
    """The conversation that is told what to do. `hint` is a line that goes with the next key."""

    client: Client
    deeds: Deeds
    transcript: Transcript
    along: Along
    results: deque[ToolResult]
    hint: str

    def say(self, text: str, style: str = "") -> None: ...
    def do(self, deed: Deed) -> None: ...
    def start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]: ...
    def send(self, text: str, busy: Busy) -> None: ...
    def switch(self, chat_id: ChatId | None) -> None: ...
    def leave(self, code: int) -> None: ...
    def toggle_thoughts(self) -> bool: ...


class Orders:
    def __init__(self, conversation: Conversation) -> None:
        self._at = conversation
        self._running: asyncio.Task[None] | None = None

    def stop_running(self) -> bool:
        """Whether something ran here that was stopped."""
        if self._running is None or self._running.done():
            return False
        return self._running.cancel()

    def obey(self, order: SlashCommand) -> None:
        deeds = self._at.deeds
        match order.name:
            case "help":
                self._at.say(help_text(shutil.get_terminal_size().columns - 1))
            case "quit":
                self._at.leave(0)
            case "id":
                self._at.say(deeds.chat_id or NO_CHAT)
            case "usage":
                self._at.say(usage_text(self._at.transcript.usage))
            case "context":
                self._at.do(lambda: deeds.context(order.rest))
            case "thoughts":
                shown = self._at.toggle_thoughts()
                self._at.hint = "Reasoning is shown." if shown else "Reasoning is folded."
            case "steer":
                self._at.send(order.rest, "steer")
            case "now":
                self._at.send(order.rest, "interrupt")
            case "queue" if order.rest:
                self._at.send(order.rest, "queue")
            case "queue":
                self._at.hint = "Listed above." if self._at.transcript.queue else "The queue is empty."
            case "stop":
                self._at.do(lambda: deeds.move("interrupt"))
            case "retry" | "compact":
                self._at.do(lambda: deeds.move(order.name))
            case "drop":
                self._at.do(lambda: deeds.drop(order.rest, self._at.transcript.queue))
            case "model":
                self._at.do(lambda: deeds.use_model(order.rest))
            case "workflow" if order.rest:
                self._at.do(lambda: self._run_workflow(order.rest))
            case "workflow":
                self._at.do(deeds.workflows)
            case "title":
                self._at.do(lambda: deeds.rename(order.rest))
            case "effort":
                self._at.do(lambda: deeds.use_effort(order.rest))
            case "mode":
                self._at.do(lambda: deeds.use_mode(order.rest))
            case "changes":
                self._at.do(lambda: deeds.changes(order.rest))
            case "undo":
                self._at.do(lambda: deeds.undo(order.rest))
            case "rewind":
                self._at.do(lambda: deeds.rewind(order.rest))
            case "new":
                self._at.do(self._begin_anew)
            case "resume" if order.rest:
                self._at.do(lambda: self._resume(order.rest))
            case "resume":
                self._at.do(deeds.recent)
            case "fork":
                self._at.do(self._fork)
            case "attach":
                self._at.do(lambda: self._attach(order.rest))
            case "output":
                self.show_output(order.rest)
            case _:
                raise AssertionError(order.name)

    async def _run_workflow(self, line: str) -> str:
        run = await self._at.deeds.start_workflow(line)
        # In a chat the end is a notice there.
        self._at.start(self._watch_run(run.id, end=run.chat_id is None))
        return f"Run {run.id} of {neutral_line(run.name, 100)}. `holdfast workflow cancel {run.id}` stops it."

    async def _watch_run(self, run_id: RunId, *, end: bool) -> None:
        """Beside the conversation, which goes on."""
        async with aclosing(told(self._at.client, run_id, end=end)) as entries:
            async for entry in entries:
                self._at.say(entry, "dim")

    # --- other chats ---

    async def _begin_anew(self) -> str:
        self._at.switch(None)
        return "New chat: your next message starts it."

    async def _resume(self, word: str) -> None:
        found = await self._at.deeds.find(word)
        self._at.switch(found.id)
        self._at.say(f"{title(found)} · {found.id}", "bold")

    async def _fork(self) -> str:
        copy = await self._at.deeds.fork()
        self._at.switch(copy.id)
        return f"Copied to {copy.id}"

    # --- files, commands and outputs ---

    async def _attach(self, path: str) -> str:
        file = await upload_file(self._at.client, Path(path))
        self._at.along.files.append(file)
        return f"{neutral_line(file.name, 100)} ({file.size} bytes) is attached to your next message."

    def run_here(self, command: str) -> None:
        if not command or (self._running is not None and not self._running.done()):
            self._at.hint = (
                "Another command is running; Ctrl-C stops it." if command else "!COMMAND runs a command here."
            )
            return
        self._at.say(f"$ {neutral(command)}", "bold")
        self._at.hint = "Running here. Ctrl-C stops it."
        self._running = self._at.start(self._run_command(command))

    async def _run_command(self, command: str) -> None:
        ran = await run_locally(command)
        self._at.hint = ""
        if ran.output.strip():
            self._at.say(neutral(ran.output.rstrip("\n")), "dim")
        ended = "" if ran.exit_code == 0 else f"Exit code {ran.exit_code}. "
        self._at.say(f"{ended}It is sent with your next message.", "dim" if not ended else "yellow")
        self._at.along.ran.append(ran.for_agent())

    def show_output(self, number: str) -> None:
        """All of an output, counted from the newest."""
        if not number.isdecimal() and number:
            self._at.hint = "/output takes a number: 1 is the last output."
            return
        place = int(number or 1)
        if not 1 <= place <= len(self._at.results):
            self._at.hint = "There is no such output."
            return
        result = self._at.results[-place]

        async def deed() -> None:
            if result.truncated:
                full = await self._at.deeds.full_output(result.call_id)
                lines = unfolded(replace(result, output=full.output))
            else:
                lines = unfolded(result)
            self._at.say("\n".join(line.text for line in lines), "dim")

        self._at.do(deed)
