"""MCP servers: those of the caller and those for all. Secrets go in and are never shown again."""

from typing import Annotated, Any, Literal

import msgspec
from litestar import Response, Router, delete, get, patch, post
from litestar.params import JSONBody, QueryParameter
from msgspec import UNSET, Meta, UnsetType
from msgspec.structs import asdict, replace

from holdfast.accounts.audit_entries import Audit
from holdfast.accounts.local_token import check_keys
from holdfast.api.bodies import JsonRequest
from holdfast.api.calls import may_answer
from holdfast.api.commands import remove, write
from holdfast.api.pages import Page
from holdfast.api.problems import Problem, invalid, not_found
from holdfast.api.services import By, InPath, Services, With, needs
from holdfast.api.workspaces import own_workspace
from holdfast.core.errors import InvalidInput
from holdfast.core.ids import WorkspaceId, is_uuid7
from holdfast.core.mcp import StoredServer
from holdfast.core.secret import Secret
from holdfast.core.shapes import Border, Json, Record
from holdfast.store import mcp as mcp_rows
from holdfast.store.audit import audited
from holdfast.tools.addresses import AddressRefused, check_address_of
from holdfast.tools.choice import Policy
from holdfast.tools.mcp.connection import ServerFailed
from holdfast.tools.mcp.entries import (
    Network,
    Origin,
    ServerEntry,
    ServerFields,
    Transport,
    check_fields,
    check_name,
    check_secrets,
)
from holdfast.tools.mcp.pins import KnownPrompt, KnownTools, PinState, judged

Word = Annotated[str, Meta(max_length=8192)]
Secrets = Annotated[dict[str, Annotated[str, Meta(max_length=16_384)]], Meta(max_length=100)]
NewSecrets = Annotated[dict[str, Annotated[str, Meta(max_length=16_384)] | None], Meta(max_length=100)]
Words = Annotated[tuple[Word, ...], Meta(max_length=200)]
Seconds = Annotated[float, Meta(ge=1, le=3600)]
InWorkspace = Annotated[
    str | None, QueryParameter(description="With the servers that this workspace's file names.")
]


class CreateServer(Border, frozen=True, kw_only=True):
    name: Annotated[str, Meta(min_length=1, max_length=40)]
    # For all users; only an admin may. Default: whether the caller is one.
    shared: bool | None = None
    command: Word = ""
    args: Words = ()
    url: Word = ""
    env: Secrets = {}  # noqa: RUF012 - msgspec copies it
    headers: Secrets = {}  # noqa: RUF012
    enabled: bool = True
    approval: Policy | None = None
    tools: Words = ()
    timeout_seconds: Seconds = 60.0
    trusted: bool = False
    wall: bool = True
    network: Network | None = None


class ChangeServer(Border, frozen=True, kw_only=True):
    """What is not given stays. A variable or header that is null is removed."""

    command: Word | UnsetType = UNSET
    args: Words | UnsetType = UNSET
    url: Word | UnsetType = UNSET
    env: NewSecrets | UnsetType = UNSET
    headers: NewSecrets | UnsetType = UNSET
    enabled: bool | UnsetType = UNSET
    approval: Policy | UnsetType | None = UNSET
    tools: Words | UnsetType = UNSET
    timeout_seconds: Seconds | UnsetType = UNSET
    trusted: bool | UnsetType = UNSET
    wall: bool | UnsetType = UNSET
    network: Network | UnsetType | None = UNSET


class ApproveTools(Border, frozen=True, kw_only=True):
    # By the server's own names; null: all that it lists now.
    tools: Annotated[tuple[Word, ...], Meta(max_length=1000)] | None = None


class ServerToolShown(Record, frozen=True, kw_only=True):
    """`full_name` is what models call it by. Only one that is `approved` is offered."""

    name: str
    full_name: str
    description: str
    input_schema: Json
    read_only: bool
    state: PinState
    # What was approved, where that differs.
    before: Json
    error: str | None


