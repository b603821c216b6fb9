"""Writes refused actions to the audit log, at a limited rate so that nobody can fill it."""

from collections import deque

import structlog

from holdfast.accounts.access import Caller
from holdfast.accounts.audit_entries import Audit
from holdfast.core.clock import Clock
from holdfast.core.errors import TryAgain

log = structlog.get_logger(__name__)

WINDOW_SECONDS = 60.0
PER_WINDOW = 100


class Denials:
    def __init__(self, audit: Audit, clock: Clock) -> None:
        self._audit = audit
        self._clock = clock
        self._noted: deque[float] = deque()

    async def note(self, caller: Caller, action: str) -> None:
        now = self._clock.elapsed()
        while self._noted and self._noted[0] <= now - WINDOW_SECONDS:
            self._noted.popleft()
        if len(self._noted) >= PER_WINDOW:
            return
        self._noted.append(now)
        try:
            await self._audit.denied(caller, action[:200])
        except TryAgain as error:
            log.warning("denial not audited", action=action[:200], reason=error.text)
