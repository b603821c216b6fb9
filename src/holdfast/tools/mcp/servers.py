"""The MCP servers of a process: which ones a user has in a workspace, their connections, and what is known
of their tools. A dead or slow server is reported and never waited for longer than its limits."""

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any, Protocol, cast

import msgspec
import structlog
from msgspec import structs

from holdfast.core.clock import Clock
from holdfast.core.errors import HoldfastError, InvalidInput
from holdfast.core.ids import UserId, WorkspaceId
from holdfast.core.mcp import StoredServer
from holdfast.core.secret import Secret
from holdfast.store import mcp as mcp_rows
from holdfast.store.interface import Store
from holdfast.tools.mcp.connection import (
    IDLE_SECONDS,
    PersonQuestion,
    QuestionAnswer,
    ServerConnection,
    ServerFailed,
    Wiring,
)
from holdfast.tools.mcp.entries import Network, ServerEntry, ServerFields, start_plan
from holdfast.tools.mcp.event_loop import McpLoop
from holdfast.tools.mcp.pins import KnownTools, approve, listed_anew
from holdfast.tools.mcp.questions import Questions
from holdfast.tools.mcp.sign_in import SignIns
from holdfast.tools.mcp.workspace_file import KIND, entries_of
from holdfast.tools.trust import Trust
from holdfast.workspaces.commands.piped_programs import PipedOrder, PipedPrograms
from holdfast.workspaces.places.chat_directory import WorkspacePlace, Workspaces

log = structlog.get_logger(__name__)

FIRST_BACKOFF_SECONDS = 2.0
MOST_BACKOFF_SECONDS = 300.0
MOST_CONNECTIONS = 64
MOST_OF_OWNER = 24
# How long it is remembered whether there is any server at all.
BELIEVED_SECONDS = 10.0
_REACH: dict[Network, int] = {"none": 0, "internet": 1, "host": 2}


class Sealing(Protocol):
    """Encrypts secrets at rest, each bound to its purpose."""

    def seal(self, key: str, *, name: str, base_url: str) -> bytes: ...

    def unseal(self, sealed: bytes, *, name: str, base_url: str) -> Secret | None: ...


@dataclass(frozen=True)
class ConnectionKey:
    owner_id: UserId
    server_id: str
    # The one workspace that a program sees.
    workspace_id: WorkspaceId | None
    # It cannot write there: a process of its own for chats in a mode that changes nothing.
    read_only: bool = False


@dataclass
class ServerFailure:
    reason: str
    count: int
    until: float


@dataclass(frozen=True, kw_only=True)
class ServerStatus:
    """The state of a server in this process."""

    state: str
    error: str | None = None


