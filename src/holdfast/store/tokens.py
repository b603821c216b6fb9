"""Tokens: permissions for whoever knows a secret, found by the secret's hash. Validity is judged by the
database's clock, so that all replicas agree."""

from collections.abc import Sequence
from dataclasses import dataclass

from holdfast.core.accounts import Scope, Token, TokenKind, User
from holdfast.core.clock import from_micros
from holdfast.core.errors import NotFound
from holdfast.core.ids import TokenId, UserId
from holdfast.store.columns import columns, listed, moment, placeholders
from holdfast.store.query import Query, Row, Rows, Value, any_row, at_most_one, each, query
from holdfast.store.users import USER, user_of

SECOND = 1_000_000
SESSION_MICROS = 30 * 24 * 3600 * SECOND
# How often a token's use is recorded; a session is extended then.
TOUCH_MICROS = 60 * SECOND
# How long used and expired one-time tokens and sessions are kept, so that they can be listed.
KEPT_MICROS = 24 * 3600 * SECOND

TOKEN = columns("id user_id name kind scopes created_at expires_at revoked_at last_used_at address")
_STORED = (*TOKEN, "hash")

_UNEXPIRED = (
    "t.revoked_at IS NULL AND (t.expires_at IS NULL OR t.expires_at > now_micros()) "
    "AND u.suspended_at IS NULL"
)
_VALID = (
    f"t.kind <> 'one_time' AND {_UNEXPIRED} AND NOT EXISTS (SELECT 1 FROM tokens p "
    "WHERE p.id = t.made_from AND p.kind IN ('api', 'local') "
    "AND (p.revoked_at IS NOT NULL OR p.expires_at <= now_micros()))"
)
_CREDENTIAL = (
    f"SELECT {listed(TOKEN, 't')}, {listed(USER, 'u')}, "
    f"t.last_used_at IS NULL OR t.last_used_at <= now_micros() - {TOUCH_MICROS}, "
    "t.kind = 'local' OR EXISTS (SELECT 1 FROM tokens p WHERE p.id = t.made_from AND p.kind = 'local') "
    "FROM tokens t JOIN users u ON u.id = t.user_id"
)
CREDENTIAL = f"{_CREDENTIAL} WHERE t.hash = $1 AND {_VALID}"
# %s is replaced by the ids.
CREDENTIALS = f"{_CREDENTIAL} WHERE t.id IN (%s) AND {_VALID}"

ONE = f"SELECT {listed(TOKEN)} FROM tokens WHERE id = $1"
OF_USER = (
    f"SELECT {listed(TOKEN)} FROM tokens WHERE user_id = $1 AND kind <> 'one_time' AND id > $2 "
    "ORDER BY id LIMIT $3"
)
INSERT = f"INSERT INTO tokens ({listed(_STORED)}) VALUES (%s) ON CONFLICT (id) DO NOTHING"
TOUCH = (
    "UPDATE tokens SET last_used_at = now_micros(), expires_at = "
    f"CASE kind WHEN 'session' THEN now_micros() + {SESSION_MICROS} ELSE expires_at END "
    "WHERE id = $1 AND revoked_at IS NULL"
)
END = "UPDATE tokens SET revoked_at = coalesce(revoked_at, now_micros()) WHERE id = $1"
REVOKE = f"{END} AND (user_id = $2 OR CAST($3 AS text) = 'anybody') RETURNING {listed(TOKEN)}"
# The first caller gets it. A repetition of the same exchange finds the token spent and the session there.
EXCHANGE = (
    f"INSERT INTO tokens ({listed(_STORED)}, made_from) "
    "SELECT $2, t.user_id, $3, 'session', t.scopes, now_micros(), "
    f"now_micros() + {SESSION_MICROS}, NULL, now_micros(), $5, $4, t.id "
    "FROM tokens t JOIN users u ON u.id = t.user_id "
    f"WHERE t.hash = $1 AND t.kind <> 'session' AND {_UNEXPIRED} ON CONFLICT (id) DO NOTHING"
)
EXCHANGEABLE = (
    "SELECT 1 FROM tokens t JOIN users u ON u.id = t.user_id "
    f"WHERE t.hash = $1 AND t.kind <> 'session' AND {_UNEXPIRED}"
)
SPEND = (
    "UPDATE tokens SET revoked_at = now_micros(), last_used_at = now_micros() "
    "WHERE hash = $1 AND kind = 'one_time' AND revoked_at IS NULL"
)
DISCARD = f"DELETE FROM tokens WHERE kind <> 'api' AND expires_at <= now_micros() - {KEPT_MICROS}"

