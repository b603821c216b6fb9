"""Chats: create, list, read, change, delete, fork; interrupt, compact, retry, reconcile."""

from collections.abc import Sequence
from typing import Annotated, Any

from litestar import Response, Router, delete, get, patch, post
from litestar.params import FromQuery, JSONBody, QueryParameter
from msgspec import UNSET, Meta, UnsetType

from holdfast.api.bodies import Content, JsonRequest
from holdfast.api.chat_answers import chosen, created, moved
from holdfast.api.checks import (
    BudgetIn,
    ClientToolsIn,
    Effort,
    Instructions,
    Label,
    Labels,
    MaxSteps,
    ModelName,
    ModeName,
    ProviderToolsIn,
    Title,
    ToolsIn,
    budget_in,
    budget_of,
    check_client_tools,
    check_debug,
    check_mode,
    check_model,
    check_provider_tools,
    check_tools,
    find_agent,
    find_workspace,
    writes_of,
)
from holdfast.api.commands import answered, command, once_of
from holdfast.api.message_files import said
from holdfast.api.pages import Cursor, Limit, Page
from holdfast.api.problems import Problem, invalid, not_found, refused
from holdfast.api.services import By, InPath, Services, With, needs, own_chat
from holdfast.chats.change import Refusal
from holdfast.chats.commands import (
    Archive,
    Command,
    Compact,
    Delete,
    Interrupt,
    Reconcile,
    RetryTurn,
    SetMode,
    Unarchive,
)
from holdfast.chats.start import TITLE_LENGTH, ForkStart, Start, begin
from holdfast.core.chats import BUILD, Chat, Found, ListedChat, Settings, Status, Writes
from holdfast.core.ids import ChatId, MessageId, RunId, WorkspaceId, is_uuid7
from holdfast.core.shapes import Border
from holdfast.core.text import one_line
from holdfast.store import chats, files, messages, named_agents, settings_rules
from holdfast.store.chats import Only
from holdfast.store.interface import Applied, Choices, Hit
from holdfast.store.search_words import matching_line, sought
from holdfast.workspaces.places.chat_directory import WorkspacePlace


class CreateChat(Border, frozen=True, kw_only=True):
    content: Content
    title: Title | None = None
    model: ModelName | None = None
    effort: Effort | None = None
    workspace_id: Annotated[str, Meta(max_length=36)] | None = None
    agent: Annotated[str, Meta(max_length=100)] | None = None
    instructions: Instructions | None = None
    client_tools: ClientToolsIn = ()
    labels: Labels = ()
    budget: BudgetIn | None = None
    tools: ToolsIn | None = None
    max_steps: MaxSteps | None = None
    provider_tools: ProviderToolsIn | None = None
    mode: ModeName | None = None
    writes: Writes | None = None
    debug: bool = False
    web: bool = True


class ChangeChat(Border, frozen=True, kw_only=True):
    title: Title | UnsetType = UNSET
    archived: bool | UnsetType = UNSET
    labels: Labels | UnsetType = UNSET
    pinned: bool | UnsetType = UNSET
    model: ModelName | UnsetType | None = UNSET
    effort: Effort | UnsetType | None = UNSET
    budget: BudgetIn | UnsetType | None = UNSET
    tools: ToolsIn | UnsetType | None = UNSET
    max_steps: MaxSteps | UnsetType | None = UNSET
    provider_tools: ProviderToolsIn | UnsetType | None = UNSET
    workspace_id: Annotated[str, Meta(max_length=36)] | UnsetType | None = UNSET
    mode: ModeName | UnsetType = UNSET
    writes: Writes | UnsetType = UNSET
    debug: bool | UnsetType = UNSET
    web: bool | UnsetType = UNSET


class ForkChat(Border, frozen=True, kw_only=True):
    message_id: str | None = None
    title: Title | None = None


