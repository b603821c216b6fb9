"""MCP servers as the database holds them."""

from datetime import datetime

from holdfast.core.ids import UserId
from holdfast.core.shapes import Json, Record


class StoredServer(Record, frozen=True, kw_only=True):
    """A server that somebody configured. `config` has all but the name and the secrets; of these there are
    only the names here, and sealed bytes."""

    id: str
    # None: it is for all, and an admin's.
    owner_id: UserId | None
    name: str
    config: Json
    # {"env": [...], "headers": [...]}
    secret_names: Json
    sealed: bytes | None
    created_at: datetime
    updated_at: datetime

    def __repr__(self) -> str:  # pyright: ignore[reportImplicitOverride] - the decorator is younger than 3.11
        """Without the secrets, sealed as they are: configuration ends up in logs."""
        return f"StoredServer(id={self.id!r}, name={self.name!r})"
