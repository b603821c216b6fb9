"""Decisions on content of workspaces, the last one for each path. They are deleted with their workspace."""

from holdfast.core.clock import from_micros, to_micros
from holdfast.core.ids import UserId, WorkspaceId
from holdfast.core.trust import TrustDecision
from holdfast.store.columns import columns, listed, placeholders
from holdfast.store.query import Query, Row, any_row, each, query

DECISION = columns("user_id workspace_id kind path hash decision decided_at")

_SELECT = f"SELECT {listed(DECISION)} FROM trust_decisions"
OF_WORKSPACE = f"{_SELECT} WHERE workspace_id = $1 AND user_id = $2 ORDER BY kind, path LIMIT 5000"
DECIDE = (
    f"INSERT INTO trust_decisions ({listed(DECISION)}) VALUES ({placeholders(len(DECISION))}) "
    "ON CONFLICT (workspace_id, user_id, kind, path) DO UPDATE SET hash = excluded.hash, "
    "decision = excluded.decision, decided_at = excluded.decided_at"
)
FORGET = "DELETE FROM trust_decisions WHERE workspace_id = $1 AND user_id = $2 AND kind = $3 AND path = $4"
ANY = "SELECT 1 FROM trust_decisions WHERE kind = $1 AND decision = 'trust' LIMIT 1"


def of_workspace(workspace_id: WorkspaceId, user_id: UserId) -> Query[tuple[TrustDecision, ...]]:
    return query(OF_WORKSPACE, workspace_id, user_id, read=each(_decision_of))


def decide(made: TrustDecision) -> Query[None]:
    args = (made.user_id, made.workspace_id, made.kind, made.path, made.hash, made.decision)
    return query(DECIDE, *args, to_micros(made.decided_at), read=lambda _: None)


def forget(workspace_id: WorkspaceId, user_id: UserId, kind: str, path: str) -> Query[None]:
    """As if nobody had decided."""
    return query(FORGET, workspace_id, user_id, kind, path, read=lambda _: None)


def any_trusted(kind: str) -> Query[bool]:
    """Whether anybody trusts anything of this kind anywhere."""
    return query(ANY, kind, read=any_row)


def _decision_of(row: Row) -> TrustDecision:
    return TrustDecision(
        user_id=row[0],
        workspace_id=row[1],
        kind=row[2],
        path=row[3],
        hash=row[4],
        decision=row[5],
        decided_at=from_micros(row[6]),
    )
