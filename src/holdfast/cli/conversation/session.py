"""A conversation on a terminal: the feed, the keys and the deeds at once. Keys never wait for the server,
deeds are done in the order they were typed, and the screen is drawn in one place."""

import asyncio
import os
import signal
import sys
from collections import deque
from collections.abc import Coroutine, Sequence
from contextlib import aclosing
from datetime import UTC, datetime
from typing import Any

from holdfast.cli.client import Client
from holdfast.cli.conversation.along import Along
from holdfast.cli.conversation.answers import Asking, DecisionAnswer, Part, Submit, Unclear
from holdfast.cli.conversation.candidates import candidates, command_names
from holdfast.cli.conversation.commands import is_command, parse
from holdfast.cli.conversation.deeds import Deeds
from holdfast.cli.conversation.inquiry import Inquiry
from holdfast.cli.conversation.line_input import LineInput
from holdfast.cli.conversation.orders import Deed, Orders
from holdfast.cli.conversation.picture import Typing, picture
from holdfast.cli.entries import CallEntry, Entry
from holdfast.cli.events import Event, Lost, Reconnected
from holdfast.cli.feed_client import watch
from holdfast.cli.remembered import Remembered
from holdfast.cli.safe_text import neutral
from holdfast.cli.terminal.completion import Wanted
from holdfast.cli.terminal.editor import Editor
from holdfast.cli.terminal.keys import Key, KeyReader, Press
from holdfast.cli.terminal.markdown import finished
from holdfast.cli.terminal.pretty import Note, Pretty
from holdfast.cli.terminal.raw import RawMode
from holdfast.cli.terminal.screen import Screen
from holdfast.cli.transcript import Transcript
from holdfast.core.chats import BUILD
from holdfast.core.errors import HoldfastError, Refused
from holdfast.core.ids import ChatId
from holdfast.core.messages import Busy
from holdfast.core.parts import ToolResult

INTERRUPTED = 130
# Messages of a chat that is come back to.
TAIL = 20
_TICK_SECONDS = 0.125
# Outputs that can be shown in full.
_RESULTS = 50
_FRAME_SECONDS = 0.03
# What is typed while the server is away is done when it comes back.
_PATIENCE_SECONDS = 24 * 3600.0
_AWAY = "The server is not responding. Your message is sent as soon as it does."


