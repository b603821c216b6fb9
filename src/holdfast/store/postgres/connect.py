"""Making connections, and the errors when that fails. No text here ever contains a password.

A connection needs its own session: pgbouncer works in session mode, but not in transaction or statement mode
(prepared statements, settings and locks would be lost between statements).
"""

import socket
from dataclasses import dataclass
from typing import Literal
from urllib.parse import unquote, urlsplit

import asyncpg

from holdfast.core.errors import BadDatabaseUrl, CannotStart, DatabaseUnreachable
from holdfast.store.postgres.errors import ANY
from holdfast.store.postgres.pool import Connection

CONNECT_SECONDS = 5.0
OLDEST_SERVER = 14
FORM = "postgresql://user:password@host:5432/database"

# A process that goes silent in the middle of a transaction loses its locks before even the shortest lease can
# expire: otherwise it would delay a takeover. Set after connecting, not in the first packet: pgbouncer
# refuses settings there that it does not know.
_ALWAYS = (
    "SET default_transaction_isolation = 'read committed'; SET client_min_messages = warning; SET jit = off; "
    "SET idle_in_transaction_session_timeout = '3s'; SET lock_timeout = '5s'; SET statement_timeout = '10s'; "
    # A machine that is gone without a word, or a way to it that is broken, is noticed within 10 s, and what
    # its session holds is free. A process that is only frozen still answers: its kernel does.
    "SET tcp_keepalives_idle = 4; SET tcp_keepalives_interval = 2; SET tcp_keepalives_count = 3"
)
# Writes always look rows up by id. One generic plan for all batch sizes saves planning each one.
_WRITING = "SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off"
# Losing power must not lose what was acknowledged, whatever the server's default is.
_DURABLE = (
    "SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'"
)
# These may take long. If we die meanwhile the server should notice at once, instead of working for nobody
# while others wait for its locks. Only where its operating system can tell.
_UNLIMITED = (
    "SET statement_timeout = 0; SET lock_timeout = '60s'; SET idle_in_transaction_session_timeout = 0; "
    "SELECT set_config('client_connection_check_interval', '1s', false) WHERE version() LIKE '%linux%'"
)

Purpose = Literal["reading", "writing", "upkeep"]


@dataclass(frozen=True, slots=True, repr=False)
class DatabaseAddress:
    """A parsed database URL."""

    url: str

    @classmethod
    def of(cls, url: str) -> "DatabaseAddress":
        try:
            parts = urlsplit(url)
            _ = parts.port
        except ValueError:
            raise BadDatabaseUrl(f"The database URL cannot be parsed. Its form is {FORM}.") from None
        if parts.scheme not in ("postgresql", "postgres"):
            raise BadDatabaseUrl(f"The database URL is not a PostgreSQL URL. Its form is {FORM}.")
        if not parts.path.strip("/"):
            raise BadDatabaseUrl(f"The database URL names no database. Its form is {FORM}.")
        return cls(url)

    @property
    def database(self) -> str:
        return unquote(urlsplit(self.url).path.strip("/"))

    @property
    def shown(self) -> str:
        """The address, for people."""
        parts = urlsplit(self.url)
        return f"{parts.hostname}:{parts.port or 5432}" if parts.hostname else "the local socket"

    async def connect(self, purpose: Purpose) -> Connection:
        connection: Connection = await asyncpg.connect(
            self.url,
            timeout=CONNECT_SECONDS,
            # The statements that write are long, few and always the same.
            statement_cache_size=200,
            max_cached_statement_lifetime=0,
            max_cacheable_statement_size=0,
            server_settings={"application_name": "holdfast"},
        )
        try:
            settings = _ALWAYS
            if purpose == "writing":
                settings += f"; {_WRITING}"
            if purpose == "upkeep":
                settings += f"; {_UNLIMITED}"
            await connection.execute(settings, timeout=CONNECT_SECONDS)
            if purpose != "reading":
                await connection.execute(_DURABLE, timeout=CONNECT_SECONDS)
            # Ids are text everywhere but in the database.
            await connection.set_type_codec(
                "uuid", schema="pg_catalog", encoder=str, decoder=str, format="text"
            )
        except BaseException:
            connection.terminate()
            raise
        return connection

    async def first_connection(self, *, to_write: bool = True) -> Connection:
        """Also checks what kind of server answers. Raises one of the CannotStart family."""
        try:
            connection = await self.connect("upkeep")
        except (*ANY, ValueError) as error:
            raise self._cannot_start(error) from None
        try:
            version = connection.get_server_version()
            if version.major < OLDEST_SERVER:
                raise CannotStart(
                    f"The PostgreSQL at {self.shown} is version {version.major}; Holdfast needs "
                    f"{OLDEST_SERVER} or newer. Upgrade it, or use another server."
                )
            encoding, read_only = await self._look(connection)
            if encoding != "UTF8":
                raise CannotStart(
                    f"The database {self.database!r} is encoded as {encoding}, and Holdfast needs UTF8. "
                    f"Create one with: createdb --encoding=UTF8 --template=template0 {self.database}"
                )
            if read_only and to_write:
                raise DatabaseUnreachable(
                    f"The PostgreSQL at {self.shown} is read-only, like a standby. Use the primary's address."
                )
        except BaseException:
            connection.terminate()
            raise
        return connection

    async def _look(self, connection: Connection) -> tuple[str, bool]:
        try:
            row = await connection.fetchrow(
                "SELECT current_setting('server_encoding'), "
                "pg_is_in_recovery() OR current_setting('default_transaction_read_only')::boolean",
                timeout=CONNECT_SECONDS,
            )
        except ANY as error:
            raise self._cannot_start(error) from None
        assert row is not None
        return row[0], row[1]

    def _cannot_start(self, error: BaseException) -> CannotStart:
        where = f"The PostgreSQL at {self.shown}"
        match error:
            case asyncpg.ClientConfigurationError() | ValueError() if not isinstance(error, UnicodeError):
                return BadDatabaseUrl(f"The database URL cannot be parsed. Its form is {FORM}.")
            case asyncpg.InvalidPasswordError():
                text = f"{where} does not accept the user and password of the database URL. Correct them."
            case asyncpg.InvalidAuthorizationSpecificationError():
                text = (
                    f"{where} does not let this user in. Check that the user of the database URL "
                    "exists and that pg_hba.conf allows it."
                )
            case asyncpg.InvalidCatalogNameError():
                text = (
                    f"{where} has no database {self.database!r}. Create it with: "
                    f"createdb --encoding=UTF8 {self.database}"
                )
            case asyncpg.InsufficientPrivilegeError():
                text = (
                    f"{where} does not allow this user to connect to the database {self.database!r}. "
                    "Grant it: GRANT CONNECT ON DATABASE ... TO ..."
                )
            case asyncpg.TooManyConnectionsError():
                text = (
                    f"{where} takes no more connections. Raise its max_connections, or stop other programs."
                )
            case asyncpg.CannotConnectNowError():
                text = f"{where} is starting up or shutting down. Wait a moment and start again."
            case socket.gaierror() | UnicodeError():
                text = f"The host of the database URL, {self.shown}, cannot be found. Correct its name."
            case TimeoutError():
                text = (
                    f"{where} does not answer. Check that it is running and that no firewall is in between."
                )
            case ConnectionRefusedError() | FileNotFoundError():
                text = f"Nobody answers at {self.shown}. Start PostgreSQL there, or correct the database URL."
            case _:
                text = f"{where} could not be used ({type(error).__name__}). See its log for the reason."
        return DatabaseUnreachable(text)
