"""Users. There is always an active admin: a write that would remove the last one is undone."""

from collections.abc import Sequence
from typing import Literal

from holdfast.core.accounts import Role, User
from holdfast.core.clock import from_micros
from holdfast.core.errors import NotFound, WrongState
from holdfast.core.ids import UserId
from holdfast.store.columns import Written, columns, listed, micros, moment, placeholders
from holdfast.store.query import Query, Row, Rows, at_most_one, each, query

USER = columns("id name role suspended_at created_at")

ONE = f"SELECT {listed(USER)} FROM users WHERE id = $1"
NAMED = f"SELECT {listed(USER)} FROM users WHERE name = $1"
PAGE = f"SELECT {listed(USER)} FROM users WHERE id > $1 ORDER BY id LIMIT $2"
FIRST_ADMIN = (
    f"SELECT {listed(USER)} FROM users WHERE role = 'admin' AND suspended_at IS NULL ORDER BY id LIMIT 1"
)
INSERT = f"INSERT INTO users ({listed(USER)}) VALUES ({placeholders(len(USER))}) ON CONFLICT DO NOTHING"
INSERT_FIRST = (
    f"INSERT INTO users ({listed(USER)}) SELECT {placeholders(len(USER))} "
    "WHERE NOT EXISTS (SELECT 1 FROM users) ON CONFLICT DO NOTHING"
)
TAKEN = "SELECT 1 FROM users WHERE name = $1 AND id <> $2"
UPDATE = (
    "UPDATE users SET name = coalesce($2, name), role = coalesce($3, role), suspended_at = "
    "CASE CAST($4 AS text) WHEN 'yes' THEN coalesce(suspended_at, now_micros()) WHEN 'no' THEN NULL "
    "ELSE suspended_at END "
    "WHERE id = $1 AND NOT EXISTS (SELECT 1 FROM users o WHERE o.name = $2 AND o.id <> $1) "
    f"RETURNING {listed(USER)}"
)
ACTIVE_ADMINS = "SELECT count(*) FROM users WHERE role = 'admin' AND suspended_at IS NULL"

_NOBODY = UserId("00000000-0000-0000-0000-000000000000")


def user(user_id: UserId) -> Query[User | None]:
    return query(ONE, user_id, read=at_most_one(user_of))


def named(name: str) -> Query[User | None]:
    return query(NAMED, name, read=at_most_one(user_of))


def page(*, after: UserId | None = None, limit: int = 50) -> Query[tuple[User, ...]]:
    """In order of creation."""
    return query(PAGE, after or _NOBODY, limit, read=each(user_of))


def first_admin() -> Query[User | None]:
    """The oldest admin who is not suspended."""
    return query(FIRST_ADMIN, read=at_most_one(user_of))


def create(new: User) -> Query[User]:
    """Raises WrongState if the name is taken."""

    def read(results: Sequence[Rows]) -> User:
        if not results[1]:
            raise WrongState(f"There is already a user named {new.name}.")
        return user_of(results[1][0])

    return Query(((INSERT, _written(new)), (ONE, (new.id,))), read)


def create_first(new: User) -> Query[User | None]:
    """Only if there is no user at all. Returns the one created now, or earlier by the same write."""
    return Query(
        ((INSERT_FIRST, _written(new)), (ONE, (new.id,))), lambda results: at_most_one(user_of)(results[1])
    )


def change(
    user_id: UserId, *, name: str | None = None, role: Role | None = None, suspended: bool | None = None
) -> Query[User]:
    """None leaves a field as it is. Raises NotFound, and WrongState if the name is taken or no active admin
    would be left."""
    suspend: Literal["yes", "no"] | None = None if suspended is None else ("yes" if suspended else "no")

    def read(results: Sequence[Rows]) -> User:
        changed, taken, [(admins,)] = results
        if taken:
            raise WrongState(f"There is already a user named {name}.")
        if not changed:
            raise NotFound("There is no such user.")
        if not admins:
            raise WrongState("This is the last active admin. Make somebody else an admin first.")
        return user_of(changed[0])

    return Query(
        ((UPDATE, (user_id, name, role, suspend)), (TAKEN, (name, user_id)), (ACTIVE_ADMINS, ())), read
    )


def user_of(row: Row) -> User:
    user_id, name, role, suspended_at, created_at = row
    return User(
        id=user_id,
        name=name,
        role=role,
        suspended_at=moment(suspended_at),
        created_at=from_micros(created_at),
    )


def _written(user: User) -> Written:
    return (user.id, user.name, user.role, micros(user.suspended_at), micros(user.created_at))