_NOTHING = TokenId("00000000-0000-0000-0000-000000000000")
# Ids per statement.
_MANY = 1024


@dataclass(frozen=True, slots=True)
class Credential:
    """A valid token and its user. `untouched`: its use has not been recorded for a while. `local`: it is the
    token for local programs, or a session made from it."""

    token: Token
    user: User
    untouched: bool
    local: bool


def credential(hashed: bytes) -> Query[Credential | None]:
    return query(CREDENTIAL, hashed, read=at_most_one(_credential_of))


def valid(token_ids: Sequence[TokenId]) -> Query[tuple[Credential, ...]]:
    """Those that are valid now."""
    chunks = [token_ids[at : at + _MANY] for at in range(0, len(token_ids), _MANY)]
    return Query(
        tuple(_in(chunk) for chunk in chunks),
        lambda results: tuple(_credential_of(row) for rows in results for row in rows),
    )


def _in(token_ids: Sequence[TokenId]) -> tuple[str, tuple[Value, ...]]:
    """Padded to a power of two with the last id, so that there are few different statements to prepare."""
    width = 1 << (len(token_ids) - 1).bit_length()
    filled = (*token_ids, *[token_ids[-1]] * (width - len(token_ids)))
    return CREDENTIALS % placeholders(width), filled


def token(token_id: TokenId) -> Query[Token | None]:
    return query(ONE, token_id, read=at_most_one(token_of))


def of_user(user_id: UserId, *, after: TokenId | None = None, limit: int = 50) -> Query[tuple[Token, ...]]:
    """API tokens and sessions, including revoked ones, in order of creation."""
    return query(OF_USER, user_id, after or _NOTHING, limit, read=each(token_of))


def create(
    token_id: TokenId,
    user_id: UserId,
    hashed: bytes,
    *,
    name: str,
    kind: TokenKind,
    scopes: Sequence[Scope] = (),
    expires_at_micros: int | None = None,
    lasts_micros: int | None = None,
) -> Query[Token]:
    """Expires at a given time, or after a duration by the database's clock, or never."""
    expires = "$6" if lasts_micros is None else "now_micros() + $6"
    sql = INSERT % f"$1, $2, $3, $4, $5, now_micros(), {expires}, NULL, NULL, NULL, $7"
    until = expires_at_micros if lasts_micros is None else lasts_micros
    args = (token_id, user_id, name, kind, " ".join(scopes), until, hashed)
    return Query(((sql, args), (ONE, (token_id,))), lambda results: token_of(results[1][0]))


def touch(token_id: TokenId) -> Query[None]:
    """Records that it is in use; a session is extended by another 30 days."""
    return query(TOUCH, token_id, read=lambda _: None)


def end(token_id: TokenId) -> Query[None]:
    """Revokes it, if it exists."""
    return query(END, token_id, read=lambda _: None)


def revoke(token_id: TokenId, by: UserId, *, anybodys: bool = False) -> Query[Token]:
    """One's own, or anybody's. Raises NotFound."""

    def read(rows: Rows) -> Token:
        if not rows:
            raise NotFound("There is no such token.")
        return token_of(rows[0])

    return query(REVOKE, token_id, by, "anybody" if anybodys else "own", read=read)


def is_exchangeable(hashed: bytes) -> Query[bool]:
    """Whether `exchange` would accept it now."""
    return query(EXCHANGEABLE, hashed, read=any_row)


def exchange(
    hashed: bytes, session_id: TokenId, session_hash: bytes, name: str, address: str | None = None
) -> Query[Credential | None]:
    """A session for a one-time token, which is spent by it, or for an API token, with the same scopes. None:
    it is neither, or somebody else was first."""
    return Query(
        (
            (EXCHANGE, (hashed, session_id, name, session_hash, address)),
            (SPEND, (hashed,)),
            (CREDENTIAL, (session_hash,)),
        ),
        lambda results: at_most_one(_credential_of)(results[2]),
    )


def token_of(row: Row) -> Token:
    token_id, user_id, name, kind, scopes, created_at, expires_at, revoked_at, last_used_at, address = row
    return Token(
        id=token_id,
        user_id=user_id,
        name=name,
        kind=kind,
        scopes=tuple(scopes.split()),
        created_at=from_micros(created_at),
        expires_at=moment(expires_at),
        revoked_at=moment(revoked_at),
        last_used_at=moment(last_used_at),
        address=address,
    )


def _credential_of(row: Row) -> Credential:
    at = len(TOKEN)
    after = at + len(USER)
    return Credential(
        token_of(row[:at]), user_of(row[at:after]), untouched=bool(row[after]), local=bool(row[after + 1])
    )