class ServerShown(Record, frozen=True, kw_only=True):
    """Of secrets there are only the names."""

    id: str
    name: str
    origin: Origin
    workspace_id: WorkspaceId | None
    transport: Transport
    command: str
    args: tuple[str, ...]
    url: str
    env: tuple[str, ...]
    headers: tuple[str, ...]
    enabled: bool
    approval: Policy | None
    tools: tuple[str, ...]
    timeout_seconds: float
    trusted: bool
    wall: bool
    network: Network | None
    # Whether the caller may change it here.
    editable: bool
    state: Literal["off", "idle", "starting", "ready", "failed", "stopped", "needs_sign_in"]
    error: str | None
    title: str
    version: str
    offered: tuple[ServerToolShown, ...]
    # How many tools it has, if that is more than are offered.
    tool_count: int
    # How many of them wait for approval.
    waiting: int
    prompts: tuple[KnownPrompt, ...]
    signed_in: bool


@get("/mcp-servers", guards=[needs("chats:read")])
async def list_mcp_servers(services: With, caller: By, workspace_id: InWorkspace = None) -> Page[ServerShown]:
    """By name. Where two have one name, the nearer counts: the caller's own, then one for all, then one of
    the workspace."""
    place = await _place(services, caller, workspace_id)
    entries = await services.mcp.entries(caller.user.id, place)
    known = await services.mcp.all_known(caller.user.id)
    signed_in = await services.store.read(mcp_rows.with_tokens(caller.user.id))
    return Page(
        items=tuple(
            _shown(services, caller, entry, place, known.get(entry.id), entry.id in signed_in)
            for entry in entries
        )
    )


@post("/mcp-servers", guards=[needs("chats:write")], status_code=201)
async def create_mcp_server(
    request: JsonRequest, data: JSONBody[CreateServer], services: With, caller: By
) -> Response[ServerShown]:
    """A program to start, or the address of a server. For all users if an admin says so, else one's own."""
    shared = caller.may("admin") if data.shared is None else data.shared
    _may_change(caller, shared=shared)
    now = services.clock.now()
    fields = msgspec.convert(
        {name: value for name, value in asdict(data).items() if name in ServerFields.__struct_fields__},
        ServerFields,
    )
    entry = ServerEntry(
        id=services.ids.uuid7(now),
        name=data.name,
        origin="all" if shared else "own",
        fields=fields,
        env={name: Secret(value) for name, value in data.env.items()},
        headers={name: Secret(value) for name, value in data.headers.items()},
        owner_id=None if shared else caller.user.id,
    )
    _check(entry)
    new = StoredServer(
        id=entry.id,
        owner_id=entry.owner_id,
        name=entry.name,
        config=msgspec.to_builtins(entry.fields),
        secret_names=_names(entry),
        sealed=services.mcp.sealed(entry),
        created_at=now,
        updated_at=now,
    )
    note = Audit(services.store, services.clock, services.ids).entry(
        caller, "mcp.create", f"mcp:{new.id}", name=new.name, command=fields.command, url=fields.url
    )
    answer = await write(
        services,
        caller,
        request,
        audited(mcp_rows.create(new), note),
        answer=lambda made: (
            201,
            _shown(services, caller, services.mcp.entry_of(made), None, None, signed_in=False),
        ),
    )
    services.mcp.changed()
    return answer


@get("/mcp-servers/{server_id:str}", guards=[needs("chats:read")])
async def read_mcp_server(
    server_id: InPath, services: With, caller: By, workspace_id: InWorkspace = None
) -> ServerShown:
    """One that the caller can use."""
    place = await _place(services, caller, workspace_id)
    entry = await _usable(services, caller, server_id, place)
    return await _shown_now(services, caller, entry, place)


