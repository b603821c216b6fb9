"""Whether other replicas are alive: while none is, nothing needs to be sent between processes."""

import asyncio
from contextlib import suppress

from holdfast.core.errors import TryAgain
from holdfast.store.interface import Store
from holdfast.store.workers import living

LOOK_SECONDS = 5.0


class Peers:
    """They are assumed to exist until it is known that they do not."""

    def __init__(self) -> None:
        self._others = True

    def any(self) -> bool:
        return self._others

    async def count(self, store: Store, *, own: int) -> None:
        """Checks repeatedly. `own` is how many of the living workers belong to this process."""
        while True:
            with suppress(TryAgain):
                self._others = await store.read(living()) > own
            await asyncio.sleep(LOOK_SECONDS)