@post("/chats", guards=[needs("chats:write")], status_code=201)
async def create_chat(
    request: JsonRequest, data: JSONBody[CreateChat], services: With, caller: By
) -> Response[Chat]:
    """Start a chat: the content is its first message and the agent starts at once."""
    workspace_id = await find_workspace(services, caller, data.workspace_id)
    agent = await find_agent(services, caller, data.agent, workspace_id)
    check_model(services, data.model, data.effort, otherwise=None if agent is None else agent.model)
    check_mode(services, data.mode)
    chosen_model = data.model or (None if agent is None else agent.model)
    check_provider_tools(services, data.provider_tools, chosen_model)
    client_tools = check_client_tools(services, data.client_tools)
    budget = budget_of(data.budget, services)
    tools = check_tools(services, data.tools, tuple(tool.name for tool in client_tools))
    chat_id = ChatId(services.ids.uuid7(services.clock.now()))
    model = data.model or (None if agent is None else agent.model)
    parts = await said(services, caller, chat_id, data.content, model)
    create = begin(
        Start(
            owner_id=caller.user.id,
            parts=parts,
            name=data.title,
            agent=None if agent is None else agent.id,
            model=data.model,
            effort=data.effort,
            workspace_id=workspace_id,
            budget=budget,
            tools=tools,
            client_tools=client_tools,
            instructions=data.instructions,
            labels=data.labels,
            max_steps=data.max_steps,
            provider_tools=data.provider_tools,
            debug=check_debug(services, data.debug),
            web=data.web,
            mode=data.mode or (None if agent is None else agent.mode) or BUILD,
            writes=writes_of(services, data.writes, agent),
        )
    )
    return await command(
        services,
        caller,
        request,
        chat_id,
        create,
        answer=lambda applied: (201, created(applied, create.settings, agent)),
    )


@get("/chats", guards=[needs("chats:read")])
async def list_chats(
    services: With,
    caller: By,
    limit: Limit = 50,
    cursor: Cursor = None,
    archived: FromQuery[bool | None] = False,
    parent_id: FromQuery[str | None] = None,
    run_id: FromQuery[str | None] = None,
    label: FromQuery[Label | None] = None,
    status: FromQuery[Status | None] = None,
    pinned: FromQuery[bool | None] = None,
    q: Annotated[str | None, QueryParameter(max_length=1000, description="Words to find.")] = None,
) -> Page[ListedChat]:
    """The caller's chats, most recently active first; with `q` those that match the words, and where."""
    for name, value in (("parent_id", parent_id), ("run_id", run_id)):
        if value is not None and not is_uuid7(value):
            raise invalid(name, "not an id")
    only = Only(
        archived=archived,
        parent_id=None if parent_id is None else ChatId(parent_id),
        run_id=None if run_id is None else RunId(run_id),
        label=label,
        status=status,
        pinned=pinned,
    )
    if q is not None and q.strip():
        if cursor is None:
            # Finds what was just said, too.
            await services.store.index_pending()
        found = await services.store.search(caller.user.id, q, only=only, limit=limit, cursor=cursor)
        return Page(items=await _where_found(services, q, found.hits), next_cursor=found.next_cursor)
    page = await services.store.read(chats.page(caller.user.id, only, limit=limit, cursor=cursor))
    return Page(items=tuple(_listed(chat, None) for chat in page.items), next_cursor=page.next_cursor)


async def _where_found(services: Services, q: str, hits: Sequence[Hit]) -> tuple[ListedChat, ...]:
    items = await services.store.read(chats.chats(tuple(hit.chat_id for hit in hits)))
    wanted = sought(q)
    places: dict[ChatId, Found] = {}
    for hit in hits:
        if hit.message_id is None or wanted is None:
            continue
        message = await services.store.read(messages.message(hit.chat_id, hit.message_id))
        line = "" if message is None else matching_line(message, wanted)
        if line:
            places[hit.chat_id] = Found(message_id=hit.message_id, line=line)
    return tuple(_listed(chat, places.get(chat.id)) for chat in items)


def _listed(chat: Chat, found: Found | None) -> ListedChat:
    return ListedChat(**{name: getattr(chat, name) for name in chat.__struct_fields__}, found=found)


@get("/chats/{chat_id:str}", guards=[needs("chats:read")])
async def read_chat(chat_id: InPath, services: With, caller: By) -> Chat:
    """One chat in its current state: status, settings, usage."""
    return await own_chat(services, caller, chat_id)


