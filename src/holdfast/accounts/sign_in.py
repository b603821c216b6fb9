"""Signing in. The first start makes the first admin and leaves a token for local programs in the data
directory; one-time tokens become a session once, however many try; sessions last while they are used."""

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
    """A session that has just begun. The secret is for the cookie and is known nowhere else."""

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
        """At every start, before anything is answered: there is an admin, and `<data>/admin.token` holds a
        token that works. The admin it belongs to."""
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
            raise CannotStart("The database has users, but no admin who is not suspended. Restore a backup.")
        file = data / TOKEN_FILE
        there = await asyncio.to_thread(read_private, file)
        caller = None if there is None else await self._access.authenticate(there)
        if there is not None and caller is not None and caller.local and caller.may("admin"):
            self._access.use_local(Secret(there))
            return caller.user
        if caller is not None:
            # Of an earlier version, when this token had no limits.
            await self.sign_out(caller.credential_id)
        secret = new_secret()
        # First known, then shown: who finds the file finds a token that works.
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
        """A token that `exchange` takes once within ten minutes. Raises keys.Repeated."""
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
        """A session for who shows a one-time token, which is then spent, or an API token, with what that one
        may and for as long as it is valid. None: it is neither."""
        # Looking is cheap: who guesses does not keep the writer busy.
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
        """Ends a session; one that has ended stays so."""
        await self._store.write(tokens.end(credential_id))
        self._access.forget((credential_id,))

    def _new_id(self) -> str:
        return self._ids.uuid7(self._clock.now())
