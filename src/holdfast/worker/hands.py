"""Room of a worker for agents that are made in its own process: they are its own from their first commit, and
nobody has to look for them."""

from collections.abc import Callable
from datetime import timedelta

from holdfast.chats.commands import Acquire
from holdfast.chats.view import View
from holdfast.core.clock import Clock
from holdfast.core.ids import UserId, WorkerId


class Hands:
    """`room` says how many more agents of an owner fit; `start` runs a chat that is ours."""

    def __init__(
        self,
        worker_id: WorkerId,
        lease_seconds: float,
        clock: Clock,
        room: Callable[[UserId], int],
        start: Callable[[View], None],
    ) -> None:
        self.worker_id = worker_id
        self._seconds = lease_seconds
        self._clock = clock
        self._room = room
        self._start = start
        # Claims that are neither used nor given back.
        self._claimed = 0

    def claim(self, owner_id: UserId) -> Acquire | None:
        """What makes a new agent ours, to be committed with its creation; None: there is no room, and it
        waits like others."""
        if self._room(owner_id) <= self._claimed:
            return None
        self._claimed += 1
        expires_at = self._clock.now() + timedelta(seconds=self._seconds)
        return Acquire(worker_id=self.worker_id, expires_at=expires_at)

    def adopt(self, view: View | None) -> None:
        """The end of a claim: the agent as it was committed, or None."""
        self._claimed -= 1
        lease = None if view is None else view.chat.lease
        if view is not None and lease is not None and lease.worker_id == self.worker_id:
            self._start(view)