@patch("/chats/{chat_id:str}", guards=[needs("chats:write")])
async def change_chat(
    request: JsonRequest, chat_id: InPath, data: JSONBody[ChangeChat], services: With, caller: By
) -> Response[Chat]:
    """Change a chat's settings. Archiving applies to the whole family."""
    chat = await own_chat(services, caller, chat_id)
    new = _choices(services, data, chat)
    if data.tools is not UNSET:
        new["tools"] = check_tools(services, data.tools, await _client_tools(services, chat.id))
    if data.workspace_id is not UNSET:
        new["workspace_id"] = await _other_workspace(services, caller, chat, data.workspace_id)
    if moves := _moves(services, data, chat):
        if not new:
            return await command(
                services, caller, request, chat.id, *moves, answer=lambda applied: (200, moved(chat, applied))
            )
        # Without the request's key, which belongs to the settings: doing this twice has no further effect.
        match await services.store.transition(chat.id, *moves):
            case Refusal() as refusal:
                raise refused(refusal)
            case _:
                chat = await own_chat(services, caller, chat_id)
    return await _choose(request, services, caller, chat, new)


def _moves(services: Services, data: ChangeChat, chat: Chat) -> tuple[Command, ...]:
    """The commands for those settings that are execution state."""
    moves: list[Command] = []
    if data.mode is not UNSET or data.writes is not UNSET:
        mode = None if data.mode is UNSET else data.mode
        check_mode(services, mode)
        moves.append(SetMode(mode=mode, writes=None if data.writes is UNSET else data.writes))
    if data.archived is not UNSET and data.archived != chat.archived:
        moves.append(Archive() if data.archived else Unarchive())
    return tuple(moves)


async def _choose(
    request: JsonRequest, services: Services, caller: By, chat: Chat, new: Choices
) -> Response[Chat]:
    agent = await services.store.read(named_agents.of_chat(chat.id))

    def answer(settings: Settings) -> tuple[int, object]:
        return 200, chosen(chat, settings, agent)

    once = await once_of(caller, request, answer)
    if once is None:
        outcome = await services.store.update_settings(chat.id, **new)
    else:
        outcome = await services.store.update_settings_once(chat.id, once, **new)
    if outcome is None:
        raise not_found("chat")
    return answered(outcome, answer)


def _choices(services: Services, data: ChangeChat, chat: Chat) -> Choices:
    new: Choices = {}
    if data.title is not UNSET:
        new["title"], new["title_source"] = one_line(data.title, TITLE_LENGTH), "person"
    if data.labels is not UNSET:
        new["labels"] = data.labels
    if data.pinned is not UNSET:
        new["pinned"] = data.pinned
    if data.model is not UNSET:
        new["model"] = data.model
    if data.effort is not UNSET:
        new["effort"] = data.effort
    check_model(
        services, new.get("model"), new.get("effort"), otherwise=chat.model if data.model is UNSET else None
    )
    if data.max_steps is not UNSET:
        new["max_steps"] = data.max_steps
    if data.provider_tools is not UNSET:
        check_provider_tools(services, data.provider_tools, new.get("model", chat.model))
        new["provider_tools"] = data.provider_tools
    if data.debug is not UNSET:
        new["debug"] = check_debug(services, data.debug)
    if data.web is not UNSET:
        new["web"] = data.web
    if data.budget is not UNSET:
        new["budget"] = None if data.budget is None else budget_in(data.budget)
    return new


async def _other_workspace(
    services: Services, caller: By, chat: Chat, wanted: str | None
) -> WorkspaceId | None:
    """A chat moves while nobody works in it. The next turn begins with the instructions of the new place."""
    found = await find_workspace(services, caller, wanted)
    if found != chat.workspace_id and chat.status not in ("idle", "error"):
        raise Problem("wrong_state", "The workspace of a chat can be changed while the chat is idle.")
    here = WorkspacePlace(chat.workspace_id, caller.user.id, chat.id)
    if found != chat.workspace_id and await services.workspaces.draft_of(here) is not None:
        raise Problem(
            "wrong_state",
            "The changes of this chat wait for review in a draft of its workspace, so it cannot move to "
            "another one. Start a new chat there.",
        )
    return found


