"""Workspaces, found by their owner; and worktrees whose chat was deleted, which are kept for a while before
they are removed."""

from collections.abc import Sequence

from holdfast.core.clock import from_micros
from holdfast.core.errors import WrongState
from holdfast.core.ids import ChatId, UserId, WorkspaceId
from holdfast.core.text import clean_deep
from holdfast.core.workspaces import Workspace, Worktree
from holdfast.store.columns import Written, columns, listed, micros, placeholders
from holdfast.store.query import Query, Row, Rows, any_row, at_most_one, each, query

ORPHAN_MICROS = 3600 * 1_000_000

WORKSPACE = columns("id owner_id name path created_at repository base branch chat_id kept")

_SELECT = f"SELECT {listed(WORKSPACE)} FROM workspaces"
ONE = f"{_SELECT} WHERE id = $1"
OWNED = f"{_SELECT} WHERE id = $1 AND owner_id = $2"
AT_PATH = f"{_SELECT} WHERE owner_id = $1 AND path = $2 AND chat_id IS NULL ORDER BY id LIMIT 1"
MADE_FOR = f"{_SELECT} WHERE chat_id = $1 AND chat_id IS NOT NULL ORDER BY id LIMIT 1"
WORKTREES_OF = f"{_SELECT} WHERE owner_id = $1 AND repository = $2 ORDER BY id LIMIT 200"
NAMED = "SELECT 1 FROM workspaces WHERE owner_id = $1 AND name = $2"
PAGE = f"{_SELECT} WHERE owner_id = $1 AND id > $2 ORDER BY id LIMIT $3"
INSERT = (
    f"INSERT INTO workspaces ({listed(WORKSPACE)}) VALUES ({placeholders(len(WORKSPACE))}) "
    "ON CONFLICT DO NOTHING"
)
DELETE = "DELETE FROM workspaces WHERE id = $1 AND owner_id = $2"
KEEP = "UPDATE workspaces SET kept = (1 = 1) WHERE id = $1 AND owner_id = $2"
# First the missing chat is recorded; from then on an hour is counted by the database's clock.
NOTICE = (
    "UPDATE workspaces SET orphaned_at = now_micros() WHERE chat_id IS NOT NULL AND orphaned_at IS NULL "
    "AND NOT kept AND NOT EXISTS (SELECT 1 FROM chats c WHERE c.id = workspaces.chat_id)"
)
ORPHANED = (
    f"{_SELECT} WHERE NOT kept AND orphaned_at IS NOT NULL AND orphaned_at <= now_micros() - $1 "
    "ORDER BY id LIMIT 100"
)

_FIRST = WorkspaceId("00000000-0000-0000-0000-000000000000")


def workspace(workspace_id: WorkspaceId, owner_id: UserId) -> Query[Workspace | None]:
    return query(OWNED, workspace_id, owner_id, read=at_most_one(workspace_of))


def at_path(path: str, owner_id: UserId) -> Query[Workspace | None]:
    """The owner's oldest workspace with this path, ignoring worktrees."""
    return query(AT_PATH, owner_id, path, read=at_most_one(workspace_of))


def made_for(chat_id: ChatId) -> Query[Workspace | None]:
    """The worktree of this chat, which may not exist yet."""
    return query(MADE_FOR, chat_id, read=at_most_one(workspace_of))


def worktrees_of(repository: str, owner_id: UserId) -> Query[tuple[Workspace, ...]]:
    """Those that were made from the repository in this directory."""
    return query(WORKTREES_OF, owner_id, repository, read=each(workspace_of))


def page(
    owner_id: UserId, *, after: WorkspaceId | None = None, limit: int = 50
) -> Query[tuple[Workspace, ...]]:
    return query(PAGE, owner_id, after or _FIRST, limit, read=each(workspace_of))


def is_known(workspace_id: WorkspaceId) -> Query[bool]:
    return query(ONE, workspace_id, read=any_row)


def is_name_taken(name: str, owner_id: UserId) -> Query[bool]:
    return query(NAMED, owner_id, name, read=any_row)


def create(new: Workspace) -> Query[Workspace]:
    """Raises WrongState if the owner already has one of this name."""
    new = clean_deep(new)

    def read(results: Sequence[Rows]) -> Workspace:
        if not results[1]:
            raise WrongState(f"You already have a workspace named {new.name}.")
        return workspace_of(results[1][0])

    return Query(((INSERT, _written(new)), (ONE, (new.id,))), read)


def delete(workspace_id: WorkspaceId, owner_id: UserId) -> Query[None]:
    """Deletes the record; the files stay. Deleting one that does not exist is not an error."""
    return query(DELETE, workspace_id, owner_id, read=lambda _: None)


def keep(workspace_id: WorkspaceId, owner_id: UserId) -> Query[None]:
    """It stays when its chat is deleted."""
    return query(KEEP, workspace_id, owner_id, read=lambda _: None)


def orphans(after_micros: int = ORPHAN_MICROS) -> Query[tuple[Workspace, ...]]:
    """Worktrees whose chat has been gone for this long. A write, because it records which chats are gone."""
    return Query(((NOTICE, ()), (ORPHANED, (after_micros,))), lambda results: each(workspace_of)(results[1]))


def workspace_of(row: Row) -> Workspace:
    workspace_id, owner_id, name, path, created_at, repository, base, branch, chat_id, kept = row
    made = (
        None
        if chat_id is None
        else Worktree(repository=repository, base=base, branch=branch, chat_id=chat_id, kept=bool(kept))
    )
    return Workspace(
        id=workspace_id,
        owner_id=owner_id,
        name=name,
        path=path,
        created_at=from_micros(created_at),
        worktree=made,
    )


def _written(new: Workspace) -> Written:
    made = new.worktree
    of_worktree = (None,) * 4 if made is None else (made.repository, made.base, made.branch, made.chat_id)
    kept = made is not None and made.kept
    return (new.id, new.owner_id, new.name, new.path, micros(new.created_at), *of_worktree, kept)
