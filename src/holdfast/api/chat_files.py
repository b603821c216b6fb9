"""A file that a chat can read, for a person who follows a path in its conversation. Read-only, and limited to
what the chat's own file tools can reach: its workspace or scratch directory, and what was granted to it."""

from dataclasses import dataclass
from typing import Annotated

from litestar import Router, get
from litestar.params import QueryParameter

from holdfast.api.problems import invalid
from holdfast.api.services import By, InPath, With, needs, own_chat
from holdfast.core.errors import InvalidInput
from holdfast.core.ids import ChatId, UserId, WorkspaceId
from holdfast.workspaces.blocking import blocking
from holdfast.workspaces.files.file_view import FileView, view_file
from holdfast.workspaces.files.paths import PATH_BYTES


@dataclass(frozen=True)
class _Where:
    chat_id: ChatId
    owner_id: UserId
    workspace_id: WorkspaceId | None


@get("/chats/{chat_id:str}/file", guards=[needs("chats:read")])
async def read_chat_file(
    chat_id: InPath,
    services: With,
    caller: By,
    path: Annotated[
        str,
        QueryParameter(
            max_length=PATH_BYTES,
            description="Relative to the chat's directory, or absolute below it or below a granted path.",
        ),
    ] = "",
) -> FileView:
    """The text of a file that the chat can read; the first MiB of a longer one."""
    chat = await own_chat(services, caller, chat_id)
    where = _Where(chat.id, chat.owner_id, chat.workspace_id)
    try:
        root = await services.workspaces.root_for_reading(where, path)
        return await blocking(lambda: view_file(root, path))
    except InvalidInput as error:
        raise invalid("path", error.text) from None


router = Router("/", route_handlers=[read_chat_file], tags=["chats"])
