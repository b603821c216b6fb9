"""A process that runs commands as a server does, for tests that kill it, measure it or run it as another
user. Prints one line of JSON for each command; those that are to stay run until it is killed."""

import asyncio
import json
import resource
import sys
from pathlib import Path
from typing import Any, cast

import structlog

from holdfast.workspaces.commands.processes import Process
from tests.workspaces.rooms import Room, room


async def main(directory: Path, kind: str, orders: list[dict[str, Any]], network: str) -> None:
    async with room(directory, cast(Any, kind), network=cast(Any, network)) as found:
        if found is None:
            say({"skip": f"this machine has no wall made by {kind} for this user"})
            return
        left_over = await found.processes.end_left_over()
        say({"sentences": found.probe.sentences, "left_over": [entry.command for entry in left_over]})
        for order in orders:
            process = await found.start(order["command"], background=order.get("stay", False))
            if order.get("stay"):
                await found.printed(process, "ready")
                say({"running": process.entry.id})
            else:
                say(await finished(found, process, order.get("seconds", 60.0)))
        if any(order.get("stay") for order in orders):
            await asyncio.Event().wait()


async def finished(found: Room, process: Process, seconds: float) -> dict[str, object]:
    await asyncio.wait({process.ended}, timeout=seconds)
    if not process.ended.done():
        await found.processes.stop(process, "timed_out")
    end = process.ended.result()
    return {
        "how": end.how,
        "exit_code": end.exit_code,
        "out_of_memory": end.out_of_memory,
        "printed": end.printed,
        "text": (await found.text(process.entry))[:10_000],
        "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }


def say(what: object) -> None:
    print(json.dumps(what), flush=True)


if __name__ == "__main__":
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2], json.loads(sys.argv[3]), sys.argv[4]))
