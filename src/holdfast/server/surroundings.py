"""What workspaces say to the chats that work in them: instructions that people wrote down, the skills there
are, and what their check finds wrong."""

from collections.abc import Callable
from pathlib import Path

from holdfast.config.sections import Workspaces as Chosen
from holdfast.core.checks import Checked
from holdfast.worker.run import Where
from holdfast.workspaces.beneath import Root
from holdfast.workspaces.blocking import blocking
from holdfast.workspaces.check import Checks
from holdfast.workspaces.instructions import as_text, read_instructions
from holdfast.workspaces.skills import list_skills
from holdfast.workspaces.workspaces import Workspaces


class WorkspaceSurroundings:
    """A chat's scratch directory has nothing to say. Without a wall (`checks` None) nothing of a workspace is
    run that nobody approved."""

    def __init__(
        self, workspaces: Workspaces, checks: Checks | None, config: Path, chosen: Callable[[], Chosen]
    ) -> None:
        self._workspaces = workspaces
        self._checks = checks
        self._config = config
        self._chosen = chosen

    async def instructions(self, where: Where) -> str | None:
        root = None if where.workspace_id is None else await self._workspaces.root_of(where)
        return await blocking(lambda: _told(self._config, root)) or None

    async def check(self, where: Where) -> Checked | None:
        chosen = self._chosen()
        if where.workspace_id is None or self._checks is None or chosen.check == "off":
            return None
        command = None if chosen.check == "auto" else chosen.check
        place = await self._workspaces.place_of(where)
        return await self._checks.run(where.chat_id, place, command, chosen.check_seconds)


def _told(config: Path, root: Root | None) -> str:
    texts = [as_text(read_instructions(config, root))]
    if root is not None and (skills := list_skills(root)):
        names = "\n".join(f"- {skill.name}: {skill.description}" for skill in skills)
        texts.append(f"Skills of this workspace (read one with read_skill before such a task):\n{names}")
    return "\n\n".join(text for text in texts if text)
