"""The hooks of a process: which ones an event in a chat is for, and running them. Those of a workspace run
only while their content, and that of the files they name, is what its user trusted."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from holdfast.core.errors import HoldfastError
from holdfast.core.hooks import EventName
from holdfast.core.ids import ChatId, UserId, WorkspaceId
from holdfast.core.shapes import Json
from holdfast.core.trust import TrustState
from holdfast.store import trust as trust_rows
from holdfast.store.interface import Store
from holdfast.tools.hooks.decisions import HookEnd
from holdfast.tools.hooks.definitions import DECIDING, Hook
from holdfast.tools.hooks.programs import HookPrograms
from holdfast.tools.hooks.settings_file import KIND, HookTrust, hooks_of
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
        configured = self._configured()
        if self._looked_at is None or time.monotonic() - self._looked_at >= BELIEVED_SECONDS:
            await self.look()
        if not self._any_trusted or place.workspace_id is None:
            return configured
        return (*configured, *await self._trusted(place, place.workspace_id))

    async def _trusted(self, place: HookPlace, workspace_id: WorkspaceId) -> tuple[Hook, ...]:
        items = await self._trust.trusted(KIND, workspace_id, place.owner_id)
        if items and await self._workspaces.draft_of(place) is not None:
            # Its programs run in the draft, where an agent may have changed what was trusted.
            root = await self._workspaces.root_of(place)
            there = {(item.path, item.hash) for item in await blocking(lambda: HookTrust().read(root))}
            items = tuple(item for item in items if (item.path, item.hash) in there)
        return tuple(hook for item in items for hook in hooks_of(item, workspace_id))

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

    async def unsettled(self, place: HookPlace) -> bool:
        """Whether hooks that the user trusted were changed since: what they would have objected to is a
        person's to decide, or whoever can write the file could switch them off."""
        if place.workspace_id is None or self.is_empty() or not self._any_trusted:
            return False
        judged = await self._trust.items(place.workspace_id, place.owner_id, KIND)
        return any(one.state == "changed" for one in judged)

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
