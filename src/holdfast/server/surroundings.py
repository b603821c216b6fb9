"""What workspaces tell the chats that work in them: the texts of the prompt sources, and the result of the
workspace's check."""

from collections.abc import Callable, Sequence

from holdfast.config.sections import WorkspacesSection as Chosen
from holdfast.core.checks import Checked
from holdfast.prompt.sources import PromptChat, PromptSource, WorkspaceText, told
from holdfast.workspaces.commands.check import Checks
from holdfast.workspaces.places.chat_directory import Workspaces


class WorkspaceSurroundings:
    """A chat's scratch directory has no texts. Without a wall (`checks` None) nothing of a workspace is
    executed that nobody approved."""

    def __init__(
        self,
        workspaces: Workspaces,
        checks: Checks | None,
        sources: Sequence[PromptSource],
        chosen: Callable[[], Chosen],
    ) -> None:
        self._workspaces = workspaces
        self._checks = checks
        self._sources = sources
        self._chosen = chosen

    async def instructions(self, where: PromptChat) -> WorkspaceText:
        return await told(self._sources, where)

    async def check(self, where: PromptChat, still_ours: Callable[[], bool]) -> Checked | None:
        chosen = self._chosen()
        if where.workspace_id is None or self._checks is None or chosen.check == "off":
            return None
        command = None if chosen.check == "auto" else chosen.check
        root, place = await self._workspaces.root_of(where), await self._workspaces.place_of(where)
        return await self._checks.run(
            where.chat_id, root, place, command, chosen.check_seconds, still_ours=still_ours
        )
