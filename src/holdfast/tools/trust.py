"""Which content of a workspace a user trusts. Nothing in a workspace runs or acts before a person trusted
exactly this content; changed content is not trusted by anybody until they look again. A feature that reads
such content registers a kind."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from holdfast.core.clock import Clock
from holdfast.core.errors import HoldfastError, InvalidInput, TryAgain, WrongState
from holdfast.core.ids import UserId, WorkspaceId
from holdfast.core.trust import Decision, TrustDecision, TrustState, state_of
from holdfast.store import trust
from holdfast.store.interface import Store
from holdfast.store.query import Query, joined
from holdfast.tools.agent_names import WorkspaceRoots
from holdfast.workspaces.blocking import blocking
from holdfast.workspaces.files.file_root import Root
from holdfast.workspaces.places.chat_directory import WorkspacePlace
from holdfast.workspaces.places.trust_items import TrustItem, gone_item


class TrustKind(Protocol):
    """One kind of content. `name` is what people see, and the key that decisions are stored under."""

    @property
    def name(self) -> str: ...

    def read(self, root: Root) -> Sequence[TrustItem]:
        """What a workspace currently has of it. Blocks, and runs in a thread."""
        ...

    @property
    def is_missed(self) -> bool:
        """Whether trusted content that is gone is told to people, until they decided on that too: it may have
        refused something."""
        ...

    def written(self, item: TrustItem, decision: TrustDecision) -> Query[Any] | None:
        """What else a decision writes, in the same transaction."""
        ...


@dataclass(frozen=True)
class JudgedItem:
    """`decided`: the last decision on its path, perhaps on other content."""

    item: TrustItem
    state: TrustState
    decided: Decision | None = None


class Trust:
    """`places` None: there are no workspaces, as in a test."""

    def __init__(self, store: Store, places: WorkspaceRoots | None, clock: Clock) -> None:
        self._store = store
        self._places = places
        self._clock = clock
        self._kinds: dict[str, TrustKind] = {}
        self._listeners: list[Callable[[], None]] = []

    def when_decided(self, listener: Callable[[], None]) -> None:
        """Called after every decision that is made through this process."""
        self._listeners.append(listener)

    def decided(self) -> None:
        for listener in self._listeners:
            listener()

    def register(self, kind: TrustKind) -> None:
        if kind.name in self._kinds:
            raise ValueError(f"two kinds of trust are named {kind.name}")
        self._kinds[kind.name] = kind

    async def items(
        self, workspace_id: WorkspaceId, user_id: UserId, kind: str | None = None
    ) -> tuple[JudgedItem, ...]:
        """By kind and path; only of one kind, if one is given."""
        found, last = await self._read(workspace_id, user_id, kind)
        return tuple(_judged(item, last.get((item.kind, item.path))) for item in found)

    async def trusted(self, kind: str, workspace_id: WorkspaceId, user_id: UserId) -> tuple[TrustItem, ...]:
        """Those that may run or act now: their content is what this user trusted."""
        judged = await self.items(workspace_id, user_id, kind)
        return tuple(one.item for one in judged if one.state == "trusted")

    async def decide(
        self,
        workspace_id: WorkspaceId,
        user_id: UserId,
        wanted: Sequence[tuple[str, str]],
        decision: Decision,
    ) -> Query[tuple[JudgedItem, ...]]:
        """The write of a decision on these (path, hash). InvalidInput: there is no such content, or it cannot
        be trusted. WrongState: it was changed meanwhile."""
        found, _ = await self._read(workspace_id, user_id, None)
        chosen: list[TrustItem] = []
        for path, content_hash in wanted:
            here = [item for item in found if item.path == path]
            same = [item for item in here if item.hash == content_hash]
            if not here:
                raise InvalidInput(f"Nothing in the workspace at {path[:200]} needs trust.", field="items")
            if not same:
                raise WrongState(f"{path[:200]} was changed meanwhile. Read it again, then decide.")
            chosen += same
        if decision == "trust" and (bad := next((item for item in chosen if item.error), None)) is not None:
            raise InvalidInput(f"{bad.path} cannot be trusted: {bad.error}", field="items")
        writes = [write for item in chosen for write in self.writes(item, workspace_id, user_id, decision)]
        state: TrustState = "trusted" if decision == "trust" else "refused"
        return joined(*writes, read=lambda *_: tuple(JudgedItem(item, state) for item in chosen))

    def writes(
        self, item: TrustItem, workspace_id: WorkspaceId, user_id: UserId, decision: Decision
    ) -> list[Query[Any]]:
        """What a decision on one item writes."""
        made = TrustDecision(
            user_id=user_id,
            workspace_id=workspace_id,
            kind=item.kind,
            path=item.path,
            hash=item.hash,
            decision=decision,
            decided_at=self._clock.now(),
        )
        more = self._kinds[item.kind].written(item, made)
        return [trust.decide(made), *(() if more is None else (more,))]

    async def _read(
        self, workspace_id: WorkspaceId, user_id: UserId, kind: str | None
    ) -> tuple[list[TrustItem], Mapping[tuple[str, str], TrustDecision]]:
        """What there is to decide on, and the last decisions, by kind and path."""
        kinds = [one for one in self._kinds.values() if kind in (None, one.name)]
        if self._places is None or not kinds:
            return [], {}
        found: list[TrustItem] = []
        try:
            root = await self._places.root_of(WorkspacePlace(workspace_id, user_id))
            found = await blocking(lambda: [item for one in kinds for item in one.read(root)])
        except TryAgain:
            raise
        except HoldfastError:
            pass  # it cannot be read: as if nothing were there
        missed = {one.name for one in kinds if one.is_missed}
        if not found and not missed:
            return [], {}
        decisions = await self._store.read(trust.of_workspace(workspace_id, user_id))
        there = {(item.kind, item.path) for item in found}
        found += [
            gone
            for one in decisions
            if one.kind in missed and (one.kind, one.path) not in there
            if (gone := gone_item(one.kind, one.path)).hash != one.hash and one.decision == "trust"
        ]
        found.sort(key=lambda item: (item.kind, item.path))
        return found, {(one.kind, one.path): one for one in decisions}


def _judged(item: TrustItem, last: TrustDecision | None) -> JudgedItem:
    state = state_of(last, item.hash)
    # Whatever was decided before: content that cannot be read in full is not what anybody trusted.
    state = "changed" if state == "trusted" and item.error is not None else state
    return JudgedItem(item, state, None if last is None else last.decision)