class McpServers:
    def __init__(
        self,
        store: Store,
        sealing: Sealing,
        trust: Trust,
        workspaces: Workspaces,
        programs: PipedPrograms,
        clock: Clock,
        *,
        configured: Callable[[], tuple[ServerEntry, ...]],
        questions: Questions,
    ) -> None:
        self._store = store
        self._sealing = sealing
        self._trust = trust
        self._workspaces = workspaces
        self._programs = programs
        self._clock = clock
        self._configured = configured
        self._questions = questions
        self._loop = McpLoop()
        self.sign_ins = SignIns(store, sealing)
        self._connections: dict[ConnectionKey, ServerConnection] = {}
        self._failures: dict[ConnectionKey, ServerFailure] = {}
        self._remembering: set[asyncio.Task[Any]] = set()
        self._looked_at: float | None = None
        self._any = False
        trust.when_decided(self.changed)

    # --- which there are ---

    def is_empty(self) -> bool:
        fresh = self._looked_at is not None and time.monotonic() - self._looked_at < BELIEVED_SECONDS
        return not self._configured() and fresh and not self._any

    def changed(self) -> None:
        """Called when something was configured or trusted."""
        self._looked_at = None

    async def entries(self, owner_id: UserId, workspace_id: WorkspaceId | None) -> tuple[ServerEntry, ...]:
        """The servers of a user in a workspace, by name. A file never replaces what a person configured: a
        user's own server hides one that is for all, and both hide one of the workspace."""
        if not self._configured():
            self._any = await self._store.read(mcp_rows.any_server())
            self._looked_at = time.monotonic()
            if not self._any:
                return ()
        stored = await self._store.read(mcp_rows.visible(owner_id))
        found: dict[str, ServerEntry] = {}
        if workspace_id is not None:
            for item in await self._trust.trusted(KIND, workspace_id, owner_id):
                found |= {entry.name: entry for entry in entries_of(item, workspace_id)}
        found |= {entry.name: entry for entry in self._configured()}
        found |= {one.name: self.entry_of(one) for one in stored if one.owner_id is None}
        found |= {one.name: self.entry_of(one) for one in stored if one.owner_id is not None}
        return tuple(found[name] for name in sorted(found))

    async def find(
        self, server_id: str, owner_id: UserId, workspace_id: WorkspaceId | None
    ) -> ServerEntry | None:
        entries = await self.entries(owner_id, workspace_id)
        return next((entry for entry in entries if entry.id == server_id), None)

    def entry_of(self, stored: StoredServer) -> ServerEntry:
        secrets, error = self._secrets_of(stored)
        try:
            fields, wrong = msgspec.convert(stored.config, ServerFields), None
        except msgspec.ValidationError as unread:
            fields, wrong = ServerFields(), f"Its configuration cannot be read: {unread}."
        return ServerEntry(
            id=stored.id,
            name=stored.name,
            origin="all" if stored.owner_id is None else "own",
            fields=fields,
            env={name: Secret(value) for name, value in secrets.get("env", {}).items()},
            headers={name: Secret(value) for name, value in secrets.get("headers", {}).items()},
            owner_id=stored.owner_id,
            error=wrong or error,
        )

    def sealed(self, entry: ServerEntry) -> bytes | None:
        secrets = {
            "env": {name: value.reveal() for name, value in entry.env.items()},
            "headers": {name: value.reveal() for name, value in entry.headers.items()},
        }
        if not any(secrets.values()):
            return None
        text = msgspec.json.encode(secrets).decode()
        return self._sealing.seal(text, name=_bound(entry.id), base_url=entry.fields.url)

    def _secrets_of(self, stored: StoredServer) -> tuple[dict[str, dict[str, str]], str | None]:
        """Secrets are bound to the address: a server with a new address does not get the secrets of the old
        one."""
        if stored.sealed is None:
            return {}, None
        url = str(cast(dict[str, Any], stored.config).get("url", ""))
        opened = self._sealing.unseal(stored.sealed, name=_bound(stored.id), base_url=url)
        if opened is None:
            return {}, "Its secrets were sealed with another key, or for another address. Enter them again."
        return msgspec.json.decode(opened.reveal(), type=dict[str, dict[str, str]]), None

    async def values(self, owner_id: UserId) -> dict[str, Secret]:
        """The values that the owner stored for `${NAME}`."""
        rows = await self._store.read(mcp_rows.values(owner_id))
        opened = {
            name: self._sealing.unseal(sealed, name=_value(owner_id, name), base_url="")
            for name, sealed in rows
        }
        return {name: value for name, value in opened.items() if value is not None}

    def sealed_value(self, owner_id: UserId, name: str, value: str) -> bytes:
        return self._sealing.seal(value, name=_value(owner_id, name), base_url="")

    # --- what is known of their tools ---

    async def known(self, owner_id: UserId, server_id: str) -> KnownTools | None:
        row = await self._store.read(mcp_rows.known(owner_id, server_id))
        return None if row is None else _known_of(row)

    async def all_known(self, owner_id: UserId) -> Mapping[str, KnownTools]:
        rows = await self._store.read(mcp_rows.all_known(owner_id))
        return {server_id: known for server_id, row in rows.items() if (known := _known_of(row)) is not None}

    async def approve(
        self, owner_id: UserId, server_id: str, names: tuple[str, ...] | None
    ) -> KnownTools | None:
        known = await self.known(owner_id, server_id)
        if known is None:
            return None
        known = approve(known, names)
        await self._store.write(mcp_rows.remember(owner_id, server_id, known))
        return known

    async def _remember(self, owner_id: UserId, server_id: str, now: KnownTools) -> KnownTools:
        before = await self.known(owner_id, server_id)
        after = listed_anew(before, now)
        if after != before:
            await self._store.write(mcp_rows.remember(owner_id, server_id, after))
        return after

    # --- connections ---

    async def connected(
        self,
        entry: ServerEntry,
        owner_id: UserId,
        workspace_id: WorkspaceId | None,
        *,
        now: bool = False,
        read_only: bool = False,
    ) -> tuple[ServerConnection, KnownTools]:
        """The connection to a server, opened if necessary. Raises ServerFailed with the reason. After
        failures it is not tried again for a while, unless `now` is set. With `read_only` a program cannot
        write to the workspace."""
        if entry.error is not None:
            raise ServerFailed(entry.error)
        key = self._key(entry, owner_id, workspace_id)
        if read_only and entry.transport == "stdio":
            if not entry.fields.wall:
                raise ServerFailed("it runs without a wall, which this mode of the chat does not allow")
            key = replace(key, read_only=True)
        connection = self._connections.get(key)
        if connection is not None and connection.entry.config_hash != entry.config_hash:
            await self._close(key)
            connection = None
        if connection is None:
            failure = self._failures.get(key)
            if failure is not None and not now and time.monotonic() < failure.until:
                raise ServerFailed(f"{failure.reason} (it is tried again in a while)")
            # Another call may have made one meanwhile.
            connection = self._connections.setdefault(key, await self._new(key, entry))
        opened = connection
        try:
            listed = await self._loop.run(opened.open)
        except ServerFailed:
            raise
        except HoldfastError as error:
            raise ServerFailed(error.text) from error
        self._failures.pop(key, None)
        return opened, await self._remember(owner_id, entry.id, listed)

    async def on(self, work: Callable[[], Any]) -> Any:
        """Runs something on a connection, in the MCP thread."""
        return await self._loop.run(work)

    def status(self, entry: ServerEntry, owner_id: UserId, workspace_id: WorkspaceId | None) -> ServerStatus:
        if entry.error is not None:
            return ServerStatus(state="failed", error=entry.error)
        if not entry.fields.enabled:
            return ServerStatus(state="off")
        key = self._key(entry, owner_id, workspace_id)
        if (connection := self._connections.get(key)) is not None:
            return ServerStatus(state=connection.state)
        if (failure := self._failures.get(key)) is not None:
            needs = "needs_sign_in" if failure.reason.startswith(SignIns.NEEDED) else "failed"
            return ServerStatus(state=needs, error=failure.reason)
        return ServerStatus(state="idle")

    async def stop(self, server_id: str) -> None:
        """Ends everything that runs for a server that was changed, removed or is no longer trusted."""
        self.changed()
        for key in [key for key in self._connections if key.server_id == server_id]:
            await self._close(key)
        for key in [key for key in self._failures if key.server_id == server_id]:
            del self._failures[key]

    async def close(self) -> None:
        for key in list(self._connections):
            await self._close(key)
        await self._loop.close()
        await asyncio.to_thread(self._programs.close)

    def _key(self, entry: ServerEntry, owner_id: UserId, workspace_id: WorkspaceId | None) -> ConnectionKey:
        sees_one = entry.transport == "stdio" and entry.fields.wall
        return ConnectionKey(owner_id, entry.id, workspace_id if sees_one else None)

    async def _new(self, key: ConnectionKey, entry: ServerEntry) -> ServerConnection:
        self._make_room(key)
        try:
            plan = start_plan(entry, await self.values(key.owner_id))
        except InvalidInput as error:
            raise ServerFailed(error.text) from None
        order, root = None, None
        if entry.transport == "stdio":
            place = None
            if key.workspace_id is not None:
                try:
                    place = await self._workspaces.place_of(WorkspacePlace(key.workspace_id, key.owner_id))
                except HoldfastError as error:
                    raise ServerFailed(error.text) from None
                place = structs.replace(place, read_only=place.read_only or key.read_only)
                root = str(place.root)
            order = PipedOrder(
                home=sha256(f"{key.owner_id}:{entry.id}".encode()).hexdigest()[:24],
                command=(plan.command, *plan.args),
                environment={name: value.reveal() for name, value in plan.env.items()},
                network=self._network(entry),
                place=place,
                walled=entry.fields.wall,
            )
        loop = asyncio.get_running_loop()
        auth = None
        if order is None and not any(name.lower() == "authorization" for name in plan.headers):
            auth = await self.sign_ins.auth_for(loop, key.owner_id, entry.id, plan.url)
        return ServerConnection(
            entry=entry,
            plan=plan,
            order=order,
            root=root,
            wiring=Wiring(
                programs=self._programs,
                ask=lambda asked: self._ask(loop, asked),
                auth=auth,
                idle_seconds=IDLE_SECONDS,
            ),
            on_listed=lambda known: _on_loop(loop, lambda: self._heard(key, known)),
            on_closed=lambda one, why: _on_loop(loop, lambda: self._gone(key, one, why)),
        )

    def _network(self, entry: ServerEntry) -> Network:
        """The network of a server: those of members and workspaces never get more than commands do."""
        allowed = self._programs.network
        wanted = entry.fields.network or allowed
        if entry.by_admin:
            return wanted
        return wanted if _REACH[wanted] <= _REACH[allowed] else allowed

    def _make_room(self, key: ConnectionKey) -> None:
        mine = [one for one in self._connections if one.owner_id == key.owner_id]
        if len(mine) >= MOST_OF_OWNER or len(self._connections) >= MOST_CONNECTIONS:
            raise ServerFailed(
                f"{len(mine)} MCP servers of yours and {len(self._connections)} in all are running; try "
                "again when one of them has been idle for ten minutes"
            )

    async def _ask(self, loop: asyncio.AbstractEventLoop, asked: PersonQuestion) -> QuestionAnswer:
        """Runs in the MCP thread."""
        future = asyncio.run_coroutine_threadsafe(self._questions.ask(asked), loop)
        return await asyncio.wrap_future(future)

    def _heard(self, key: ConnectionKey, known: KnownTools) -> None:
        task = asyncio.ensure_future(self._remember(key.owner_id, key.server_id, known))
        self._remembering.add(task)
        task.add_done_callback(self._remembering.discard)
        task.add_done_callback(_log_failure)

    def _gone(self, key: ConnectionKey, connection: ServerConnection, why: str | None) -> None:
        if self._connections.get(key) is connection:
            del self._connections[key]
        if why is None:
            return
        before = self._failures.get(key)
        count = 1 if before is None else before.count + 1
        seconds = min(MOST_BACKOFF_SECONDS, FIRST_BACKOFF_SECONDS * 2.0 ** (count - 1))
        self._failures[key] = ServerFailure(why, count, time.monotonic() + seconds)
        log.warning(
            "an MCP server failed", server=connection.entry.name, owner_id=key.owner_id, reason=why[:500]
        )

    async def _close(self, key: ConnectionKey) -> None:
        connection = self._connections.pop(key, None)
        if connection is not None:
            await self._loop.run(connection.close)


def _on_loop(loop: asyncio.AbstractEventLoop, work: Callable[[], None]) -> None:
    try:
        loop.call_soon_threadsafe(work)
    except RuntimeError:
        pass  # the loop is closed: nobody waits for it any more


def _log_failure(task: "asyncio.Task[Any]") -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        log.warning("what an MCP server has could not be kept", reason=str(error))


def _known_of(row: bytes) -> KnownTools | None:
    try:
        return msgspec.json.decode(row, type=KnownTools)
    except msgspec.DecodeError:
        return None


def _bound(server_id: str) -> str:
    return f"mcp:{server_id}"


def _value(owner_id: UserId, name: str) -> str:
    return f"mcp-value:{owner_id}:{name}"
