"""What the token for local programs (`admin.token`) may do: an admin's work, but nothing that would make
whoever found it an admin for good. Creating and changing admins, creating tokens with the scope `admin` and
replacing provider keys need a person who signed in, or the socket in the data directory."""

from collections.abc import Sequence

from holdfast.accounts.access import Caller
from holdfast.core.accounts import Role, Scope
from holdfast.core.errors import Forbidden

_INSTEAD = "Sign in as an admin, or use holdfast user, token or provider on the server's own machine."


def check_role(by: Caller, role: Role | None) -> None:
    """For a user who is changed, created or signed in, and the role they are given."""
    if by.local and role == "admin":
        raise Forbidden(f"The token for local programs cannot create, change or sign in admins. {_INSTEAD}")


def check_scopes(by: Caller, scopes: Sequence[Scope]) -> None:
    if by.local and "admin" in scopes:
        raise Forbidden(f"The token for local programs cannot create tokens with the scope admin. {_INSTEAD}")


def check_keys(by: Caller) -> None:
    if by.local:
        raise Forbidden(f"The token for local programs cannot replace or remove keys. {_INSTEAD}")
