"""Events of a run's feed as this client understands them, until the run is over. What a newer server adds is
skipped, not an error."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass
from typing import cast

import msgspec

from holdfast.cli.client import Client
from holdfast.cli.events import Lost, Received, Reconnected
from holdfast.cli.feed_client import lasting
from holdfast.core.feed_events import CaughtUp, Closing, events_of
from holdfast.core.ids import RunId
from holdfast.core.run_shapes import CallShown, LineShown, RunData
from holdfast.core.runs import RunPhase
from holdfast.core.usage import Budget

RunEvent = RunData | RunPhase | LineShown | CallShown | Budget | CaughtUp | Closing | Lost | Reconnected

_TYPES = events_of("run")


@dataclass(frozen=True, slots=True)
class SeenRunEvent:
    """One event: as it came (None for what this client says itself) and as it is understood."""

    received: Received | None
    event: RunEvent | None


async def watch_run(client: Client, run_id: RunId) -> AsyncGenerator[SeenRunEvent]:
    """Until the run is over and all of it was told, over connections that break. Raises as
    `feed_client.watch`. Close it (`aclosing`)."""
    async with aclosing(lasting(client, f"/workflow-runs/{run_id}/feed")) as feed:
        async for one in feed:
            if not isinstance(one, Received):
                yield SeenRunEvent(None, one)
                continue
            event = decoded(one)
            yield SeenRunEvent(one, event)
            if isinstance(event, Closing) and event.reason == "over":
                return


def decoded(received: Received) -> RunEvent | None:
    """None: this client does not know what it is."""
    wanted = _TYPES.get(received.name)
    if wanted is None:
        return None
    try:
        return cast(RunEvent, msgspec.json.decode(received.data, type=wanted))
    except msgspec.DecodeError:
        return None
