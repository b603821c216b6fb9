"""The hooks of a process: which ones an event in a chat is for, and running them. Those of a workspace run
only while their content, and that of the files they name, is what its user trusted."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from holdfast.core.errors import HoldfastError
from holdfast.core.hooks import EventName
from holdfast.core.ids import ChatId, UserId, WorkspaceId
from holdfast.core.shapes import Json
from holdfast.core.trust import TrustState
from holdfast.store import trust as trust_rows
from holdfast.store import workspaces
from holdfast.store.interface import Store
from holdfast.tools.hooks.decisions import HookEnd
from holdfast.tools.hooks.definitions import DECIDING, Hook
from holdfast.tools.hooks.programs import HookPrograms
from holdfast.tools.hooks.settings_file import KIND, are_its_files, hooks_of
from holdfast.tools.trust import Trust
from holdfast.workspaces.blocking import blocking
from holdfast.workspaces.commands.mounts import CommandPlace
from holdfast.workspaces.places.chat_directory import WorkspacePlace, Workspaces

# Whether anybody trusts hooks of a workspace is looked up again after this.
BELIEVED_SECONDS = 10.0


@dataclass(frozen=True, kw_only=True)
class HookPlace:
    """The chat that hooks are asked for, as `Workspaces` knows places."""

    chat_id: ChatId
    owner_id: UserId
    workspace_id: WorkspaceId | None


@dataclass(frozen=True, kw_only=True)
class KnownHooks:
    """`unsettled`: hooks that the user trusted were changed or are gone, and nobody has decided since. What
    they would have objected to is a person's to decide: whoever can write a file could switch them off."""

    hooks: tuple[Hook, ...] = ()
    unsettled: bool = False