class ConversationScreen:
    def __init__(self, client: Client, deeds: Deeds, typed_before: Remembered) -> None:
        self.client = client
        self.deeds = deeds
        self._fd = sys.stdin.fileno()
        self._mode = RawMode(self._fd)
        self._screen = Screen(sys.stdout)
        self._pretty = Pretty("/output shows all")
        self.transcript = Transcript(finished)
        self._keys = KeyReader()
        self._line = LineInput(typed_before)
        self._inquiry = Inquiry()
        self._sending: deque[str] = deque()
        self.along = Along()
        self._orders = Orders(self)
        self._watching: asyncio.Task[None] | None = None
        self.results: deque[ToolResult] = deque(maxlen=_RESULTS)
        self.hint = ""
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
        self.client.patience_seconds = _PATIENCE_SECONDS
        self.client.on_wait = self._wait_for_server
        self._mode.enter()
        loop.add_reader(self._fd, self._read_keys)
        loop.add_signal_handler(signal.SIGWINCH, self._draw)
        loop.add_signal_handler(signal.SIGINT, self._press, Key("interrupt"))
        for number in (signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, self.leave, 128 + number)
        try:
            self.start(self._do())
            self.start(self._tick())
            if self.deeds.chat_id is not None:
                self._begin_watching(self.deeds.chat_id)
            if self._line.problem is not None:
                self.say(self._line.problem, "yellow")
            self._draw()
            return await self._left
        finally:
            loop.remove_reader(self._fd)
            for number in (signal.SIGWINCH, signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                loop.remove_signal_handler(number)
            if self._drawing is not None:
                self._drawing.cancel()
            for task in tuple(self._tasks):
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
            self._draw()
            self._screen.clear()
            self._mode.leave()

    @property
    def unsent(self) -> tuple[str, ...]:
        """What was typed and has not reached the server."""
        return tuple(text for text in (*self._sending, self._line.unsent) if text.strip())

    def say(self, text: str, style: str = "") -> None:
        """A line of our own, for good."""
        self._show([Note(text, style)])

    def _show(self, entries: Sequence[Entry | Note]) -> None:
        self._above += self._pretty.show(entries, self._screen.columns)
        self._changed()

    # --- tasks ---

    def start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        async def guarded() -> None:
            try:
                await work
            except Exception as error:  # noqa: BLE001 - it ends the session, which raises it
                if not self._left.done():
                    self._left.set_exception(error)

        task = asyncio.create_task(guarded())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def _fault(self, _: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Of ours, in a callback: the terminal comes back first, then it is raised."""
        if not self._left.done():
            self._left.set_exception(context.get("exception") or RuntimeError(context["message"]))

    def _wait_for_server(self) -> None:
        self.hint = _AWAY
        self._changed()

    def _begin_watching(self, chat_id: ChatId) -> None:
        self._watching = self.start(self._watch(chat_id))

    async def _watch(self, chat_id: ChatId) -> None:
        async with aclosing(watch(self.client, chat_id, tail=TAIL)) as feed:
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
            if self.hint == _AWAY:
                self.hint = ""
                self._changed()

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(_TICK_SECONDS)
            if self.transcript.busy or self.transcript.retry is not None:
                self._draw()

    def _take_in(self, event: Event) -> None:
        match event:
            case Lost():
                self.say("⚡ Connection lost. Reconnecting…", "yellow")
            case Reconnected():
                self.say("⚡ Reconnected.", "green")
            case _:
                pass
        was_busy = self.transcript.busy
        entries = self.transcript.apply(event)
        self.results.extend(entry.result for entry in entries if isinstance(entry, CallEntry))
        self._show(entries)
        if was_busy and not self.transcript.busy:
            self._armed, self.hint = False, ""
        self._ask()

    # --- what is asked ---

    def _ask(self) -> None:
        if not self._inquiry.look(self.transcript.action):
            return
        asking = self._inquiry.asking
        if asking is None:
            self._line.take_up()
            return
        self._put(asking)

    def _put(self, asking: Asking) -> None:
        self._line.set_aside()
        self._show_part(asking.begun(self._screen.columns, self._screen.rows), "? ")

    def _show_part(self, part: Part, mark: str = "") -> None:
        self._inquiry.go_on(part.asking)
        self.say(f"{mark}{part.text}", "yellow")

    def _answer(self, asking: Asking, line: str) -> None:
        meant = asking.understand(line)
        if isinstance(meant, Unclear):
            self.hint = f"Not an answer. {meant.text}"
            return
        if isinstance(meant, Part):
            self._show_part(meant)
            return
        self.say(f"→ {neutral(line)}")
        if isinstance(meant, Asking):
            self._inquiry.go_on(meant)
            self._put(meant)
        else:
            self._inquiry.answered(meant.call)
            self._todo.put_nowait(lambda: self._give(meant))
            self._ask()

    async def _give(self, answer: DecisionAnswer | Submit) -> None:
        try:
            await self.deeds.answer(answer)
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
            self.leave(128 + signal.SIGHUP)
        for press in self._keys.feed(data):
            self._press(press)

    def _press(self, press: Press) -> None:
        armed, self._armed, self.hint = self._armed, False, ""
        if not self._line.pressed_in_search(press):
            self._press_key(press, armed)
        self._draw()

    def _press_key(self, press: Press, armed: bool) -> None:
        match press:
            case Key("enter"):
                self._enter("queue")
            case Key("steer"):
                self._enter("steer")
            case Key("now"):
                self._enter("interrupt")
            case Key("interrupt"):
                self._interrupt(armed)
            case Key("tab"):
                self._complete()
            case Key("back_tab"):
                if not self._line.turn(-1):
                    self.do(self.deeds.next_mode)
            case Key("search"):
                self._line.begin_search()
            case Key("output"):
                self._orders.show_output("")
            case Key("leave") if not self._line.text:
                self.leave(0)
            case Key("leave"):
                self._line.press(Key("delete"))
            case Key("redraw"):
                self._screen.wipe()
            case Key("suspend"):
                self._suspend()
            case _:
                self._line.press(press)

    def _complete(self) -> None:
        if self._line.turn(1):
            return
        place = self._line.wanted()
        if place is None:
            self._line.indent()
        elif place.kind == "command":
            # At once: the next Tab may be in the same read.
            self._line.offer(place, command_names(place.word))
        else:
            self.start(self._offer(place, self._line.editor))

    async def _offer(self, place: Wanted, editor: Editor) -> None:
        try:
            found = await candidates(self.deeds, place)
        except HoldfastError as error:
            self.hint = error.text
        else:
            if self._line.editor is not editor:
                return  # something else was typed meanwhile
            self._line.offer(place, found)
            self.hint = "" if found else "No completions."
        self._changed()

    def _enter(self, busy: Busy) -> None:
        asking = self._inquiry.asking
        if not self._line.text.strip():
            return
        line = self._line.take(remember=asking is None)
        if is_command(line):
            match parse(line):
                case str() as wrong:
                    self.hint = wrong
                case order:
                    self._orders.obey(order)
        elif asking is not None and busy == "queue":
            self._answer(asking, line)
        elif line.startswith("!"):
            self._orders.run_here(line[1:].strip())
        else:
            self.send(line, busy)

    def _interrupt(self, armed: bool) -> None:
        """Once: the turn, what runs here, or what was typed. Twice: leave."""
        if armed:
            self.leave(INTERRUPTED)
            return
        self._armed = True
        if self._line.text:
            self._line.take(remember=False)
            self.hint = "Press Ctrl-C again to exit."
        elif self._orders.stop_running():
            self.hint = "Stopped. Press Ctrl-C again to exit."
        elif self.transcript.busy or self.transcript.status == "requires_action":
            self._todo.put_nowait(lambda: self.deeds.move("interrupt"))
            self.hint = "Interrupting. Press Ctrl-C again to exit now."
        else:
            self.hint = "Press Ctrl-C again to exit."

    def leave(self, code: int) -> None:
        if not self._left.done():
            self._left.set_result(code)

    def _suspend(self) -> None:
        self._screen.clear()
        self._mode.leave()
        os.kill(0, signal.SIGTSTP)
        self._mode.enter()
        self._screen.forget()

    # --- what orders use ---

    def do(self, deed: Deed) -> None:
        """After what was typed before it."""
        self._todo.put_nowait(deed)

    def toggle_thoughts(self) -> bool:
        """Whether they are shown from now on."""
        self._pretty.thoughts = not self._pretty.thoughts
        return self._pretty.thoughts

    def switch(self, chat_id: ChatId | None) -> None:
        """To another chat. What is under way in the one before goes on."""
        if self._watching is not None:
            self._watching.cancel()
            self._watching = None
        self.transcript, self._inquiry = Transcript(finished), Inquiry()
        self._line.take_up()
        self.results.clear()
        self.deeds.chat_id = chat_id
        if chat_id is not None:
            self._begin_watching(chat_id)
        self._changed()

    def send(self, text: str, busy: Busy) -> None:
        self._sending.append(text)
        along = self.along.take()

        async def deed() -> None:
            is_new = self.deeds.chat_id is None
            try:
                await self.deeds.send(along.content(text), busy)
            except HoldfastError:
                self.along.give_back(along)
                if not self._line.give_back(text):
                    self.hint = "Your message was not sent. Press Up to get it back."
                raise
            finally:
                if not self._left.done():
                    self._sending.popleft()
                self._changed()
            if is_new and self.deeds.chat_id is not None:
                self._begin_watching(self.deeds.chat_id)

        self._todo.put_nowait(deed)

    # --- the screen ---

    def _mode_shown(self) -> str:
        chat = self.transcript.chat
        return (self.deeds.mode or BUILD) if chat is None else chat.mode

    def _changed(self) -> None:
        """Soon: what comes in the meantime is drawn along."""
        if self._drawing is None and not self._left.done():
            self._drawing = asyncio.get_running_loop().call_later(_FRAME_SECONDS, self._draw)

    def _draw(self) -> None:
        if self._drawing is not None:
            self._drawing.cancel()
            self._drawing = None
        above, self._above = self._above, ""
        typing = Typing(
            self._line.editor,
            self._inquiry.asking,
            tuple(self._sending),
            self.hint,
            self._line.search,
            self._line.offers,
            self.along.count,
            self._mode_shown(),
        )
        screen = self._screen
        screen.draw(above, picture(self.transcript, typing, datetime.now(UTC), screen.columns, screen.rows))
