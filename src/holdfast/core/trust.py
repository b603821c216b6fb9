"""Trust: a person's decision on content of a workspace that would run or act. A decision applies to exactly
the content with its hash."""

from datetime import datetime
from typing import Literal

from holdfast.core.ids import UserId, WorkspaceId
from holdfast.core.shapes import Record

TrustState = Literal["new", "trusted", "changed", "refused"]
Decision = Literal["trust", "refuse"]


class TrustDecision(Record, frozen=True, kw_only=True):
    user_id: UserId
    workspace_id: WorkspaceId
    kind: str
    path: str
    hash: str
    decision: Decision
    decided_at: datetime


def state_of(decided: TrustDecision | None, content_hash: str) -> TrustState:
    """The state of content with this hash, after the last decision on its path."""
    if decided is None:
        return "new"
    if decided.hash != content_hash:
        return "changed"
    return "trusted" if decided.decision == "trust" else "refused"
