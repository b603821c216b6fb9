-- Workspaces that are being made from templates, or were. `key` is the same for every run of the same call.
CREATE TABLE workspace_builds (
    id TEXT PRIMARY KEY NOT NULL,
    owner_id TEXT NOT NULL REFERENCES users (id),
    key TEXT NOT NULL,
    chat_id TEXT,
    call_id TEXT,
    template TEXT NOT NULL,
    name TEXT,
    parameters TEXT NOT NULL,
    state TEXT NOT NULL,
    builder TEXT NOT NULL,
    path TEXT,
    device INTEGER,
    inode INTEGER,
    workspace_id TEXT,
    error TEXT,
    created_at INTEGER NOT NULL,
    -- When the process that works on it last said so.
    seen_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX workspace_builds_once ON workspace_builds (key);
CREATE INDEX workspace_builds_owner ON workspace_builds (owner_id, id);
CREATE INDEX workspace_builds_building ON workspace_builds (seen_at) WHERE state = 'building';
-- What users decided about the content of templates at git addresses, the last decision for each.
CREATE TABLE template_decisions (
    user_id TEXT NOT NULL REFERENCES users (id),
    address TEXT NOT NULL,
    hash TEXT NOT NULL,
    decision TEXT NOT NULL,
    decided_at INTEGER NOT NULL,
    PRIMARY KEY (user_id, address)
) STRICT, WITHOUT ROWID;
