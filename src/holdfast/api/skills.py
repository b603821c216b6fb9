"""Skills that agents find: names and descriptions, as a model is told them, and where each one is."""

from typing import Annotated

from litestar import Router, get
from litestar.params import QueryParameter

from holdfast.api.pages import Cursor, Limit, Page, page_of
from holdfast.api.services import By, With, needs
from holdfast.api.workspaces import own_workspace
from holdfast.workspaces.blocking import blocking
from holdfast.workspaces.places.skills import Skill, list_skills

WorkspaceWanted = Annotated[str | None, QueryParameter(max_length=36, description="The workspace to list.")]


@get("/skills", guards=[needs("chats:read")])
async def list_all_skills(
    services: With,
    caller: By,
    workspace_id: WorkspaceWanted = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Page[Skill]:
    """Those of a workspace and those that all workspaces have, by name."""
    root = None
    if workspace_id is not None:
        root = services.workspaces.root(await own_workspace(services, caller, workspace_id))
    found = await blocking(lambda: list_skills(root, services.skills))
    return page_of(found, limit, cursor, lambda skill: skill.name)


router = Router("/", route_handlers=[list_all_skills], tags=["workspaces"])
