"""The accounts of one store: people, credentials and a vault, with a data directory of their own."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from holdfast.accounts.access import Access, Caller
from holdfast.accounts.sign_in import SignIn
from holdfast.accounts.stored_providers import Stored
from holdfast.accounts.user_admin import People
from holdfast.accounts.vault import Vault
from holdfast.core.accounts import SCOPES, AuditEntry, Role, Scope, User
from holdfast.core.ids import RandomIds
from holdfast.core.secret import Secret
from holdfast.store import audit
from holdfast.store.interface import Store
from tests.store.world import SetClock


@dataclass
class House:
    store: Store
    clock: SetClock
    data: Path
    ids: RandomIds = field(default_factory=RandomIds)

    @cached_property
    def access(self) -> Access:
        return Access(self.store, self.clock)

    @cached_property
    def sign_in(self) -> SignIn:
        return SignIn(self.store, self.access, self.clock, self.ids)

    @cached_property
    def people(self) -> People:
        return People(self.store, self.access, self.clock, self.ids)

    @cached_property
    def vault(self) -> Vault:
        return Vault.open(self.data, None)

    @cached_property
    def stored(self) -> Stored:
        return Stored(self.store, self.vault, self.clock, self.ids)

    async def admin(self) -> Caller:
        """The first admin, by the socket of the data directory."""
        await self.sign_in.prepare(self.data)
        caller = await self.access.over_socket(None)
        assert caller is not None
        return caller

    async def person(self, name: str, role: Role = "member") -> Caller:
        """Signed in, in a browser."""
        user = await self.people.create_user(await self.admin(), name, role)
        return (await self.signed_in(user))[0]

    async def signed_in(self, user: User) -> tuple[Caller, Secret]:
        once = await self.sign_in.one_time(user.id)
        session = await self.sign_in.exchange(once.reveal())
        assert session is not None
        caller = await self.access.authenticate(session.secret.reveal())
        assert caller is not None
        return caller, session.secret

    async def token(self, by: Caller, scopes: Sequence[Scope] = SCOPES[:2]) -> tuple[Caller, Secret]:
        _, secret = await self.people.create_token(by, "program", scopes)
        caller = await self.access.authenticate(secret.reveal())
        assert caller is not None
        return caller, secret

    async def entries(self) -> dict[str, AuditEntry]:
        """What was written down, by action: the clock stands still, so there is no order."""
        return {entry.action: entry for entry in await self.store.read(audit.page(limit=200))}
