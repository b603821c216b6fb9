"""Who is calling, and what they may do. A credential is cached for two seconds, so that one that was revoked,
or whose user was suspended or demoted, stops working within five."""

from collections.abc import Collection, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal

from holdfast.accounts.tokens import hash_of, is_secret
from holdfast.core.accounts import SCOPES, Role, Scope, Token, User
from holdfast.core.clock import Clock
from holdfast.core.errors import TryAgain
from holdfast.core.ids import TokenId
from holdfast.core.secret import Secret
from holdfast.store import tokens
from holdfast.store.interface import Store
from holdfast.store.tokens import Credential

BELIEVED_SECONDS = 2.0
# How many credentials are remembered at most; beyond that, all are looked up again.
REMEMBERED = 10_000


@dataclass(frozen=True, slots=True)
class Caller:
    """Somebody who presented a valid credential."""

    user: User
    scopes: frozenset[Scope]
    credential_id: TokenId
    # token: a program's.  session: a person's browser.
    kind: Literal["token", "session"]
    # When the credential expires; None: never. A session's expiry moves on while it is used.
    expires_at: datetime | None = None
    # It has fewer than all scopes, or was made from such a token: it cannot create or revoke credentials.
    narrow: bool = False
    # It is the token for local programs, or a session made from it. It may do less than an admin: see
    # `reach`.
    local: bool = False

    def may(self, scope: Scope) -> bool:
        return scope in self.scopes

    @property
    def may_approve(self) -> bool:
        """Approvals are a person's: given in a session, or through a token that a person allowed to write."""
        return "chats:write" in self.scopes


def scopes_of(role: Role, token: Token) -> frozenset[Scope]:
    """The scopes of a credential for somebody with this role: a member never has `admin`."""
    granted = frozenset(token.scopes)
    return granted if role == "admin" else granted - {"admin"}


def caller_of(credential: Credential) -> Caller:
    token, user = credential.token, credential.user
    return Caller(
        user=user,
        scopes=scopes_of(user.role, token),
        credential_id=token.id,
        kind="session" if token.kind == "session" else "token",
        expires_at=token.expires_at,
        narrow=set(token.scopes) != set(SCOPES),
        local=credential.local,
    )


@dataclass(frozen=True, slots=True)
class _Known:
    caller: Caller
    # By a clock that counts time spent suspended: after a laptop slept everything is looked up again.
    until: float


class Access:
    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._known: dict[bytes, _Known] = {}
        # The token that this server left for local programs.
        self._local_secret: Secret | None = None

    def use_local(self, secret: Secret) -> None:
        self._local_secret = secret

    async def over_socket(self, secret: str | None) -> Caller | None:
        """A caller on the socket in the data directory: only the owner of that directory can connect. Without
        another credential that is the admin of local programs, with all of an admin's permissions."""
        if secret is None and self._local_secret is not None:
            secret = self._local_secret.reveal()
        caller = None if secret is None else await self.authenticate(secret)
        return replace(caller, local=False) if caller is not None and caller.local else caller

    async def authenticate(self, secret: str) -> Caller | None:
        """The user of this credential: an API token or a session that is neither revoked nor expired, of a
        user who is not suspended. None: nobody's. One-time tokens are only valid for `SignIn.exchange`."""
        if not is_secret(secret):
            return None
        hashed = hash_of(secret)
        asked_at = self._clock.elapsed()
        known = self._known.get(hashed)
        if known is not None and asked_at < known.until:
            return known.caller
        credential = await self._store.read(tokens.credential(hashed))
        if credential is None:
            self._known.pop(hashed, None)
            return None
        if credential.untouched:
            # Its use is recorded for people's information; the request does not fail for it.
            with suppress(TryAgain):
                await self._store.write(tokens.touch(credential.token.id))
        caller = caller_of(credential)
        if len(self._known) >= REMEMBERED:
            self._known.clear()
        # Counted from before the query: the answer may have taken long.
        self._known[hashed] = _Known(caller, asked_at + BELIEVED_SECONDS)
        return caller

    async def still(self, callers: Iterable[Caller]) -> set[TokenId]:
        """The credentials of these callers that are still valid with the same permissions, by one query,
        without the cache. For feeds, which check every two seconds."""
        asked = {caller.credential_id: caller for caller in callers}
        if not asked:
            return set()
        found = await self._store.read(tokens.valid(tuple(asked)))
        return {
            credential.token.id
            for credential in found
            if _worth_as_much(asked[credential.token.id], caller_of(credential))
        }

    def forget(self, credential_ids: Collection[TokenId] | None = None) -> None:
        """Forgets these (None: all), here at once; other processes follow within two seconds."""
        self._known = {
            hashed: known
            for hashed, known in self._known.items()
            if credential_ids is not None and known.caller.credential_id not in credential_ids
        }


def _worth_as_much(before: Caller, now: Caller) -> bool:
    return before.scopes <= now.scopes
