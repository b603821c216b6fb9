"""What agents of a run must know of it, whether it is the run of a workflow or of a flow."""

from typing import Protocol

from holdfast.core.ids import UserId, WorkspaceId
from holdfast.core.shapes import Json
from holdfast.core.usage import Budget


class RunTerms(Protocol):
    @property
    def id(self) -> str: ...
    @property
    def owner_id(self) -> UserId: ...
    @property
    def workspace_id(self) -> WorkspaceId | None: ...
    @property
    def model(self) -> str | None: ...
    @property
    def budget(self) -> Budget: ...
    @property
    def tools(self) -> Json: ...
    # What the workspace was like when the run was asked for, and when it ended.
    @property
    def workspace_state(self) -> str | None: ...
    @property
    def final_state(self) -> str | None: ...
