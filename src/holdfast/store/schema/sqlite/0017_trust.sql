-- What users decided on content of a workspace that would run or act: the last decision on each path counts,
-- for the content with this hash and no other.
CREATE TABLE trust_decisions (
    user_id TEXT NOT NULL REFERENCES users (id),
    workspace_id TEXT NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    kind TEXT NOT NULL,
    path TEXT NOT NULL,
    hash TEXT NOT NULL,
    decision TEXT NOT NULL,
    decided_at INTEGER NOT NULL,
    PRIMARY KEY (workspace_id, user_id, kind, path)
) STRICT, WITHOUT ROWID;
-- Agents of a workspace were trusted before there was this table.
INSERT OR IGNORE INTO trust_decisions (user_id, workspace_id, kind, path, hash, decision, decided_at)
    SELECT owner_id, workspace_id, 'agent', path, digest, 'trust', updated_at FROM named_agents
    WHERE workspace_id IS NOT NULL AND path IS NOT NULL AND digest IS NOT NULL;
