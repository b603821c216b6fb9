"""How far the token of local programs (`admin.token`) reaches: an admin's work, but nothing that would make
whoever found it an admin for good. Admins are made and changed, tokens with the scope `admin` are made, and
keys of providers are replaced by a person who signed in, or over the socket in the data directory."""

from collections.abc import Sequence

from holdfast.accounts.access import Caller
from holdfast.core.accounts import Role, Scope
from holdfast.core.errors import Forbidden

_INSTEAD = "Sign in as an admin, or use holdfast user, token or provider on the server's own machine."


def check_role(by: Caller, role: Role | None) -> None:
    """Of a user who is changed, made or let in, and the role that one is given."""
    if by.local and role == "admin":
        raise Forbidden(f"The token of local programs can make, change or let in no admin. {_INSTEAD}")


def check_scopes(by: Caller, scopes: Sequence[Scope]) -> None:
    if by.local and "admin" in scopes:
        raise Forbidden(f"The token of local programs can make no token with the scope admin. {_INSTEAD}")


def check_keys(by: Caller) -> None:
    if by.local:
        raise Forbidden(f"The token of local programs cannot replace or remove keys. {_INSTEAD}")
