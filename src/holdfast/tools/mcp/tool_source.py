"""The tools of MCP servers for a chat. The list comes from what was approved before, so a turn starts
without any server; a server is started when one of its tools is called, or if its tools are not known
yet."""

import asyncio
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Annotated, Any, cast

import structlog
from msgspec import Meta
from typing_extensions import override

from holdfast.core.shapes import Json
from holdfast.files.stored_files import StoredFiles
from holdfast.tools.contract import Input, Tool, ToolAnswer, ToolContext, ToolError
from holdfast.tools.mcp.connection import ServerConnection, ServerFailed
from holdfast.tools.mcp.definitions import ToolDefinition
from holdfast.tools.mcp.entries import ServerEntry
from holdfast.tools.mcp.pins import KnownTools, usable
from holdfast.tools.mcp.results import ServerResult, answer_of
from holdfast.tools.mcp.servers import McpServers
from holdfast.tools.registry import ToolPlace

log = structlog.get_logger(__name__)

# How long a turn waits for all servers whose tools are not known yet, together.
FIRST_LIST_SECONDS = 15.0
READ_RESOURCE = "read_resource"
# On top of its own limit: a call may have to start the server, and the server may ask a person.
_MARGIN_SECONDS = 700.0


class ServerInput(Input, frozen=True, kw_only=True):
    """A model's input, which the server checks."""

    arguments: dict[str, Any]


class ReadResource(Input, frozen=True, kw_only=True):
    server: Annotated[str, Meta(description="The name of the MCP server.", min_length=1, max_length=100)]
    uri: (
        Annotated[
            str,
            Meta(description="The address of the resource. Without one they are listed.", max_length=2000),
        ]
        | None
    ) = None


@dataclass(frozen=True, kw_only=True)
class ServerTool(Tool):
    defined: ToolDefinition

    @cached_property
    @override
    def schema(self) -> dict[str, Json]:
        return cast(dict[str, Json], self.defined.schema)

    @override
    def parse(self, value: Json) -> Input:
        if not isinstance(value, dict):
            raise ToolError(f"The input of {self.name} must be a JSON object.")
        return ServerInput(arguments=cast(dict[str, Any], value))


