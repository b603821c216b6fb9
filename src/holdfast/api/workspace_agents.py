"""Named agents that a workspace provides as files, and whether the caller trusts their content."""

from typing import Annotated

from litestar import Response, Router, get, post
from litestar.params import JSONBody
from msgspec import Meta

from holdfast.api.bodies import JsonRequest
from holdfast.api.commands import write
from holdfast.api.pages import Page
from holdfast.api.problems import Problem, invalid
from holdfast.api.services import By, InPath, Services, With, needs
from holdfast.api.workspaces import own_workspace
from holdfast.core.accounts import NamedAgent
from holdfast.core.ids import NamedAgentId
from holdfast.core.shapes import Border, Record
from holdfast.store import named_agents
from holdfast.store.query import joined
from holdfast.workspaces.places.agent_files import AgentFile


class TrustAgent(Border, frozen=True, kw_only=True):
    path: Annotated[str, Meta(min_length=1, max_length=500)]
    # The digest of the content that was read: a later change is not trusted.
    digest: Annotated[str, Meta(min_length=64, max_length=64)]


class WorkspaceAgent(Record, frozen=True, kw_only=True):
    """A file of the workspace. It becomes an agent once the caller trusts its content."""

    path: str
    digest: str
    name: str
    description: str
    instructions: str
    model: str | None
    tools: tuple[str, ...] | None
    trusted: bool
    # The id of its agent, once it was trusted; its content may have changed since.
    agent_id: NamedAgentId | None
    error: str | None
    hidden_by: str | None


@get("/workspaces/{workspace_id:str}/agents", guards=[needs("chats:read")])
async def list_workspace_agents(workspace_id: InPath, services: With, caller: By) -> Page[WorkspaceAgent]:
    """`.holdfast/agents/*.md` and `.claude/agents/*.md`, by name."""
    found = await own_workspace(services, caller, workspace_id)
    files = await services.agent_names.files(found.id, caller.user.id)
    trusted = await services.store.read(named_agents.of_workspace(found.id, caller.user.id))
    by_name = {agent.name: agent for agent in trusted}
    return Page(items=tuple(_shown(services, file, by_name.get(file.name)) for file in files))


@post("/workspaces/{workspace_id:str}/agents/trust", guards=[needs("chats:write")], status_code=200)
async def trust_workspace_agent(
    request: JsonRequest, workspace_id: InPath, data: JSONBody[TrustAgent], services: With, caller: By
) -> Response[WorkspaceAgent]:
    """Trust the file in its current form, until it is changed; `DELETE /agents/{id}` revokes that."""
    found = await own_workspace(services, caller, workspace_id)
    files = await services.agent_names.files(found.id, caller.user.id)
    file = next((one for one in files if one.path == data.path), None)
    if file is None:
        raise invalid("path", "the workspace has no such agent; GET .../agents lists them")
    if file.error is not None:
        raise invalid("path", file.error)
    if file.hidden_by is not None:
        raise invalid("path", f"{file.hidden_by} has the same name and counts instead")
    if file.digest != data.digest:
        raise Problem("wrong_state", "The file was changed meanwhile. Read it again, then trust it.")
    decide = await services.trust.decide(found.id, caller.user.id, [(file.path, file.digest)], "trust")
    trusted = named_agents.trusted(found.id, caller.user.id, file.name)
    return await write(
        services,
        caller,
        request,
        joined(decide, trusted, read=lambda _, agent: agent),
        answer=lambda agent: (200, _shown(services, file, agent)),
    )


def _shown(services: Services, file: AgentFile, agent: NamedAgent | None) -> WorkspaceAgent:
    counts = file.error is None and file.hidden_by is None
    same = agent is not None and (agent.path, agent.digest) == (file.path, file.digest)
    return WorkspaceAgent(
        path=file.path,
        digest=file.digest,
        name=file.name,
        description=file.description,
        instructions=file.instructions,
        model=services.agent_trust.model_of(file),
        tools=services.agent_trust.tools_of(file),
        trusted=counts and same,
        agent_id=None if agent is None or agent.path != file.path else agent.id,
        error=file.error,
        hidden_by=file.hidden_by,
    )


router = Router("/", route_handlers=[list_workspace_agents, trust_workspace_agent], tags=["workspaces"])
