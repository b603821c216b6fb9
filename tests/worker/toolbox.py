"""Tools for tests of the engine: each does one thing that tools do, and reports what it did."""

import asyncio
import threading
import time
from collections.abc import Callable

from holdfast.tools.contract import Input, Tool, ToolAnswer, ToolContext, ToolError
from holdfast.tools.people import ASK_USER, PROPOSE_PLAN
from holdfast.tools.registry import ToolRegistry
from holdfast.tools.todo import TODO


class Add(Input, frozen=True, kw_only=True):
    a: int
    b: int


class Named(Input, frozen=True, kw_only=True):
    name: str = ""


class Sized(Input, frozen=True, kw_only=True):
    size: int


# What is no Exception.
ESCAPING: dict[str, BaseException] = {
    "exit": SystemExit(3),
    "generator": GeneratorExit("at the wrong time"),
    "group": BaseExceptionGroup("several", [GeneratorExit(), ValueError("bad")]),
    "keyboard": KeyboardInterrupt(),
}


class Toolbox:
    """The tools of one test. `ledger` has a line for every effect; `go` lets the patient ones end."""

    def __init__(self) -> None:
        self.ledger: list[str] = []
        self.contexts: list[ToolContext] = []
        self.running = 0
        self.most_running = 0
        self.threads: set[int] = set()
        self.cancelled: list[str] = []
        self._go: dict[str, asyncio.Event] = {}
        # For tools in threads.
        self.release = threading.Event()

    def go(self, name: str = "") -> asyncio.Event:
        return self._go.setdefault(name, asyncio.Event())

    def registry(self) -> ToolRegistry:
        return ToolRegistry(
            [
                tool("add", self._add, input=Add, effect="read"),
                tool("write", self._write),
                tool("put", self._write, effect="idempotent"),
                tool("save", self._write, effect="idempotent", reach="workspace", traits=("writes",)),
                tool("look", self._write, effect="read"),
                tool("patient", self._patient),
                tool("patient_read", self._patient, effect="read"),
                tool(
                    "minds_children",
                    self._patient,
                    effect="read",
                    traits=("waits_for_children",),
                    timeout_seconds=None,
                ),
                tool("tidy", self._tidy),
                tool("stubborn", self._stubborn),
                tool("block", self._block),
                tool("quick_block", self._quick_block),
                tool("broken", self._broken),
                tool("refuse", self._refuse),
                tool("exits", self._exits),
                tool("escapes", self._escapes),
                tool("escapes_in_a_thread", self._escapes_in_a_thread),
                tool("nonsense", self._nonsense),
                tool("strange", self._strange),
                tool("slow", self._patient, timeout_seconds=0.05),
                tool("slow_block", self._block, timeout_seconds=0.05),
                tool("big", self._big, input=Sized, effect="read"),
                tool("alone", self._write, exclusive=True),
                tool("done", self._write, traits=("ends_turn",)),
                tool("fetch", self._write, reach="outside"),
                tool("shell", self._write, reach="command"),
                ASK_USER,
                PROPOSE_PLAN,
                TODO,
            ]
        )

    async def _add(self, context: ToolContext, given: Add) -> ToolAnswer:
        self.contexts.append(context)
        return ToolAnswer(output=given.a + given.b)

    async def _write(self, context: ToolContext, given: Named) -> ToolAnswer:
        self.contexts.append(context)
        self.ledger.append(given.name)
        return ToolAnswer(output=f"wrote {given.name}")

    async def _patient(self, context: ToolContext, given: Named) -> ToolAnswer:
        self.ledger.append(given.name)
        self.running += 1
        self.most_running = max(self.most_running, self.running)
        try:
            await self.go(given.name).wait()
        except asyncio.CancelledError:
            self.cancelled.append(given.name)
            raise
        finally:
            self.running -= 1
        return ToolAnswer(output=f"waited {given.name}")

    async def _tidy(self, context: ToolContext, given: Named) -> ToolAnswer:
        """Cancelled, it says how far it came."""
        self.contexts.append(context)
        self.ledger.append(given.name)
        try:
            await self.go(given.name).wait()
        except asyncio.CancelledError:
            return ToolAnswer(output="half of it", outcome="cancelled")
        return ToolAnswer(output="all of it")

    async def _stubborn(self, context: ToolContext, given: Named) -> ToolAnswer:
        """Does not end when it is told to."""
        self.ledger.append(given.name)
        while not self.go(given.name).is_set():
            try:
                await self.go(given.name).wait()
            except asyncio.CancelledError:
                self.cancelled.append(given.name)
        return ToolAnswer(output="in its own time")

    def _block(self, context: ToolContext, given: Named) -> ToolAnswer:
        self.ledger.append(given.name)
        self.threads.add(threading.get_ident())
        self.release.wait(30)
        return ToolAnswer(output="unblocked")

    def _quick_block(self, context: ToolContext, given: Named) -> ToolAnswer:
        self.ledger.append(given.name)
        self.threads.add(threading.get_ident())
        time.sleep(0.2)
        return ToolAnswer(output="a nap")

    async def _broken(self, context: ToolContext, given: Named) -> ToolAnswer:
        raise LookupError("nothing there")

    async def _escapes(self, context: ToolContext, given: Named) -> ToolAnswer:
        raise ESCAPING[given.name]

    def _escapes_in_a_thread(self, context: ToolContext, given: Named) -> ToolAnswer:
        raise ESCAPING[given.name]

    async def _refuse(self, context: ToolContext, given: Named) -> ToolAnswer:
        raise ToolError("Not like this: use another name.")

    async def _exits(self, context: ToolContext, given: Named) -> ToolAnswer:
        raise SystemExit(3)

    async def _nonsense(self, context: ToolContext, given: Named) -> object:
        return "not an Answer"

    async def _strange(self, context: ToolContext, given: Named) -> ToolAnswer:
        return ToolAnswer(output={"set": {1, 2}, "text": "\ud800"})

    async def _big(self, context: ToolContext, given: Sized) -> ToolAnswer:
        return ToolAnswer(output="x" * (given.size - 3) + "end")


def tool(name: str, run: Callable[..., object], **more: object) -> Tool:
    given: dict[str, object] = {"input": Named, "description": f"{name}, for tests.", **more}
    return Tool(name=name, run=run, **given)  # pyright: ignore[reportArgumentType]