class McpTools:
    """See `registry.ToolSource`."""

    def __init__(self, servers: McpServers, files: StoredFiles) -> None:
        self._servers = servers
        self._files = files

    def is_empty(self) -> bool:
        return self._servers.is_empty()

    async def tools_for(self, place: ToolPlace) -> tuple[Tool, ...]:
        entries = await self._servers.entries(place.owner_id, place.workspace_id)
        entries = tuple(entry for entry in entries if entry.fields.enabled and entry.error is None)
        if not entries:
            return ()
        known = await self._known(entries, place)
        tools: list[Tool] = []
        for entry in entries:
            if (of_entry := known.get(entry.id)) is not None:
                tools += [self._tool(entry, one) for one in usable(of_entry) if _allowed(entry, one)]
        with_resources = [entry for entry in entries if entry.id in known and known[entry.id].has_resources]
        if with_resources:
            tools.append(self._resource_tool(with_resources))
        return tuple(tools)

    async def _known(self, entries: tuple[ServerEntry, ...], place: ToolPlace) -> dict[str, KnownTools]:
        kept = await self._servers.all_known(place.owner_id)
        known = {entry.id: kept[entry.id] for entry in entries if entry.id in kept}
        unlisted = [
            entry
            for entry in entries
            if entry.id not in known or known[entry.id].config_hash != entry.config_hash
        ]
        if not unlisted:
            return known
        asked = {asyncio.ensure_future(self._first_list(entry, place)): entry for entry in unlisted}
        done, late = await asyncio.wait(asked, timeout=FIRST_LIST_SECONDS)
        for task in late:
            # It continues in the background: its tools are there for the next turn.
            task.add_done_callback(lambda one: one.cancelled() or one.exception())
        for task in done:
            if (found := task.result()) is not None:
                known[asked[task].id] = found
        return known

    async def _first_list(self, entry: ServerEntry, place: ToolPlace) -> KnownTools | None:
        try:
            _, known = await self._servers.connected(entry, place.owner_id, place.workspace_id)
        except ServerFailed as error:
            log.info("an MCP server has no tools to offer", server=entry.name, reason=str(error)[:300])
            return None
        return known

    def _tool(self, entry: ServerEntry, defined: ToolDefinition) -> Tool:
        reads = defined.read_only and entry.fields.trusted
        return ServerTool(
            name=defined.full_name,
            description=defined.description or f"The tool {defined.name} of the MCP server {entry.name}.",
            input=ServerInput,
            run=partial(self._call, entry, defined),
            effect="read" if reads else "unsafe",
            reach="none" if reads else "outside",
            timeout_seconds=None,
            policy=entry.fields.approval,
            source=entry.source,
            traits=("shows_file",),
            planning="read_only" if reads and entry.transport == "stdio" else None,
            defined=defined,
        )

    def _resource_tool(self, entries: list[ServerEntry]) -> Tool:
        names = ", ".join(entry.name for entry in entries)
        return Tool(
            name=READ_RESOURCE,
            description=f"Read a resource of an MCP server ({names}), or list what a server has.",
            input=ReadResource,
            run=self._read_resource,
            effect="read",
            reach="none" if all(entry.fields.trusted for entry in entries) else "outside",
            timeout_seconds=None,
            traits=("shows_file",),
            planning="read_only" if any(entry.transport == "stdio" for entry in entries) else None,
        )

    async def _call(
        self, entry: ServerEntry, defined: ToolDefinition, context: ToolContext, given: Any
    ) -> ToolAnswer:
        seconds = context.seconds or entry.fields.timeout_seconds
        connection = await self._connected(entry, context, defined, seconds)
        result = await self._run(
            entry,
            seconds,
            lambda: connection.call(
                defined.name,
                given.arguments,
                seconds=seconds,
                chat_id=context.chat_id,
                call_id=context.call_id,
                trace_parent=context.trace_parent,
            ),
        )
        return await answer_of(result, context, self._files)

    async def _read_resource(self, context: ToolContext, given: ReadResource) -> ToolAnswer:
        entries = await self._servers.entries(context.owner_id, context.workspace_id)
        entry = next((one for one in entries if one.name == given.server and one.fields.enabled), None)
        if entry is None:
            names = ", ".join(one.name for one in entries if one.fields.enabled) or "none"
            raise ToolError(f"There is no MCP server {given.server!r}. There is: {names}.")
        seconds = context.seconds or entry.fields.timeout_seconds
        connection = await self._connected(entry, context, None, seconds)
        result = await self._run(entry, seconds, lambda: connection.read_resource(given.uri, seconds))
        return await answer_of(result, context, self._files)

    async def _connected(
        self, entry: ServerEntry, context: ToolContext, defined: ToolDefinition | None, seconds: float
    ) -> ServerConnection:
        """A connection under the current configuration, if the tool is still the approved one."""
        now = await self._servers.find(entry.id, context.owner_id, context.workspace_id)
        if now is None or not now.fields.enabled or now.config_hash != entry.config_hash:
            await self._servers.stop(entry.id)
            raise ToolError(
                f"The MCP server {entry.name} was changed or switched off, or its file has to be trusted "
                "again. Ask the user."
            )
        try:
            async with asyncio.timeout(seconds + _MARGIN_SECONDS):
                connection, known = await self._servers.connected(
                    now, context.owner_id, context.workspace_id, read_only=context.read_only
                )
        except ServerFailed as error:
            raise ToolError(f"The MCP server {entry.name} is not available: {error}.") from None
        except TimeoutError:
            raise ToolError(f"The MCP server {entry.name} did not start in time.") from None
        if defined is not None and defined.hash not in {tool.hash for tool in usable(known)}:
            raise ToolError(
                f"{defined.full_name} is not what it was when it was approved, and waits for approval again. "
                "Do without it, or ask the user to look at it (Settings, MCP servers)."
            )
        return connection

    async def _run(self, entry: ServerEntry, seconds: float, work: Any) -> ServerResult:
        try:
            async with asyncio.timeout(seconds + _MARGIN_SECONDS):
                return await self._servers.on(work)
        except ServerFailed as error:
            raise ToolError(f"The MCP server {entry.name} failed: {error}.") from None
        except TimeoutError:
            raise ToolError(f"The MCP server {entry.name} did not answer within {seconds:g} s.") from None


def _allowed(entry: ServerEntry, tool: ToolDefinition) -> bool:
    return not entry.fields.tools or tool.name in entry.fields.tools
