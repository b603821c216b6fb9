"""A run of a flow followed to its end: every change of a step as a line, then its result, and how it ended
as an exit code. Ctrl-C cancels it."""

import asyncio
import sys
from collections.abc import Awaitable, Callable
from contextlib import aclosing

import msgspec

from holdfast.cli.client import Client
from holdfast.cli.ctrl_c import CtrlC
from holdfast.cli.events import Received
from holdfast.cli.feed_client import lasting
from holdfast.cli.flow_runs.telling import step_line
from holdfast.cli.runs.telling import result_text
from holdfast.cli.safe_text import neutral, neutral_line
from holdfast.core.feed_events import Closing
from holdfast.core.flow_shapes import FlowLineShown, FlowRunShown, FlowStepShown
from holdfast.core.ids import RunId

FAILED, INTERRUPTED = 1, 130


async def follow(client: Client, found: Callable[[], Awaitable[FlowRunShown]], *, as_json: bool) -> int:
    """`found` starts the run, or finds it."""
    begun: asyncio.Future[RunId] = asyncio.get_running_loop().create_future()
    following = asyncio.create_task(_follow(client, found, begun, as_json))
    async with CtrlC(client, begun, following, lambda run_id: f"/flow-runs/{run_id}/cancel") as ctrl_c:
        try:
            run = await following
        except asyncio.CancelledError:
            if not ctrl_c.pressed:
                raise
            return INTERRUPTED
    if not as_json:
        sys.stdout.write(result_text(run.result))
        sys.stdout.flush()
    match run.status:
        case "succeeded":
            return 0
        case "cancelled":
            print("holdfast: The run is cancelled.", file=sys.stderr)
            return INTERRUPTED
        case _:
            why = "it took too long" if run.error is None else neutral(run.error.message)
            print(f"holdfast: {why}", file=sys.stderr)
            print(f"holdfast: Run what failed again: holdfast flow retry {run.id}", file=sys.stderr)
            return FAILED


async def _follow(
    client: Client,
    found: Callable[[], Awaitable[FlowRunShown]],
    begun: "asyncio.Future[RunId]",
    as_json: bool,
) -> FlowRunShown:
    run = await found()
    begun.set_result(RunId(run.id))
    print(f"holdfast: Run {run.id} of {neutral_line(run.name, 100)}", file=sys.stderr)
    told: dict[str, str] = {}
    async with aclosing(lasting(client, f"/flow-runs/{run.id}/feed")) as feed:
        async for one in feed:
            if not isinstance(one, Received):
                continue
            if as_json:
                sys.stdout.write(f'{{"event":"{one.name}","data":{one.data.decode()}}}\n')
                sys.stdout.flush()
            if one.name == "closing" and msgspec.json.decode(one.data, type=Closing).reason == "over":
                break
            if not as_json:
                _tell(one, told)
    # An event may have been too small for all of the result.
    return await client.get(f"/flow-runs/{run.id}", FlowRunShown)


def _tell(received: Received, told: dict[str, str]) -> None:
    match received.name:
        case "step":
            step = msgspec.json.decode(received.data, type=FlowStepShown)
            line = step_line(step)
            if told.get(step.id) != line and step.state not in ("pending", "ready"):
                print(line, file=sys.stderr)
            told[step.id] = line
        case "log":
            said = msgspec.json.decode(received.data, type=FlowLineShown)
            if said.kind == "log":
                print(f"  {neutral_line(said.text, 500)}", file=sys.stderr)
        case _:
            pass