@patch("/mcp-servers/{server_id:str}", guards=[needs("chats:write")])
async def change_mcp_server(
    request: JsonRequest, server_id: InPath, data: JSONBody[ChangeServer], services: With, caller: By
) -> Response[ServerShown]:
    """Another address needs the secrets again: they are sent to nobody they were not entered for."""
    stored = await _changeable(services, caller, server_id)
    before = services.mcp.entry_of(stored)
    given = {name: value for name in data.__struct_fields__ if (value := getattr(data, name)) is not UNSET}
    env, headers = given.pop("env", None), given.pop("headers", None)
    fields = replace(before.fields, **given)
    if fields.url != before.fields.url and not _given_again(before, env, headers):
        raise invalid(
            "url", "another address needs the secrets again: give env and headers too, or null for each"
        )
    entry = replace(
        before,
        fields=fields,
        env=_merged(before.env, env),
        headers=_merged(before.headers, headers),
        error=None,
    )
    _check(entry)
    now = services.clock.now()
    change = mcp_rows.change(
        entry.id, msgspec.to_builtins(fields), _names(entry), services.mcp.sealed(entry), now
    )
    note = Audit(services.store, services.clock, services.ids).entry(
        caller, "mcp.change", f"mcp:{entry.id}", name=entry.name, changed=sorted(given)
    )
    place = None
    known = await services.mcp.known(caller.user.id, entry.id)
    answer = await write(
        services,
        caller,
        request,
        audited(change, note),
        answer=lambda made: (
            200,
            _shown(services, caller, services.mcp.entry_of(made), place, known, signed_in=False),
        ),
    )
    await services.mcp.stop(entry.id)
    return answer


@delete("/mcp-servers/{server_id:str}", guards=[needs("chats:write")], status_code=204)
async def delete_mcp_server(request: JsonRequest, server_id: InPath, services: With, caller: By) -> None:
    """With its secrets, its tokens and what was approved of its tools. What runs of it ends."""
    stored = await _changeable(services, caller, server_id)
    note = Audit(services.store, services.clock, services.ids).entry(
        caller, "mcp.delete", f"mcp:{stored.id}", name=stored.name
    )
    await remove(services, caller, request, audited(mcp_rows.delete(stored.id), note))
    await services.mcp.stop(stored.id)


@post("/mcp-servers/{server_id:str}/test", guards=[needs("chats:write")], status_code=200)
async def try_mcp_server(
    server_id: InPath, services: With, caller: By, workspace_id: InWorkspace = None
) -> ServerShown:
    """Start it, or connect to it, and ask what it has. What goes wrong is in `error`."""
    place = await _place(services, caller, workspace_id)
    entry = await _usable(services, caller, server_id, place)
    error: str | None = None
    try:
        await services.mcp.connected(entry, caller.user.id, place, now=True)
    except ServerFailed as failed:
        error = str(failed)
    shown = await _shown_now(services, caller, entry, place)
    return shown if error is None else replace(shown, error=error)


@post("/mcp-servers/{server_id:str}/approve", guards=[needs("chats:write")], status_code=200)
async def approve_mcp_tools(
    server_id: InPath,
    data: JSONBody[ApproveTools],
    services: With,
    caller: By,
    workspace_id: InWorkspace = None,
) -> ServerShown:
    """Take tools as the server lists them now: those that are new, or were changed since."""
    may_answer(caller)
    place = await _place(services, caller, workspace_id)
    entry = await _usable(services, caller, server_id, place)
    known = await services.mcp.approve(caller.user.id, entry.id, data.tools)
    if known is None:
        raise Problem("wrong_state", "Nothing is known of its tools yet. Test it first.")
    await Audit(services.store, services.clock, services.ids).done(
        caller, "mcp.approve", f"mcp:{entry.id}", name=entry.name
    )
    return await _shown_now(services, caller, entry, place)


# --- what others here need too ---


async def usable_server(
    services: Services, caller: By, server_id: str, workspace_id: str | None
) -> tuple[ServerEntry, WorkspaceId | None]:
    place = await _place(services, caller, workspace_id)
    return await _usable(services, caller, server_id, place), place


async def _place(services: Services, caller: By, workspace_id: str | None) -> WorkspaceId | None:
    return None if workspace_id is None else (await own_workspace(services, caller, workspace_id)).id


async def _usable(services: Services, caller: By, server_id: str, place: WorkspaceId | None) -> ServerEntry:
    found = await services.mcp.find(server_id, caller.user.id, place)
    if found is None:
        raise not_found("MCP server")
    return found


