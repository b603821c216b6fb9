"""A conversation on a terminal: the feed, the keys and the deeds at once. Keys never wait for the server,
deeds are done in the order they were typed, and the screen is drawn in one place."""

import asyncio
import os
import signal
import sys
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import aclosing
from datetime import UTC, datetime
from typing import Any

from holdfast.cli.client import Client
from holdfast.cli.conversation.answers import Asking, Decide, Submit, Unclear
from holdfast.cli.conversation.commands import Order, help_text, is_command, parse
from holdfast.cli.conversation.deeds import NO_CHAT, Deeds, usage_text
from holdfast.cli.conversation.inquiry import Inquiry
from holdfast.cli.conversation.picture import Typing, picture
from holdfast.cli.entries import Entry
from holdfast.cli.events import Event, Found, Lost
from holdfast.cli.neutral import neutral, neutral_line
from holdfast.cli.runs.beside import told
from holdfast.cli.terminal.editor import Editor
from holdfast.cli.terminal.keys import Key, KeyReader, Press
from holdfast.cli.terminal.markdown import finished
from holdfast.cli.terminal.pretty import Note, Pretty
from holdfast.cli.terminal.raw import RawMode
from holdfast.cli.terminal.screen import Screen
from holdfast.cli.transcript import Transcript
from holdfast.cli.watching import watch
from holdfast.core.errors import HoldfastError, Refused
from holdfast.core.ids import ChatId, RunId
from holdfast.core.messages import Busy

INTERRUPTED = 130
# Messages of a chat that is come back to.
TAIL = 20
_TICK_SECONDS = 0.125
_FRAME_SECONDS = 0.03
# What is typed while the server is away is done when it comes back.
_PATIENCE_SECONDS = 24 * 3600.0
_AWAY = "The server does not answer; what you typed is sent when it does."

Deed = Callable[[], Awaitable[str | None]]


