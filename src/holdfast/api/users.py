"""Users and tokens: admins create members, everybody creates their own tokens. A secret is shown once."""

from datetime import datetime
from typing import Annotated, Any

from litestar import Router, delete, get, patch, post
from litestar.params import JSONBody
from msgspec import Meta
from msgspec.structs import asdict

from holdfast.api.bodies import JsonRequest
from holdfast.api.commands import nothing, once_of, shown
from holdfast.api.pages import Cursor, Limit, Page
from holdfast.api.problems import Problem, invalid, not_found
from holdfast.api.services import By, InPath, With, needs
from holdfast.core.accounts import AuditEntry, Role, Scope, Token, User
from holdfast.core.ids import AuditId, TokenId, UserId, is_uuid7
from holdfast.core.shapes import Border, Record
from holdfast.store import audit, tokens, users

UserName = Annotated[str, Meta(min_length=1, max_length=64)]


class CreateUser(Border, frozen=True, kw_only=True):
    name: UserName
    role: Role = "member"


class ChangeUser(Border, frozen=True, kw_only=True):
    name: UserName | None = None
    role: Role | None = None
    suspended: bool | None = None


class UserCreated(Record, frozen=True, kw_only=True):
    """The token signs the new user in once, within ten minutes: append it to `/login#token=`."""

    user: User
    sign_in_token: str


class CreateToken(Border, frozen=True, kw_only=True):
    name: Annotated[str, Meta(min_length=1, max_length=100)]
    scopes: Annotated[tuple[Scope, ...], Meta(min_length=1, max_length=3)] = ("chats:read", "chats:write")
    expires_at: datetime | None = None


class TokenShown(Token, frozen=True, kw_only=True):
    """`current`: this request used it."""

    current: bool


class TokenCreated(Record, frozen=True, kw_only=True):
    """`secret` is shown here and never again."""

    token: Token
    secret: str


@get("/users", guards=[needs("admin")])
async def list_users(services: With, caller: By, limit: Limit = 50, cursor: Cursor = None) -> Page[User]:
    """All users, in order of creation."""
    after = None if cursor is None else UserId(_id("cursor", cursor))
    found = await services.store.read(users.page(after=after, limit=limit + 1))
    return Page(items=found[:limit], next_cursor=found[limit - 1].id if len(found) > limit else None)


@post("/users", guards=[needs("admin")], status_code=201)
async def create_user(
    request: JsonRequest, data: JSONBody[CreateUser], services: With, caller: By
) -> UserCreated:
    """A new user and the token that signs them in for the first time."""
    once = await once_of(caller, request, _shown_once)
    user = await services.people.create_user(caller, data.name, data.role, once=once)
    secret = await services.people.invite_user(caller, user.id)
    return UserCreated(user=user, sign_in_token=secret.reveal())


@get("/users/{user_id:str}")
async def read_user(user_id: InPath, services: With, caller: By) -> User:
    """Oneself, or (admin) anybody."""
    if user_id == caller.user.id:
        return caller.user
    if not caller.may("admin"):
        raise Problem("forbidden", "Only admins see other users.")
    found = await services.store.read(users.user(UserId(user_id))) if is_uuid7(user_id) else None
    if found is None:
        raise not_found("user")
    return found


@patch("/users/{user_id:str}", guards=[needs("admin")])
async def change_user(
    request: JsonRequest, user_id: InPath, data: JSONBody[ChangeUser], services: With, caller: By
) -> User:
    """Rename, promote, demote, suspend. Suspending cuts open feeds within 5 seconds."""
    if not is_uuid7(user_id):
        raise not_found("user")
    return await services.people.change_user(
        caller,
        UserId(user_id),
        name=data.name,
        role=data.role,
        suspended=data.suspended,
        once=await once_of(caller, request, shown),
    )


@post("/users/{user_id:str}/sign-in", guards=[needs("admin")], status_code=201)
async def make_sign_in(request: JsonRequest, user_id: InPath, services: With, caller: By) -> UserCreated:
    """Another one-time sign-in token for a user who is locked out."""
    found = await services.store.read(users.user(UserId(user_id))) if is_uuid7(user_id) else None
    if found is None:
        raise not_found("user")
    once = await once_of(caller, request, _shown_once)
    secret = await services.people.invite_user(caller, found.id, once=once)
    return UserCreated(user=found, sign_in_token=secret.reveal())


@get("/tokens")
async def list_tokens(
    services: With, caller: By, limit: Limit = 50, cursor: Cursor = None
) -> Page[TokenShown]:
    """The caller's own tokens and sessions."""
    after = None if cursor is None else TokenId(_id("cursor", cursor))
    found = await services.store.read(tokens.of_user(caller.user.id, after=after, limit=limit + 1))
    return Page(
        items=tuple(
            TokenShown(**asdict(token), current=token.id == caller.credential_id) for token in found[:limit]
        ),
        next_cursor=found[limit - 1].id if len(found) > limit else None,
    )


@post("/tokens", status_code=201)
async def create_token(
    request: JsonRequest, data: JSONBody[CreateToken], services: With, caller: By
) -> TokenCreated:
    """An API token for a program. It can do no more than the credential that creates it."""
    if data.expires_at is not None and data.expires_at.tzinfo is None:
        raise invalid("expires_at", "a time needs its zone, as in 2030-01-01T00:00:00Z")
    token, secret = await services.people.create_token(
        caller,
        data.name,
        data.scopes,
        expires_at=data.expires_at,
        once=await once_of(caller, request, _shown_once),
    )
    return TokenCreated(token=token, secret=secret.reveal())


@delete("/tokens/{token_id:str}", status_code=204)
async def revoke_token(request: JsonRequest, token_id: InPath, services: With, caller: By) -> None:
    """Revoke a token; feeds opened with it are cut within 5 seconds."""
    if not is_uuid7(token_id):
        raise not_found("token")
    once = await once_of(caller, request, nothing)
    await services.people.revoke_token(caller, TokenId(token_id), once=once)


@get("/audit", guards=[needs("admin")])
async def list_audit(
    services: With, caller: By, limit: Limit = 50, cursor: Cursor = None
) -> Page[AuditEntry]:
    """What admins did and what was denied, newest first."""
    before = None if cursor is None else AuditId(_id("cursor", cursor))
    found = await services.store.read(audit.page(before=before, limit=limit + 1))
    return Page(items=found[:limit], next_cursor=found[limit - 1].id if len(found) > limit else None)


def _shown_once(_: Any) -> tuple[int, object]:
    """What is stored under the key of a request whose answer contains a secret: not the secret."""
    problem = Problem(
        "shown_once",
        "This was already done under this key, and the secret in its answer is not kept. If it "
        "did not reach you, create another one under another key.",
    )
    return problem.status, problem.body


def _id(field: str, value: str) -> str:
    if not is_uuid7(value):
        raise invalid(field, "not a cursor of this list")
    return value


router = Router(
    "/",
    route_handlers=[
        list_users,
        create_user,
        read_user,
        change_user,
        make_sign_in,
        list_tokens,
        create_token,
        revoke_token,
        list_audit,
    ],
    tags=["users"],
)