async def _changeable(services: Services, caller: By, server_id: str) -> StoredServer:
    """One's own, or for an admin one for all. Those of files are changed there."""
    stored = await services.store.read(mcp_rows.server(server_id)) if is_uuid7(server_id) else None
    if stored is None or (stored.owner_id is not None and stored.owner_id != caller.user.id):
        raise not_found("MCP server")
    _may_change(caller, shared=stored.owner_id is None)
    return stored


def _may_change(caller: By, *, shared: bool) -> None:
    if not shared:
        return
    if not caller.may("admin"):
        raise Problem("forbidden", "Only an admin may change MCP servers that are for all.")
    check_keys(caller)


def _check(entry: ServerEntry) -> None:
    try:
        check_name(entry.name)
        check_fields(entry.fields, by_admin=entry.by_admin)
        check_secrets(
            {name: value.reveal() for name, value in entry.env.items()},
            {name: value.reveal() for name, value in entry.headers.items()},
        )
    except InvalidInput as error:
        raise invalid(error.field or "name", error.text) from None
    if entry.fields.url and not entry.by_admin and "${" not in entry.fields.url:
        try:
            check_address_of(entry.fields.url)
        except AddressRefused as error:
            raise invalid("url", f"it cannot be reached from here: {error}") from None


def _given_again(before: ServerEntry, env: Any, headers: Any) -> bool:
    return set(before.env) <= set(env or ()) and set(before.headers) <= set(headers or ())


def _merged(before: dict[str, Secret], given: dict[str, str | None] | None) -> dict[str, Secret]:
    merged = dict(before)
    for name, value in (given or {}).items():
        if value is None:
            merged.pop(name, None)
        else:
            merged[name] = Secret(value)
    return merged


def _names(entry: ServerEntry) -> Json:
    return {"env": sorted(entry.env), "headers": sorted(entry.headers)}


async def _shown_now(
    services: Services, caller: By, entry: ServerEntry, place: WorkspaceId | None
) -> ServerShown:
    known = await services.mcp.known(caller.user.id, entry.id)
    signed_in = entry.id in await services.store.read(mcp_rows.with_tokens(caller.user.id))
    return _shown(services, caller, entry, place, known, signed_in)


def _shown(
    services: Services,
    caller: By,
    entry: ServerEntry,
    place: WorkspaceId | None,
    known: KnownTools | None,
    signed_in: bool,
) -> ServerShown:
    status = services.mcp.status(entry, caller.user.id, place)
    tools = () if known is None else judged(known)
    return ServerShown(
        id=entry.id,
        name=entry.name,
        origin=entry.origin,
        workspace_id=entry.workspace_id,
        transport=entry.transport,
        **{name: getattr(entry.fields, name) for name in ServerFields.__struct_fields__},
        env=tuple(sorted(entry.env)),
        headers=tuple(sorted(entry.headers)),
        editable=entry.origin == "own" or (entry.origin == "all" and caller.may("admin")),
        state=status.state,  # pyright: ignore[reportArgumentType] - one of these words
        error=status.error,
        title="" if known is None else known.title,
        version="" if known is None else known.version,
        offered=tuple(
            ServerToolShown(
                name=one.tool.name,
                full_name=one.tool.full_name,
                description=one.tool.description,
                input_schema=one.tool.schema,
                read_only=one.tool.read_only,
                state=one.state,
                before=None if one.before is None else msgspec.to_builtins(one.before),
                error=one.tool.error,
            )
            for one in tools
        ),
        tool_count=0 if known is None else known.count,
        waiting=sum(one.state in ("changed", "new") for one in tools),
        prompts=() if known is None else known.prompts,
        signed_in=signed_in,
    )


router = Router(
    "/",
    route_handlers=[
        list_mcp_servers,
        create_mcp_server,
        read_mcp_server,
        change_mcp_server,
        delete_mcp_server,
        try_mcp_server,
        approve_mcp_tools,
    ],
    tags=["MCP servers"],
)