async def _client_tools(services: Services, chat_id: ChatId) -> tuple[str, ...]:
    known = await services.store.read(settings_rules.settings(chat_id))
    return () if known is None else tuple(tool.name for tool in known.client_tools)


@delete("/chats/{chat_id:str}", guards=[needs("chats:write")], status_code=204)
async def delete_chat(request: JsonRequest, chat_id: InPath, services: With, caller: By) -> None:
    """Delete a chat and its sub-agents; whatever they are running is ended."""
    chat = await own_chat(services, caller, chat_id)
    await command(services, caller, request, chat.id, Delete(), answer=lambda _: (204, None))


@post("/chats/{chat_id:str}/fork", guards=[needs("chats:write")], status_code=201)
async def fork_chat(
    request: JsonRequest, chat_id: InPath, data: JSONBody[ForkChat], services: With, caller: By
) -> Response[Chat]:
    """Fork a chat: a new idle chat with the history up to a message (all of it if none is named)."""
    chat = await own_chat(services, caller, chat_id)
    if data.message_id is not None:
        await _own_message(services, chat, data.message_id)
    source, agent = await services.store.read(settings_rules.settings(chat.id), named_agents.of_chat(chat.id))
    if source is None:
        raise not_found("chat")
    fork = begin(
        ForkStart(
            owner_id=caller.user.id,
            source_id=chat.id,
            source=source,
            up_to=None if data.message_id is None else MessageId(data.message_id),
            name=data.title,
            budget=budget_of(None, services),
            mode=chat.mode,
            writes=chat.writes,
        )
    )
    fork_id = ChatId(services.ids.uuid7(services.clock.now()))
    await services.files.use(await services.store.read(files.used_in(chat.id)), fork_id)
    return await command(
        services,
        caller,
        request,
        fork_id,
        fork,
        answer=lambda applied: (201, created(applied, fork.settings, agent)),
    )


async def _own_message(services: Services, chat: Chat, message_id: str) -> None:
    found = (
        await services.store.read(messages.message(chat.id, MessageId(message_id)))
        if is_uuid7(message_id)
        else None
    )
    if found is None or found.removed:
        raise not_found("message")


async def _move(
    request: JsonRequest, chat_id: str, services: Services, caller: By, wanted: Command
) -> Response[Any]:
    chat = await own_chat(services, caller, chat_id)

    def answer(applied: Applied) -> tuple[int, object]:
        return 202, moved(chat, applied)

    return await command(services, caller, request, chat.id, wanted, answer=answer)


@post("/chats/{chat_id:str}/interrupt", guards=[needs("chats:write")], status_code=202)
async def interrupt_chat(request: JsonRequest, chat_id: InPath, services: With, caller: By) -> Response[Chat]:
    """Interrupt the running turn. What was said so far is kept, marked as interrupted."""
    return await _move(request, chat_id, services, caller, Interrupt())


@post("/chats/{chat_id:str}/compact", guards=[needs("chats:write")], status_code=202)
async def compact_chat(request: JsonRequest, chat_id: InPath, services: With, caller: By) -> Response[Chat]:
    """Summarise the history, so that the model is shown less of it. Nothing is deleted."""
    return await _move(request, chat_id, services, caller, Compact())


@post("/chats/{chat_id:str}/retry", guards=[needs("chats:write")], status_code=202)
async def retry_chat(request: JsonRequest, chat_id: InPath, services: With, caller: By) -> Response[Chat]:
    """Run the failed turn again."""
    return await _move(request, chat_id, services, caller, RetryTurn())


@post("/chats/{chat_id:str}/reconcile", guards=[needs("chats:write")], status_code=202)
async def reconcile_chat(request: JsonRequest, chat_id: InPath, services: With, caller: By) -> Response[Chat]:
    """Repair a chat in an invalid state: it becomes an error that can be retried. No message is lost."""
    return await _move(request, chat_id, services, caller, Reconcile())


router = Router(
    "/",
    route_handlers=[
        create_chat,
        list_chats,
        read_chat,
        change_chat,
        delete_chat,
        fork_chat,
        interrupt_chat,
        compact_chat,
        retry_chat,
        reconcile_chat,
    ],
    tags=["chats"],
)
