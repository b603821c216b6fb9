"""Whether other replicas live: while none does, nothing need travel between processes."""

import asyncio
from contextlib import suppress

from holdfast.core.errors import TryAgain
from holdfast.store.interface import Store
from holdfast.store.workers import living

LOOK_SECONDS = 5.0


class Peers:
    """Believed to be there until it is known that they are not."""

    def __init__(self) -> None:
        self._others = True

    def any(self) -> bool:
        return self._others

    async def count(self, store: Store, *, own: int) -> None:
        """Looks again and again. `own` is how many of the living this process is."""
        while True:
            with suppress(TryAgain):
                self._others = await store.read(living()) > own
            await asyncio.sleep(LOOK_SECONDS)
