"""Agents provided by a workspace, as content to be trusted. A trusted one is stored as a named agent, because
it must not change when the file does."""

from collections.abc import Callable, Sequence
from typing import Any

from holdfast.core.accounts import NamedAgent
from holdfast.core.clock import Clock
from holdfast.core.errors import HoldfastError, InvalidInput
from holdfast.core.ids import Ids, NamedAgentId, UserId, WorkspaceId
from holdfast.core.trust import TrustDecision
from holdfast.store import named_agents
from holdfast.store.query import Query
from holdfast.workspaces.files.file_root import Root
from holdfast.workspaces.places.agent_files import LIMIT_BYTES, AgentFile, list_agent_files, parse_agent
from holdfast.workspaces.places.trust_items import TrustItem, read_text

KIND = "agent"


class AgentTrust:
    """`check_model` raises for a model that does not exist; `has_tool` says which tools exist."""

    name = KIND
    is_missed = False

    def __init__(
        self,
        clock: Clock,
        ids: Ids,
        *,
        check_model: Callable[[str], object],
        has_tool: Callable[[str], bool],
    ) -> None:
        self._clock = clock
        self._ids = ids
        self._check_model = check_model
        self._has_tool = has_tool

    def read(self, root: Root) -> Sequence[TrustItem]:
        files = list_agent_files(root)
        with root.open() as tree:
            found: list[TrustItem] = []
            for file in files:
                error = file.error or (file.hidden_by and f"{file.hidden_by} has the same name and counts.")
                try:
                    text = read_text(tree, tuple(file.path.split("/")), LIMIT_BYTES)
                except InvalidInput as unreadable:
                    text, error = "", error or unreadable.text
                found.append(
                    TrustItem(kind=KIND, path=file.path, hash=file.digest, text=text or "", error=error)
                )
        return found

    def written(self, item: TrustItem, decision: TrustDecision) -> Query[Any] | None:
        if decision.decision == "refuse":
            return named_agents.distrust(decision.workspace_id, decision.user_id, item.path)
        file = parse_agent(item.path, item.hash, item.text)
        agent = self.agent_of(file, decision.workspace_id, decision.user_id)
        return named_agents.trust(agent)

    def agent_of(self, file: AgentFile, workspace_id: WorkspaceId, user_id: UserId) -> NamedAgent:
        """The agent that a file describes, for the user who trusts it."""
        now = self._clock.now()
        return NamedAgent(
            id=NamedAgentId(self._ids.uuid7(now)),
            owner_id=user_id,
            name=file.name,
            description=file.description,
            instructions=file.instructions,
            model=self.model_of(file),
            effort=None,
            tools=self.tools_of(file),
            published=False,
            created_at=now,
            updated_at=now,
            workspace_id=workspace_id,
            path=file.path,
            digest=file.digest,
        )

    def model_of(self, file: AgentFile) -> str | None:
        """Files are also written for other programs: a model that does not exist here means the chat's
        own."""
        if file.model is None:
            return None
        try:
            self._check_model(file.model)
        except HoldfastError:
            return None
        return file.model

    def tools_of(self, file: AgentFile) -> tuple[str, ...] | None:
        """The tools that exist here. If none of the listed tools exists, the agent has no tools, not all."""
        return None if file.tools is None else tuple(name for name in file.tools if self._has_tool(name))