class Session:
    def __init__(self, client: Client, deeds: Deeds) -> None:
        self._client = client
        self._deeds = deeds
        self._fd = sys.stdin.fileno()
        self._mode = RawMode(self._fd)
        self._screen = Screen(sys.stdout)
        self._pretty = Pretty()
        self._transcript = Transcript(finished)
        self._keys = KeyReader()
        self._editor = Editor()
        # What was being typed when something was asked.
        self._set_aside: Editor | None = None
        self._inquiry = Inquiry()
        self._sending: deque[str] = deque()
        self._hint = ""
        self._armed = False
        self._above = ""
        self._drawing: asyncio.TimerHandle | None = None
        self._todo: asyncio.Queue[Deed] = asyncio.Queue()
        self._tasks: set[asyncio.Task[None]] = set()
        self._left: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    async def run(self) -> int:
        """Until the person leaves; the exit code."""
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(self._fault)
        self._client.patience_seconds = _PATIENCE_SECONDS
        self._client.on_wait = self._wait_for_server
        self._mode.enter()
        loop.add_reader(self._fd, self._read_keys)
        loop.add_signal_handler(signal.SIGWINCH, self._draw)
        loop.add_signal_handler(signal.SIGINT, self._press, Key("interrupt"))
        for number in (signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, self._leave, 128 + number)
        try:
            self._start(self._do())
            self._start(self._tick())
            if self._deeds.chat_id is not None:
                self._start(self._watch(self._deeds.chat_id))
            self._draw()
            return await self._left
        finally:
            loop.remove_reader(self._fd)
            for number in (signal.SIGWINCH, signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                loop.remove_signal_handler(number)
            if self._drawing is not None:
                self._drawing.cancel()
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
            self._draw()
            self._screen.clear()
            self._mode.leave()

    def say(self, text: str, style: str = "") -> None:
        """A line of our own, for good."""
        self._show([Note(text, style)])

    def _show(self, entries: Sequence[Entry | Note]) -> None:
        self._above += self._pretty.show(entries, self._screen.columns)
        self._changed()

    # --- tasks ---

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        async def guarded() -> None:
            try:
                await work
            except Exception as error:  # noqa: BLE001 - it ends the session, which raises it
                if not self._left.done():
                    self._left.set_exception(error)

        task = asyncio.create_task(guarded())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _fault(self, _: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Of ours, in a callback: the terminal comes back first, then it is raised."""
        if not self._left.done():
            self._left.set_exception(context.get("exception") or RuntimeError(context["message"]))

    def _wait_for_server(self) -> None:
        self._hint = _AWAY
        self._changed()

    async def _watch(self, chat_id: ChatId) -> None:
        async with aclosing(watch(self._client, chat_id, tail=TAIL)) as feed:
            async for seen in feed:
                if seen.event is not None:
                    self._take_in(seen.event)

    async def _do(self) -> None:
        while True:
            deed = await self._todo.get()
            try:
                if told := await deed():
                    self.say(told)
            except HoldfastError as error:
                self.say(error.text, "red")
            if self._hint == _AWAY:
                self._hint = ""
                self._changed()

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(_TICK_SECONDS)
            if self._transcript.busy or self._transcript.retry is not None:
                self._draw()

    def _take_in(self, event: Event) -> None:
        match event:
            case Lost():
                self.say("⚡ The connection is lost; trying again.", "yellow")
            case Found():
                self.say("⚡ Connected again.", "green")
            case _:
                pass
        was_busy = self._transcript.busy
        self._show(self._transcript.apply(event))
        if was_busy and not self._transcript.busy:
            self._armed, self._hint = False, ""
        self._ask()

    # --- what is asked ---

    def _ask(self) -> None:
        if not self._inquiry.look(self._transcript.action):
            return
        asking = self._inquiry.asking
        if asking is None:
            if self._set_aside is not None:
                self._editor, self._set_aside = self._set_aside, None
            return
        if self._set_aside is None:
            # What was being typed was not meant as an answer.
            self._set_aside = self._editor
        self._put(asking)

    def _put(self, asking: Asking) -> None:
        self._editor = Editor()
        self.say(f"? {asking.request()}", "yellow")

    def _answer(self, asking: Asking, line: str) -> None:
        meant = asking.understand(line)
        if isinstance(meant, Unclear):
            self._hint = f"Not an answer. {meant.text}"
            return
        self.say(f"→ {neutral(line)}")
        if isinstance(meant, Asking):
            self._inquiry.go_on(meant)
            self._put(meant)
        else:
            self._inquiry.answered(meant.call)
            self._todo.put_nowait(lambda: self._give(meant))
            self._ask()

    async def _give(self, answer: Decide | Submit) -> None:
        try:
            await self._deeds.answer(answer)
        except Refused as error:
            if error.problem != "already_answered":
                self._inquiry.not_answered(answer.call)
                self._ask()
            raise

    # --- keys ---

    def _read_keys(self) -> None:
        try:
            data = os.read(self._fd, 64 * 1024)
        except OSError:
            data = b""
        if not data:
            # The window was closed.
            self._leave(128 + signal.SIGHUP)
        for press in self._keys.feed(data):
            self._press(press)

    def _press(self, press: Press) -> None:
        armed, self._armed, self._hint = self._armed, False, ""
        match press:
            case Key("enter"):
                self._enter("queue")
            case Key("steer"):
                self._enter("steer")
            case Key("now"):
                self._enter("interrupt")
            case Key("interrupt"):
                self._interrupt(armed)
            case Key("leave") if not self._editor.text:
                self._leave(0)
            case Key("leave"):
                self._editor = self._editor.press(Key("delete"))
            case Key("redraw"):
                self._screen.wipe()
            case Key("suspend"):
                self._suspend()
            case _:
                self._editor = self._editor.press(press)
        self._draw()

    def _enter(self, busy: Busy) -> None:
        line = self._editor.text
        if not line.strip():
            return
        self._editor = self._editor.sent()
        if is_command(line):
            match parse(line):
                case str() as wrong:
                    self._hint = wrong
                case order:
                    self._obey(order)
        elif self._inquiry.asking is not None and busy == "queue":
            self._answer(self._inquiry.asking, line)
        else:
            self._send(line, busy)

    def _interrupt(self, armed: bool) -> None:
        """Once: the turn, or what was typed. Twice: leave."""
        if armed:
            self._leave(INTERRUPTED)
            return
        self._armed = True
        if self._editor.text:
            self._editor = self._editor.sent()
            self._hint = "Ctrl-C again leaves."
        elif self._transcript.busy or self._transcript.status == "requires_action":
            self._todo.put_nowait(lambda: self._deeds.move("interrupt"))
            self._hint = "Interrupting. Ctrl-C again leaves at once."
        else:
            self._hint = "Ctrl-C again leaves."

    def _leave(self, code: int) -> None:
        if not self._left.done():
            self._left.set_result(code)

    def _suspend(self) -> None:
        self._screen.clear()
        self._mode.leave()
        os.kill(0, signal.SIGTSTP)
        self._mode.enter()
        self._screen.forget()

    # --- orders ---

    def _obey(self, order: Order) -> None:
        deeds = self._deeds
        match order.name:
            case "help":
                self.say(help_text())
            case "quit":
                self._leave(0)
            case "id":
                self.say(deeds.chat_id or NO_CHAT)
            case "usage":
                self.say(usage_text(self._transcript.usage))
            case "thoughts":
                self._pretty.thoughts = not self._pretty.thoughts
                self._hint = "Thoughts are shown." if self._pretty.thoughts else "Thoughts are folded."
            case "steer":
                self._send(order.rest, "steer")
            case "now":
                self._send(order.rest, "interrupt")
            case "queue" if order.rest:
                self._send(order.rest, "queue")
            case "queue":
                self._hint = "It is listed above." if self._transcript.queue else "Nothing waits."
            case "stop":
                self._todo.put_nowait(lambda: deeds.move("interrupt"))
            case "retry" | "compact":
                self._todo.put_nowait(lambda: deeds.move(order.name))
            case "drop":
                self._todo.put_nowait(lambda: deeds.drop(order.rest, self._transcript.queue))
            case "model":
                self._todo.put_nowait(lambda: deeds.use_model(order.rest))
            case "workflow" if order.rest:
                self._todo.put_nowait(lambda: self._run_workflow(order.rest))
            case "workflow":
                self._todo.put_nowait(deeds.workflows)
            case "title":
                self._todo.put_nowait(lambda: deeds.rename(order.rest))
            case _:
                raise AssertionError(order.name)

    async def _run_workflow(self, line: str) -> str:
        run = await self._deeds.start_workflow(line)
        self._start(self._watch_run(run.id))
        return f"Run {run.id} of {neutral_line(run.name, 100)}. `holdfast workflow cancel {run.id}` stops it."

    async def _watch_run(self, run_id: RunId) -> None:
        """Beside the conversation, which goes on."""
        async with aclosing(told(self._client, run_id)) as entries:
            async for entry in entries:
                self._show([Note(entry, "dim")])

    def _send(self, text: str, busy: Busy) -> None:
        self._sending.append(text)

        async def deed() -> None:
            is_new = self._deeds.chat_id is None
            try:
                await self._deeds.send(text, busy)
            finally:
                self._sending.popleft()
                self._changed()
            if is_new and self._deeds.chat_id is not None:
                self._start(self._watch(self._deeds.chat_id))

        self._todo.put_nowait(deed)

    # --- the screen ---

    def _changed(self) -> None:
        """Soon: what comes in the meantime is drawn along."""
        if self._drawing is None and not self._left.done():
            self._drawing = asyncio.get_running_loop().call_later(_FRAME_SECONDS, self._draw)

    def _draw(self) -> None:
        if self._drawing is not None:
            self._drawing.cancel()
            self._drawing = None
        above, self._above = self._above, ""
        typing = Typing(self._editor, self._inquiry.asking, tuple(self._sending), self._hint)
        screen = self._screen
        screen.draw(above, picture(self._transcript, typing, datetime.now(UTC), screen.columns, screen.rows))
