"""Named agents: instructions, a model and tools under a name that chats can be started as."""

from typing import Annotated, Any

from litestar import Response, Router, delete, get, patch, post
from litestar.params import JSONBody
from msgspec import UNSET, Meta, UnsetType

from holdfast.api.bodies import JsonRequest
from holdfast.api.checks import (
    Effort,
    Instructions,
    ModelName,
    ModeName,
    ToolName,
    check_mode,
    check_model,
    check_tools,
)
from holdfast.api.commands import remove, write
from holdfast.api.pages import Cursor, Limit, Page
from holdfast.api.problems import invalid, not_found
from holdfast.api.services import By, InPath, Services, With, needs
from holdfast.core.accounts import NamedAgent
from holdfast.core.chats import Writes
from holdfast.core.ids import NamedAgentId, is_uuid7
from holdfast.core.shapes import Border
from holdfast.store import named_agents
from holdfast.store.query import joined

Name = Annotated[str, Meta(min_length=1, max_length=64, pattern=r"^[A-Za-z0-9][A-Za-z0-9 ._-]*$")]
Description = Annotated[str, Meta(max_length=2000)]
AgentTools = Annotated[tuple[ToolName, ...], Meta(max_length=500)]


class CreateAgent(Border, frozen=True, kw_only=True):
    name: Name
    description: Description = ""
    instructions: Instructions = ""
    model: ModelName | None = None
    effort: Effort | None = None
    tools: AgentTools | None = None
    published: bool = False
    mode: ModeName | None = None
    writes: Writes | None = None


class ChangeAgent(Border, frozen=True, kw_only=True):
    name: Name | UnsetType = UNSET
    description: Description | UnsetType = UNSET
    instructions: Instructions | UnsetType = UNSET
    model: ModelName | UnsetType | None = UNSET
    effort: Effort | UnsetType | None = UNSET
    tools: AgentTools | UnsetType | None = UNSET
    published: bool | UnsetType = UNSET
    mode: ModeName | UnsetType | None = UNSET
    writes: Writes | UnsetType | None = UNSET


@get("/agents", guards=[needs("chats:read")])
async def list_agents(
    services: With, caller: By, limit: Limit = 50, cursor: Cursor = None
) -> Page[NamedAgent]:
    """The caller's own agents, and those that others have published."""
    after = None if cursor is None else NamedAgentId(cursor)
    if after is not None and not is_uuid7(after):
        raise invalid("cursor", "not a cursor of this list")
    found = await services.store.read(named_agents.page(caller.user.id, after=after, limit=limit + 1))
    more = len(found) > limit
    return Page(items=found[:limit], next_cursor=found[limit - 1].id if more else None)


@post("/agents", guards=[needs("chats:write")], status_code=201)
async def create_agent(
    request: JsonRequest, data: JSONBody[CreateAgent], services: With, caller: By
) -> Response[NamedAgent]:
    """Create an agent: instructions, a model and tools under a name that chats can be started as."""
    check_model(services, data.model, data.effort)
    check_tools(services, data.tools)
    check_mode(services, data.mode)
    now = services.clock.now()
    new = NamedAgent(
        id=NamedAgentId(services.ids.uuid7(now)),
        owner_id=caller.user.id,
        name=data.name,
        description=data.description,
        instructions=data.instructions,
        model=data.model,
        effort=data.effort,
        tools=data.tools,
        published=data.published,
        mode=data.mode,
        writes=data.writes,
        created_at=now,
        updated_at=now,
    )
    create = named_agents.create(new)
    return await write(services, caller, request, create, answer=lambda made: (201, made))


@get("/agents/{agent_id:str}", guards=[needs("chats:read")])
async def read_agent(agent_id: InPath, services: With, caller: By) -> NamedAgent:
    """One's own agent, or a published one."""
    return await _usable(services, caller, agent_id)


@patch("/agents/{agent_id:str}", guards=[needs("chats:write")])
async def change_agent(
    request: JsonRequest, agent_id: InPath, data: JSONBody[ChangeAgent], services: With, caller: By
) -> Response[NamedAgent]:
    """Change an agent. Only its owner and admins may. Chats that run as it use the change from their next
    turn."""
    agent = await _changeable(services, caller, agent_id)
    changes: dict[str, Any] = {
        name: value for name in data.__struct_fields__ if (value := getattr(data, name)) is not UNSET
    }
    check_tools(services, changes.get("tools"))
    check_mode(services, changes.get("mode"))

    def judge(after: NamedAgent) -> NamedAgent:
        """Validated together with the unchanged fields, in the same transaction."""
        if changes.get("model") or changes.get("effort"):
            check_model(services, after.model, after.effort)
        return after

    change = named_agents.change(agent.id, agent.owner_id, changes, services.clock.now())
    return await write(
        services, caller, request, joined(change, read=judge), answer=lambda after: (200, after)
    )


@delete("/agents/{agent_id:str}", guards=[needs("chats:write")], status_code=204)
async def delete_agent(request: JsonRequest, agent_id: InPath, services: With, caller: By) -> None:
    """Delete an agent. Chats that were started as it continue without it."""
    agent = await _changeable(services, caller, agent_id)
    await remove(services, caller, request, named_agents.delete(agent.id, agent.owner_id))


async def _usable(services: Services, caller: By, agent_id: str) -> NamedAgent:
    """One's own, a published one or, for an admin, anybody's."""
    by = None if caller.may("admin") else caller.user.id
    found = (
        await services.store.read(named_agents.agent(NamedAgentId(agent_id), by))
        if is_uuid7(agent_id)
        else None
    )
    if found is None:
        raise not_found("agent")
    return found


async def _changeable(services: Services, caller: By, agent_id: str) -> NamedAgent:
    agent = await _usable(services, caller, agent_id)
    if agent.owner_id != caller.user.id and not caller.may("admin"):
        raise not_found("agent")
    return agent


router = Router(
    "/", route_handlers=[list_agents, create_agent, read_agent, change_agent, delete_agent], tags=["agents"]
)
