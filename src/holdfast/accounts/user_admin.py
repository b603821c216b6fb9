"""What admins do with users, and everybody with their own tokens. Every action is written to the audit log in
its own transaction, and every refusal gives its reason."""

import re
from collections.abc import Sequence
from datetime import UTC, datetime

from holdfast.accounts.access import Access, Caller
from holdfast.accounts.audit_entries import Audit
from holdfast.accounts.local_token import check_role, check_scopes
from holdfast.accounts.sign_in import SignIn
from holdfast.accounts.tokens import hash_of, new_secret
from holdfast.core.accounts import SCOPES, Role, Scope, Token, User
from holdfast.core.clock import Clock, to_micros
from holdfast.core.errors import Forbidden, InvalidInput, NotFound
from holdfast.core.ids import Ids, TokenId, UserId
from holdfast.core.secret import Secret
from holdfast.core.text import one_line
from holdfast.store import idempotency_keys, tokens, users
from holdfast.store.audit import audited
from holdfast.store.interface import OnceOf, Store

# Nothing that a table, a log line or a terminal could misinterpret.
_NAME = re.compile(r"[a-z0-9][a-z0-9._@+-]{0,63}")
_TOKEN_NAME_LIMIT = 100
# A date that can be represented in every time zone.
_LATEST = datetime(9998, 12, 31, tzinfo=UTC)


class People:
    def __init__(self, store: Store, access: Access, clock: Clock, ids: Ids) -> None:
        self._store = store
        self._access = access
        self._clock = clock
        self._ids = ids
        self._audit = Audit(store, clock, ids)
        self._sign_in = SignIn(store, access, clock, ids)

    # --- users: for admins ---

    async def create_user(
        self, by: Caller, name: str, role: Role = "member", *, once: OnceOf[User] | None = None
    ) -> User:
        """Raises WrongState if the name is taken, InvalidInput if it is not a valid name; Repeated if it was
        already done under the key `once`."""
        _need_admin(by)
        check_role(by, role)
        new = User(
            id=UserId(self._new_id()),
            name=checked_name(name),
            role=role,
            suspended_at=None,
            created_at=self._clock.now(),
        )
        entry = self._audit.entry(by, "user.create", f"user:{new.id}", name=new.name, role=role)
        return await idempotency_keys.write(self._store, audited(users.create(new), entry), once)

    async def change_user(
        self,
        by: Caller,
        user_id: UserId,
        *,
        name: str | None = None,
        role: Role | None = None,
        suspended: bool | None = None,
        once: OnceOf[User] | None = None,
    ) -> User:
        """None leaves a field as it is. Raises NotFound, and WrongState for a name that is taken and for the
        last active admin; Repeated."""
        _need_admin(by)
        check_role(by, role)
        if by.local and (there := await self._store.read(users.user(user_id))) is not None:
            check_role(by, there.role)
        name = None if name is None else checked_name(name)
        entry = self._audit.entry(
            by, "user.change", f"user:{user_id}", name=name, role=role, suspended=suspended
        )
        change = users.change(user_id, name=name, role=role, suspended=suspended)
        user = await idempotency_keys.write(self._store, audited(change, entry), once)
        self._access.forget()
        return user

    async def invite_user(self, by: Caller, user_id: UserId, *, once: OnceOf[Token] | None = None) -> Secret:
        """A one-time token that signs this user in, for somebody new or locked out. Raises Repeated."""
        _need_admin(by)
        if (there := await self._store.read(users.user(user_id))) is None:
            raise NotFound("There is no such user.")
        check_role(by, there.role)
        entry = self._audit.entry(by, "user.invite", f"user:{user_id}")
        return await self._sign_in.one_time(user_id, entry, once=once)

    # --- tokens: everybody's own ---

    async def create_token(
        self,
        by: Caller,
        name: str,
        scopes: Sequence[Scope],
        *,
        expires_at: datetime | None = None,
        once: OnceOf[Token] | None = None,
    ) -> tuple[Token, Secret]:
        """An API token for the caller. Raises Forbidden for a caller with a narrow token, or with a session
        made from one: otherwise whoever found one could make others that outlive it; InvalidInput for scopes
        that the caller does not have; Repeated."""
        if by.narrow:
            raise Forbidden("Tokens are made by a person who signed in, or with a token that has all scopes.")
        name = one_line(name, _TOKEN_NAME_LIMIT)
        if not name:
            raise InvalidInput("A token needs a name.", field="name")
        wanted: tuple[Scope, ...] = tuple(scope for scope in SCOPES if scope in scopes)
        if not wanted or len(wanted) != len(set(scopes)):
            raise InvalidInput(f"A token needs scopes, of {', '.join(SCOPES)}.", field="scopes")
        if beyond := [scope for scope in wanted if scope not in by.scopes]:
            raise InvalidInput(
                f"You cannot grant scopes you do not have: {', '.join(beyond)}.", field="scopes"
            )
        check_scopes(by, wanted)
        if expires_at is not None and expires_at <= self._clock.now():
            raise InvalidInput(
                "The token would already have expired: expires_at is in the past.", field="expires_at"
            )
        if expires_at is not None and expires_at > _LATEST:
            raise InvalidInput(
                "expires_at is too far off. Leave it out for a token that does not expire.",
                field="expires_at",
            )
        secret = new_secret()
        token_id = TokenId(self._new_id())
        create = tokens.create(
            token_id,
            by.user.id,
            hash_of(secret.reveal()),
            name=name,
            kind="api",
            scopes=wanted,
            expires_at_micros=None if expires_at is None else to_micros(expires_at),
        )
        entry = self._audit.entry(by, "token.create", f"token:{token_id}", name=name, scopes=" ".join(wanted))
        return await idempotency_keys.write(self._store, audited(create, entry), once), secret

    async def revoke_token(
        self, by: Caller, token_id: TokenId, *, once: OnceOf[Token] | None = None
    ) -> Token:
        """One's own or, as an admin, anybody's. Raises NotFound, and Forbidden for a narrow credential, which
        may only revoke itself; Repeated."""
        if by.narrow and token_id != by.credential_id:
            raise Forbidden("This credential may only revoke itself. Sign in to revoke others.")
        entry = self._audit.entry(by, "token.revoke", f"token:{token_id}")
        revoke = tokens.revoke(token_id, by.user.id, anybodys=by.may("admin"))
        token = await idempotency_keys.write(self._store, audited(revoke, entry), once)
        # All: a session made from this token ends with it.
        self._access.forget()
        return token

    def _new_id(self) -> str:
        return self._ids.uuid7(self._clock.now())


def checked_name(name: str) -> str:
    """A user's name, normalised."""
    name = name.strip().lower()
    if _NAME.fullmatch(name) is None:
        raise InvalidInput(
            "A user's name is 1 to 64 letters (a to z), digits and . _ @ + -, and begins with a letter or a "
            "digit.",
            field="name",
        )
    return name


def _need_admin(by: Caller) -> None:
    if not by.may("admin"):
        raise Forbidden("Only an admin may do this.")
