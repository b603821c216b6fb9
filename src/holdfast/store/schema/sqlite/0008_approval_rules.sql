-- What users decided on a tool for all of their chats in one workspace.
CREATE TABLE approval_rules (
    id TEXT PRIMARY KEY NOT NULL,
    user_id TEXT NOT NULL REFERENCES users (id),
    tool TEXT NOT NULL,
    workspace_id TEXT REFERENCES workspaces (id) ON DELETE CASCADE,
    host TEXT,
    path TEXT,
    allowed INTEGER NOT NULL,
    created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX approval_rules_once ON approval_rules
    (user_id, tool, COALESCE(CAST(workspace_id AS text), ''), COALESCE(host, ''), COALESCE(path, ''));
