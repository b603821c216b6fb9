"""Signing in. The first start creates the first admin and leaves a token for local programs in the data
directory. A one-time token becomes a session once, however many try; sessions last while they are used."""

import asyncio
from dataclasses import dataclass
from pathlib import Path

from holdfast.accounts.access import Access
from holdfast.accounts.private_files import read_private, replace_private
from holdfast.accounts.tokens import hash_of, is_secret, new_secret
from holdfast.core.accounts import SCOPES, AuditEntry, Token, User
from holdfast.core.clock import Clock
from holdfast.core.errors import CannotStart
from holdfast.core.ids import Ids, TokenId, UserId
from holdfast.core.secret import Secret
from holdfast.core.text import one_line
from holdfast.store import idempotency_keys, tokens, users
from holdfast.store.audit import audited
from holdfast.store.interface import OnceOf, Store
from holdfast.store.tokens import SECOND

FIRST_ADMIN = "admin"
TOKEN_FILE = "admin.token"  # noqa: S105 - a name
ONE_TIME_SECONDS = 600
NAME_LIMIT = 100


@dataclass(frozen=True, slots=True)
class NewSession:
    """A new session. The secret is for the cookie and is stored nowhere else."""

    user: User
    token: Token
    secret: Secret


class SignIn:
    def __init__(self, store: Store, access: Access, clock: Clock, ids: Ids) -> None:
        self._store = store
        self._access = access
        self._clock = clock
        self._ids = ids

    async def prepare(self, data: Path) -> User:
        """Called at every start, before anything is served: ensures that there is an admin and that
        `<data>/admin.token` contains a valid token. Returns the admin it belongs to."""
        first = User(
            id=UserId(self._new_id()),
            name=FIRST_ADMIN,
            role="admin",
            suspended_at=None,
            created_at=self._clock.now(),
        )
        admin = await self._store.write(users.create_first(first)) or await self._store.read(
            users.first_admin()
        )
        if admin is None:
            raise CannotStart("The database has users, but no active admin. Restore a backup.")
        file = data / TOKEN_FILE
        there = await asyncio.to_thread(read_private, file)
        caller = None if there is None else await self._access.authenticate(there)
        if there is not None and caller is not None and caller.local and caller.may("admin"):
            self._access.use_local(Secret(there))
            return caller.user
        if caller is not None:
            # Written by an earlier version, when this token had no limits.
            await self.sign_out(caller.credential_id)
        secret = new_secret()
        # Stored first, written second: a token that is found in the file always works.
        await self._store.write(
            tokens.create(
                TokenId(self._new_id()),
                admin.id,
                hash_of(secret.reveal()),
                name=f"local programs ({TOKEN_FILE})",
                kind="local",
                scopes=SCOPES,
            )
        )
        await asyncio.to_thread(replace_private, file, secret.reveal())
        self._access.use_local(secret)
        return admin

    async def one_time(
        self, user_id: UserId, entry: AuditEntry | None = None, *, once: OnceOf[Token] | None = None
    ) -> Secret:
        """A token that `exchange` accepts once within ten minutes. Raises idempotency_keys.Repeated."""
        secret = new_secret()
        create = tokens.create(
            TokenId(self._new_id()),
            user_id,
            hash_of(secret.reveal()),
            name="sign-in",
            kind="one_time",
            scopes=SCOPES,
            lasts_micros=ONE_TIME_SECONDS * SECOND,
        )
        await idempotency_keys.write(self._store, create if entry is None else audited(create, entry), once)
        return secret

    async def exchange(
        self, secret: str, name: str = "browser", *, address: str | None = None
    ) -> NewSession | None:
        """A session for a one-time token, which is then spent, or for an API token, with its scopes and its
        expiry. None: it is neither."""
        # Reading is cheap: guessing does not keep the writer busy.
        if not is_secret(secret) or not await self._store.read(tokens.is_exchangeable(hash_of(secret))):
            return None
        mine = new_secret()
        made = await self._store.write(
            tokens.exchange(
                hash_of(secret),
                TokenId(self._new_id()),
                hash_of(mine.reveal()),
                one_line(name, NAME_LIMIT) or "browser",
                address,
            )
        )
        return None if made is None else NewSession(made.user, made.token, mine)

    async def sign_out(self, credential_id: TokenId) -> None:
        """Ends a session; ending it again changes nothing."""
        await self._store.write(tokens.end(credential_id))
        self._access.forget((credential_id,))

    def _new_id(self) -> str:
        return self._ids.uuid7(self._clock.now())