class Hooks:
    def __init__(
        self,
        store: Store,
        trust: Trust,
        workspaces: Workspaces,
        programs: HookPrograms,
        *,
        configured: Callable[[], tuple[Hook, ...]],
    ) -> None:
        self._store = store
        self._trust = trust
        self._workspaces = workspaces
        self.programs = programs
        self._configured = configured
        self._looked_at: float | None = None
        self._any_trusted = True
        trust.when_decided(self._changed)
        store.outbox.listen(self.told_afterwards)

    # --- which there are ---

    def is_empty(self) -> bool:
        """Whether no chat has any, as far as is known: then nothing has to be asked."""
        fresh = self._looked_at is not None and time.monotonic() - self._looked_at < BELIEVED_SECONDS
        return not self._configured() and fresh and not self._any_trusted

    def _changed(self) -> None:
        self._looked_at = None

    async def look(self) -> None:
        self._any_trusted = await self._store.read(trust_rows.any_trusted(KIND))
        self._looked_at = time.monotonic()

    def told_afterwards(self) -> frozenset[EventName]:
        """The events that somebody is told of by the outbox. Called on any thread."""
        found: set[EventName] = {hook.event for hook in self._configured() if not hook.decides}
        if self._any_trusted:
            found.add("needs_you")
        return frozenset(found)

    async def of(self, place: HookPlace) -> tuple[Hook, ...]:
        """Those of the configuration, then those of the workspace that are trusted now."""
        return (await self._known(place)).hooks

    async def _known(self, place: HookPlace) -> KnownHooks:
        configured = self._configured()
        if self._looked_at is None or time.monotonic() - self._looked_at >= BELIEVED_SECONDS:
            await self.look()
        if not self._any_trusted or place.workspace_id is None:
            return KnownHooks(hooks=configured)
        trusted = await self._trusted(place, place.workspace_id)
        return replace(trusted, hooks=(*configured, *trusted.hooks))

    async def _trusted(self, place: HookPlace, workspace_id: WorkspaceId) -> KnownHooks:
        """In a worktree those of the repository's own workspace count too: else an agent would be free of
        them by working in a worktree."""
        found = await self._store.read(workspaces.workspace(workspace_id, place.owner_id))
        if found is None:
            return KnownHooks()
        origin = found
        if found.worktree is not None:
            repository = found.worktree.repository
            origin = await self._store.read(workspaces.at_path(repository, place.owner_id)) or found
        judged = await self._trust.items(origin.id, place.owner_id, KIND)
        hooks: list[Hook] = []
        if origin.id != found.id:
            own = await self._trust.items(found.id, place.owner_id, KIND)
            decided = [one for one in own if one.state in ("trusted", "refused")]
            hooks += [
                hook for one in decided if one.state == "trusted" for hook in hooks_of(one.item, found.id)
            ]
            paths = {one.item.path for one in decided}
            judged = tuple(one for one in judged if one.item.path not in paths)
        unsettled = any(one.state == "changed" and one.decided == "trust" for one in judged)
        items = [one.item for one in judged if one.state == "trusted"]
        if items and (origin.id != found.id or await self._workspaces.draft_of(place) is not None):
            # Its programs run in another directory, where an agent may have changed what was trusted.
            root = await self._workspaces.root_of(place)
            same = await blocking(lambda: [are_its_files(root, item) for item in items])
            unsettled = unsettled or not all(same)
            items = [item for item, is_same in zip(items, same, strict=True) if is_same]
        hooks += [hook for item in items for hook in hooks_of(item, origin.id)]
        return KnownHooks(hooks=tuple(hooks), unsettled=unsettled)

    async def all_of_workspace(
        self, workspace_id: WorkspaceId, owner_id: UserId
    ) -> tuple[tuple[Hook, TrustState], ...]:
        """Those that its files name, whatever anybody decided, each with the state of its file."""
        judged = await self._trust.items(workspace_id, owner_id, KIND)
        return tuple((hook, one.state) for one in judged for hook in hooks_of(one.item, workspace_id))

    @property
    def configured(self) -> tuple[Hook, ...]:
        return self._configured()

    async def deciding(self, place: HookPlace, event: EventName) -> tuple[Hook, ...]:
        """Those that the turn waits for at this event."""
        if event not in DECIDING:
            return ()
        return tuple(hook for hook in await self.all_deciding(place) if hook.event == event)

    async def all_deciding(self, place: HookPlace) -> tuple[Hook, ...]:
        """Those that the turn waits for at any event. Two that are the same count once."""
        if self.is_empty():
            return ()
        found = {hook.id: hook for hook in await self.of(place) if hook.decides and hook.error is None}
        return tuple(found.values())

    async def guarding(self, place: HookPlace) -> KnownHooks:
        """Those that calls wait for, as they are at one moment."""
        if self.is_empty():
            return KnownHooks()
        known = await self._known(place)
        found = {hook.id: hook for hook in known.hooks if hook.decides and hook.error is None}
        return replace(known, hooks=tuple(hook for hook in found.values() if hook.event == "pre_tool"))

    # --- running ---

    async def cwd(self, place: HookPlace) -> CommandPlace | None:
        """None: the workspace is not there any more."""
        try:
            return await self._workspaces.place_of(place)
        except HoldfastError:
            return None

    async def run(
        self,
        hook: Hook,
        given: dict[str, Json],
        where: CommandPlace | None,
        owner_id: UserId,
        *,
        read_only: bool = False,
    ) -> HookEnd:
        home = f"hooks-{hook.workspace_id or owner_id}"
        return await self.programs.run(hook, given, where, home=home, read_only=read_only)

    async def run_in_workspace(
        self, hook: Hook, given: dict[str, Json], workspace_id: WorkspaceId | None, owner_id: UserId
    ) -> HookEnd:
        """A trial, without a chat."""
        where: CommandPlace | None = None
        if workspace_id is not None:
            where = await self._workspaces.place_of(WorkspacePlace(workspace_id, owner_id))
            given = {**given, "cwd": str(where.root)}
        return await self.run(hook, given, where, owner_id)
