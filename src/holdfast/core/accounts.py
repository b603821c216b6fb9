"""People, their permissions, and what is stored for them besides chats. No record here holds a secret in the
clear: a token has only its permissions, a provider only the sealed form of its key."""

from datetime import datetime
from typing import Literal

from holdfast.core.chats import Writes
from holdfast.core.ids import AuditId, NamedAgentId, TokenId, UserId, WorkspaceId
from holdfast.core.shapes import Json, Record

Role = Literal["admin", "member"]
# api: made by a person for a program.  one_time: exchanged once for a session.  session: a browser's. local:
# the server's own, in a file in its data directory, for programs on the same machine.
TokenKind = Literal["api", "one_time", "session", "local"]
Scope = Literal["chats:read", "chats:write", "admin"]
SCOPES: tuple[Scope, ...] = ("chats:read", "chats:write", "admin")


class User(Record, frozen=True, kw_only=True):
    id: UserId
    name: str
    role: Role
    suspended_at: datetime | None
    created_at: datetime


class Token(Record, frozen=True, kw_only=True):
    id: TokenId
    user_id: UserId
    name: str
    kind: TokenKind
    scopes: tuple[Scope, ...]
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    last_used_at: datetime | None
    # Where the session was started; null for tokens of programs.
    address: str | None = None


class NamedAgent(Record, frozen=True, kw_only=True):
    """Instructions, model and tools under a name; a chat may be started as one. A published agent may be used
    by everybody, but changed only by its owner."""

    id: NamedAgentId
    owner_id: UserId
    name: str
    description: str
    instructions: str
    model: str | None
    effort: str | None
    # The tools it may use; None means all.
    tools: tuple[str, ...] | None
    published: bool
    created_at: datetime
    updated_at: datetime
    # What chats that are started as it begin with; None: the server's choice.
    mode: str | None = None
    writes: Writes | None = None
    # Only for an agent described by a file in a workspace: the workspace it applies to, and the content that
    # was trusted.
    workspace_id: WorkspaceId | None = None
    path: str | None = None
    digest: str | None = None


class StoredProvider(Record, frozen=True, kw_only=True):
    """A provider as an admin configured it. `config` holds everything but the name and the key."""

    name: str
    config: Json
    sealed_key: bytes | None
    created_at: datetime
    updated_at: datetime

    def __repr__(self) -> str:  # pyright: ignore[reportImplicitOverride] - the decorator is younger than 3.11
        """Omits even the sealed key: configuration ends up in logs."""
        return f"StoredProvider(name={self.name!r}, has_key={self.sealed_key is not None})"


class StoredModel(Record, frozen=True, kw_only=True):
    """A model as an admin configured it. `config` holds everything but the name."""

    name: str
    config: Json
    created_at: datetime
    updated_at: datetime


class AuditEntry(Record, frozen=True, kw_only=True):
    """An action worth auditing, or an attempt that was refused. `user_id` is None for the server itself and
    for callers who could not be identified."""

    id: AuditId
    at: datetime
    user_id: UserId | None
    action: str
    # The object of the action, as "kind:id".
    target: str | None
    outcome: Literal["done", "denied"]
    detail: Json
