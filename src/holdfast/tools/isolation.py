"""Git worktrees for sub-agents. A worktree belongs to the sub-agent it was made for: it is removed when that
has ended without leaving anything in it, made again when it continues, and otherwise kept and reported."""

import structlog

from holdfast.core.clock import Clock
from holdfast.core.errors import HoldfastError, NotFound
from holdfast.core.ids import ChatId, Ids, UserId, WorkspaceId
from holdfast.core.workspaces import Workspace
from holdfast.store import collisions, settings_rules, workspaces
from holdfast.store.children import Child
from holdfast.store.interface import Store
from holdfast.tools.contract import ToolError
from holdfast.workspaces.git.worktrees import Worktrees

log = structlog.get_logger(__name__)


class OwnWorktrees:
    """The isolation of `tools/family.py`."""

    def __init__(self, store: Store, worktrees: Worktrees, clock: Clock, ids: Ids) -> None:
        self._store = store
        self._worktrees = worktrees
        self._clock = clock
        self._ids = ids

    async def begin(self, origin_id: WorkspaceId | None, owner_id: UserId, chat_id: ChatId) -> WorkspaceId:
        origin = await self._find(origin_id, owner_id)
        if origin is None:
            raise ToolError("A worktree is made from a workspace with a git repository; this chat has none.")
        now = self._clock.now()
        new_id = WorkspaceId(self._ids.uuid7(now))
        try:
            made = await self._worktrees.create(origin, new_id, chat_id, now)
        except HoldfastError as error:
            raise ToolError(f"No worktree could be made: {error.text}") from error
        await self._store.write(workspaces.create(made))
        return made.id

    async def resume(self, child: Child) -> None:
        if child.parent_id is None or child.workspace_id is None:
            return
        above = await self._store.read(settings_rules.settings(child.parent_id))
        if above is None or above.workspace_id == child.workspace_id:
            return
        if await self._find(child.workspace_id, child.owner_id) is None:
            new_id = await self.begin(above.workspace_id, child.owner_id, child.id)
            await self._store.update_settings(child.id, workspace_id=new_id)

    async def end(self, child: Child) -> str | None:
        """Whatever is wrong with the worktree, the end of its sub-agent is reported."""
        own = await self._find(child.workspace_id, child.owner_id)
        if own is None or own.worktree is None or own.worktree.chat_id != child.id:
            return None
        try:
            if not await self._is_unchanged(own):
                return f"Its changes are in {own.path}, on the branch {own.worktree.branch}."
            await self._worktrees.remove(own)
            await self._store.write(workspaces.delete(own.id, own.owner_id))
            await self._store.write(collisions.forget(child.id))
        except (HoldfastError, OSError) as error:
            log.warning("worktree not looked at", path=own.path, reason=str(error))
            return f"Its worktree {own.path} could not be examined and is kept."
        return None

    async def _is_unchanged(self, own: Workspace) -> bool:
        try:
            return await self._worktrees.is_unchanged(own)
        except NotFound:
            return True  # somebody has removed it already

    async def _find(self, workspace_id: WorkspaceId | None, owner_id: UserId) -> Workspace | None:
        if workspace_id is None:
            return None
        return await self._store.read(workspaces.workspace(workspace_id, owner_id))
