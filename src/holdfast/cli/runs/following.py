"""A run followed to its end: its progress while it goes on, then its result, and how it ended as an exit
code. Ctrl-C cancels it."""

import asyncio
import sys
from collections.abc import Awaitable, Callable
from contextlib import aclosing

from holdfast.cli.client import Client
from holdfast.cli.ctrl_c import CtrlC
from holdfast.cli.runs.events import watch_run
from holdfast.cli.runs.outputs import LiveProgress, PlainLines, RunAsJson, RunOutput
from holdfast.cli.runs.telling import result_text, why
from holdfast.cli.safe_text import neutral_line
from holdfast.core.ids import RunId
from holdfast.core.run_shapes import RunShown

FAILED, INTERRUPTED = 1, 130


def output_for(*, as_json: bool) -> RunOutput:
    if as_json:
        return RunAsJson()
    return LiveProgress(sys.stdout) if sys.stdout.isatty() else PlainLines()


async def follow(
    client: Client, found: Callable[[], Awaitable[RunShown]], output: RunOutput, *, as_json: bool = False
) -> int:
    """`found` starts the run, or finds it."""
    begun: asyncio.Future[RunId] = asyncio.get_running_loop().create_future()
    following = asyncio.create_task(_follow(client, found, output, begun))
    async with CtrlC(client, begun, following, lambda run_id: f"/workflow-runs/{run_id}/cancel") as ctrl_c:
        try:
            run = await following
        except asyncio.CancelledError:
            if not ctrl_c.pressed:
                raise
            return INTERRUPTED
        finally:
            output.end()
    if not as_json:
        sys.stdout.write(result_text(run.result))
        sys.stdout.flush()
    return _tell(run, ctrl_c.pressed)


async def _follow(
    client: Client,
    found: Callable[[], Awaitable[RunShown]],
    output: RunOutput,
    begun: "asyncio.Future[RunId]",
) -> RunShown:
    run = await found()
    begun.set_result(run.id)
    print(f"holdfast: Run {run.id} of {neutral_line(run.name, 100)}", file=sys.stderr)
    async with aclosing(watch_run(client, run.id)) as feed:
        async for seen in feed:
            if seen.received is not None:
                output.received(seen.received)
            if seen.event is not None:
                output.show(output.progress.apply(seen.event))
    # An event may have been too small for all of the result.
    return await client.get(f"/workflow-runs/{run.id}", RunShown)


def _tell(run: RunShown, pressed: bool) -> int:
    match run.status:
        case "succeeded":
            return 0
        case "cancelled":
            who = "The run was cancelled." if pressed else "The run was cancelled by someone else."
            print(f"holdfast: {who} {_again(run)}", file=sys.stderr)
            return INTERRUPTED
        case _:
            print(f"holdfast: {why(run.error)}\nholdfast: {_again(run)}", file=sys.stderr)
            return FAILED


def _again(run: RunShown) -> str:
    return f"To reuse its finished calls: holdfast workflow resume {run.id}"
