"""What is told to an agent about where it works: instructions that people wrote down, and the skills there
are."""

from dataclasses import dataclass
from pathlib import Path

from holdfast.core.ids import ChatId, UserId, WorkspaceId
from holdfast.worker.run import Instructions
from holdfast.workspaces.beneath import Root
from holdfast.workspaces.blocking import blocking
from holdfast.workspaces.instructions import as_text, read_instructions
from holdfast.workspaces.skills import list_skills
from holdfast.workspaces.workspaces import Workspaces


@dataclass(frozen=True)
class _Where:
    chat_id: ChatId
    owner_id: UserId
    workspace_id: WorkspaceId | None


def told(workspaces: Workspaces, config: Path) -> Instructions:
    async def tell(chat_id: ChatId, owner_id: UserId, workspace_id: WorkspaceId | None) -> str | None:
        # A scratch directory has nothing to say, and is only made when a tool needs it.
        where = _Where(chat_id, owner_id, workspace_id)
        root = None if workspace_id is None else await workspaces.root_of(where)
        return await blocking(lambda: _text(config, root)) or None

    return tell


def _text(config: Path, root: Root | None) -> str:
    texts = [as_text(read_instructions(config, root))]
    if root is not None and (skills := list_skills(root)):
        names = "\n".join(f"- {skill.name}: {skill.description}" for skill in skills)
        texts.append(f"Skills of this workspace (read one with read_skill before such a task):\n{names}")
    return "\n\n".join(text for text in texts if text)
