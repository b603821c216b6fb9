"""The driver's end of a victim: its process, the orders under way, and its end."""

import asyncio
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Self

import msgspec

from holdfast.core.events import LiveParts
from holdfast.core.ids import ChatId
from tests.crash.orders import Answer, Counts, Order, Setup, encode, read_answer

ROOT = Path(__file__).parents[2]
# Four times what any of it may take.
START_SECONDS = 60.0
ANSWER_SECONDS = 240.0


class Died(Exception):
    """The victim ended before it answered."""


class Handle:
    """Made by `start`. Everything is done on the loop."""

    def __init__(self, process: asyncio.subprocess.Process, log: Path) -> None:
        self._process = process
        self._log = log
        self._waiting: dict[int, asyncio.Future[Answer]] = {}
        self._watching: dict[int, Callable[[LiveParts], None]] = {}
        self._next = 1
        self._ready: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._waiting[0] = self._ready
        self._reading = asyncio.create_task(self._read())

    @classmethod
    async def begin(cls, setup: Setup, log: Path) -> Self:
        """Started; perhaps not ready yet."""
        with log.open("ab") as errors:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "tests.crash.victim", encode(setup).decode()),
                cwd=ROOT,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=errors,
                limit=2**28,
                pass_fds=() if setup.kept_open is None else (setup.kept_open,),
            )
        return cls(process, log)

    async def ready(self) -> None:
        async with asyncio.timeout(START_SECONDS):
            await asyncio.shield(self._ready)

    @property
    def alive(self) -> bool:
        return not self._reading.done()

    @property
    def pid(self) -> int:
        return self._process.pid

    def log(self) -> str:
        return self._log.read_text(errors="replace")[-4000:]

    # --- orders ---

    async def ask(
        self,
        kind: str,
        command: object = None,
        *,
        chat_id: ChatId | None = None,
        key: str | None = None,
    ) -> Answer:
        order = Order(
            number=self._number(), kind=kind, chat_id=chat_id, key=key, command=msgspec.Raw(encode(command))
        )
        return await self._send(order)

    async def counts(self) -> Counts:
        counts = (await self.ask("counts")).counts
        assert counts is not None
        return counts

    async def watch(self, chat_id: ChatId, seen: Callable[[LiveParts], None]) -> None:
        order = Order(number=self._number(), kind="watch", chat_id=chat_id)
        self._watching[order.number] = seen
        await self._send(order)

    def _number(self) -> int:
        number, self._next = self._next, self._next + 1
        return number

    async def _send(self, order: Order) -> Answer:
        if not self.alive or self._process.stdin is None:
            raise Died
        answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._waiting[order.number] = answer
        try:
            self._process.stdin.write(encode(order) + b"\n")
            async with asyncio.timeout(ANSWER_SECONDS):
                return await answer
        except (BrokenPipeError, ConnectionResetError):
            raise Died from None
        finally:
            self._waiting.pop(order.number, None)

    async def _read(self) -> None:
        assert self._process.stdout is not None
        while line := await self._process.stdout.readline():
            if not line.endswith(b"\n"):
                break  # it was killed while it spoke
            answer = read_answer(line)
            if answer.live is not None:
                self._watching[answer.number](answer.live)
            elif (waiting := self._waiting.get(answer.number)) is not None and not waiting.done():
                waiting.set_result(answer)
        await self._process.wait()
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(Died())
                # Nobody may be waiting for it any more.
                waiting.exception()

    # --- its end ---

    def kill(self) -> None:
        self._signal(signal.SIGKILL)

    def terminate(self) -> None:
        self._signal(signal.SIGTERM)

    def freeze(self) -> None:
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self._signal(signal.SIGCONT)

    @property
    def is_frozen(self) -> bool:
        """Whether SIGSTOP has stopped it, whoever sent it."""
        state = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()[0]
        return state == "T"

    async def leave(self) -> int:
        """The way a server ends when it is asked to. Its exit code."""
        try:
            await self.ask("leave")
        except Died:
            pass
        async with asyncio.timeout(ANSWER_SECONDS):
            return await self.gone()

    async def gone(self) -> int:
        """Waits until it is dead; its exit code, negative for a signal."""
        await asyncio.shield(self._reading)
        if self._process.stdin is not None:
            self._process.stdin.close()
        code = self._process.returncode
        assert code is not None
        return code

    def _signal(self, number: signal.Signals) -> None:
        if self._process.returncode is None:
            try:
                self._process.send_signal(number)
            except ProcessLookupError:
                pass
