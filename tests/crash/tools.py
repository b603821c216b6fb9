"""Tools for victims. Each writes its line into the ledger, before and after which it can be made to wait, or
to end the process."""

import asyncio
import os
import secrets
import sys
import time
from typing import Literal

from holdfast.core.calls import Effect
from holdfast.tools.contract import Input, Reach, Tool, ToolAnswer, ToolContext
from holdfast.tools.registry import ToolRegistry
from tests.crash.ledger import Ledger, Line
from tests.crash.points import Points

# A child that does nothing, in a session of its own, so that no signal to the victim's group reaches it.
CHILD = "import time; time.sleep(3600)"


# Whether a call waits for the gate: never, before its effect or after it.
Gate = Literal["none", "before", "after"]


class Doing(Input, frozen=True, kw_only=True):
    before_seconds: float = 0.0
    after_seconds: float = 0.0
    gate: Gate = "none"


class Spinning(Input, frozen=True, kw_only=True):
    seconds: float


def tools(ledger: Ledger, points: Points, kept_open: int | None) -> ToolRegistry:
    """`kept_open` is a descriptor that children inherit: whoever reads its other end knows when all are
    gone."""
    made = _Made(ledger, points, kept_open)
    return ToolRegistry(
        [
            made.doing("pay", "unsafe"),
            made.doing("stamp", "idempotent"),
            made.doing("look", "read"),
            made.doing("order", "unsafe", reach="outside"),
            made.spinning("spin", on_loop=False),
            made.spinning("spin_on_loop", on_loop=True),
            made.breeding(),
            made.dripping(),
        ]
    )


class _Made:
    def __init__(self, ledger: Ledger, points: Points, kept_open: int | None) -> None:
        self._ledger = ledger
        self._points = points
        self._kept_open = kept_open

    def doing(self, name: str, effect: Effect, reach: Reach = "none") -> Tool:
        async def run(context: ToolContext, given: Doing) -> ToolAnswer:
            await asyncio.sleep(given.before_seconds)
            await self._pass(given.gate == "before")
            self._points.reach(f"before {name}")
            receipt = self._write(name, context)
            self._points.reach(f"after {name}")
            await asyncio.sleep(given.after_seconds)
            await self._pass(given.gate == "after")
            return ToolAnswer(output=f"done: {receipt}")

        return Tool(
            name=name, description=f"Does it: {effect}.", input=Doing, run=run, effect=effect, reach=reach
        )

    def spinning(self, name: str, *, on_loop: bool) -> Tool:
        def spin(context: ToolContext, given: Spinning) -> ToolAnswer:
            receipt = self._write(name, context)
            end = time.monotonic() + given.seconds
            while time.monotonic() < end:
                pass
            return ToolAnswer(output=f"done: {receipt}")

        async def spin_on_loop(context: ToolContext, given: Spinning) -> ToolAnswer:
            return spin(context, given)

        run = spin_on_loop if on_loop else spin
        return Tool(name=name, description="Computes.", input=Spinning, run=run, timeout_seconds=600)

    def breeding(self) -> Tool:
        async def run(context: ToolContext, given: Doing) -> ToolAnswer:
            passed = () if self._kept_open is None else (self._kept_open,)
            child = await asyncio.create_subprocess_exec(
                sys.executable, "-c", CHILD, pass_fds=passed, start_new_session=True
            )
            try:
                receipt = self._write("breed", context, str(child.pid))
                await asyncio.sleep(given.after_seconds)
                return ToolAnswer(output=f"done: {receipt}")
            finally:
                child.kill()
                await child.wait()

        return Tool(name="breed", description="Starts a process.", input=Doing, run=run, timeout_seconds=600)

    def dripping(self) -> Tool:
        async def run(context: ToolContext, given: Doing) -> ToolAnswer:
            receipt = self._write("drip", context)
            try:
                await asyncio.sleep(given.after_seconds)
            except asyncio.CancelledError:
                return ToolAnswer(output=f"so far: {receipt}", outcome="cancelled")
            return ToolAnswer(output=f"done: {receipt}")

        return Tool(
            name="drip", description="Says how far it came.", input=Doing, run=run, timeout_seconds=600
        )

    async def _pass(self, gated: bool) -> None:
        while gated and not self._ledger.gate.exists():  # noqa: ASYNC110 - another process opens it
            await asyncio.sleep(0.02)

    def _write(self, tool: str, context: ToolContext, receipt: str | None = None) -> str:
        receipt = receipt or secrets.token_hex(4)
        self._ledger.append(
            Line(
                event="effect",
                tool=tool,
                chat_id=context.chat_id,
                call_id=context.call_id,
                run=context.run,
                pid=os.getpid(),
                receipt=receipt,
            )
        )
        return receipt
