-- Directories that chats work in; from `repository` on: what a worktree has, which is made for one chat.

CREATE TABLE workspaces (
    id TEXT PRIMARY KEY NOT NULL,
    owner_id TEXT NOT NULL REFERENCES users (id),
    name TEXT NOT NULL,
    path TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    repository TEXT,
    base TEXT,
    branch TEXT,
    -- No reference: the chat may be deleted first, and then the worktree is an orphan.
    chat_id TEXT,
    orphaned_at INTEGER,
    UNIQUE (owner_id, name)
) STRICT, WITHOUT ROWID;
CREATE INDEX workspaces_of_chats ON workspaces (chat_id) WHERE chat_id IS NOT NULL;
