"""Where the database is, from a URL; and the store that goes with it."""

import re
from pathlib import Path
from typing import Literal
from urllib.parse import unquote

from holdfast.core.clock import Clock
from holdfast.core.errors import BadDatabaseUrl
from holdfast.core.ids import Ids
from holdfast.store import directory
from holdfast.store.directory import FILE_NAME
from holdfast.store.interface import Publish, Store

FORMS = (
    '"sqlite" (a file in the data directory), "sqlite:PATH", "sqlite:///absolute/path" or '
    '"postgresql://user@host/database"'
)
_SCHEME = re.compile(r"([a-z][a-z0-9+.-]{0,20}):", re.IGNORECASE)


async def open_store(
    url: str,
    *,
    data: Path,
    publish: Publish,
    clock: Clock | None = None,
    ids: Ids | None = None,
    mode: Literal["server", "tool"] = "server",
) -> Store:
    """As the server: migrates the schema. As a tool: reads only, and works while a server is running."""
    if is_postgres(url):
        # Imported only where it is used, so that an installation on SQLite does not pay for it.
        from holdfast.store.postgres import open_postgres

        return await open_postgres(url, publish=publish, clock=clock, ids=ids, mode=mode)
    import asyncio

    from holdfast.store.sqlite.open import open_sqlite

    file = sqlite_file(url, data)
    if url == "sqlite" and mode == "server":
        # If a file was given by its path, its directory is the person's own.
        await asyncio.to_thread(directory.secure, file.parent)
    return await asyncio.to_thread(open_sqlite, file, publish=publish, clock=clock, ids=ids, mode=mode)


def is_postgres(url: str) -> bool:
    return url.startswith(("postgresql://", "postgres://"))


def sqlite_file(url: str, data: Path) -> Path:
    """The file of an SQLite URL. Errors do not repeat the URL: it may contain a password."""
    if url == "sqlite":
        return _expanded(data) / FILE_NAME
    if url.startswith("sqlite:"):
        rest = url.removeprefix("sqlite:")
        path = unquote(rest.removeprefix("//")) if rest.startswith("///") else rest
        if path and not path.startswith(("//", ":memory:")) and not path.endswith("/") and "\0" not in path:
            return _expanded(Path(path)).absolute()
        raise BadDatabaseUrl(f"The SQLite database URL names no file. It can be {FORMS}.")
    scheme = _SCHEME.match(url)
    kind = f"of the kind {scheme[1].lower()!r}" if scheme else "without a kind"
    raise BadDatabaseUrl(f"The database URL is {kind}, which Holdfast does not know. It can be {FORMS}.")


def _expanded(path: Path) -> Path:
    try:
        return path.expanduser()
    except RuntimeError:
        raise BadDatabaseUrl(
            f"The home directory in the path {path} is unknown. Write the full path, or set HOME."
        ) from None
