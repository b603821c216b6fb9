"""A run told beside something else, such as the conversation in which it was started: its lines, and its
result at the end."""

from collections.abc import AsyncGenerator
from contextlib import aclosing

from holdfast.cli.client import Client
from holdfast.cli.runs.events import watch_run
from holdfast.cli.runs.progress import Noted, RunProgress
from holdfast.cli.runs.telling import plain, result_text, why
from holdfast.cli.safe_text import neutral_line
from holdfast.core.errors import HoldfastError
from holdfast.core.ids import RunId
from holdfast.core.run_shapes import RunShown


async def told(client: Client, run_id: RunId, *, end: bool = True) -> AsyncGenerator[str]:
    """Close it (`aclosing`). Ends with one line when the run cannot be watched any more. Without `end`
    somebody else tells how it ended."""
    progress = RunProgress()
    try:
        async with aclosing(watch_run(client, run_id)) as feed:
            async for seen in feed:
                for entry in () if seen.event is None else progress.apply(seen.event):
                    # Who talks knows of the connection.
                    if not isinstance(entry, Noted):
                        yield plain(entry)
        run = await client.get(f"/workflow-runs/{run_id}", RunShown)
    except HoldfastError as error:
        yield f"Lost track of run {run_id}: {error.text}"
        return
    if not end:
        return
    if run.error is not None:
        yield f"{neutral_line(run.name, 40)} failed: {why(run.error)}"
    if text := result_text(run.result).rstrip("\n"):
        yield text
