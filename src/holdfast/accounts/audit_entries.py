"""Writing the audit log: who, what, when, to what. Never a secret: the details of an action are chosen where
it is done, in a few words."""

from msgspec.structs import replace

from holdfast.accounts.access import Caller
from holdfast.core.accounts import AuditEntry
from holdfast.core.clock import Clock
from holdfast.core.ids import AuditId, Ids
from holdfast.core.shapes import Json
from holdfast.core.text import one_line
from holdfast.store import audit
from holdfast.store.interface import Store

_DETAIL_LIMIT = 200


class Audit:
    def __init__(self, store: Store, clock: Clock, ids: Ids) -> None:
        self._store = store
        self._clock = clock
        self._ids = ids

    def entry(self, by: Caller | None, action: str, target: str | None = None, **detail: Json) -> AuditEntry:
        """To be written with the action itself: see `store.audit.audited`. `by` None: the server itself."""
        now = self._clock.now()
        return AuditEntry(
            id=AuditId(self._ids.uuid7(now)),
            at=now,
            user_id=None if by is None else by.user.id,
            action=action,
            target=target,
            outcome="done",
            detail={name: _short(value) for name, value in detail.items() if value is not None},
        )

    async def done(self, by: Caller | None, action: str, target: str | None = None, **detail: Json) -> None:
        """For an action that is not itself a write."""
        await self._store.write(audit.add(self.entry(by, action, target, **detail)))

    async def denied(self, by: Caller | None, action: str, target: str | None = None, **detail: Json) -> None:
        """For something that was refused."""
        entry = self.entry(by, action, target, **detail)
        await self._store.write(audit.add(replace(entry, outcome="denied")))


def _short(value: Json) -> Json:
    return one_line(value, _DETAIL_LIMIT) if isinstance(value, str) else value
