-- What users decided on content of a workspace that would run or act: the last decision on each path counts,
-- for the content with this hash and no other.
CREATE TABLE trust_decisions (
    user_id uuid NOT NULL REFERENCES users (id),
    workspace_id uuid NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    kind text NOT NULL,
    path text NOT NULL,
    hash text NOT NULL,
    decision text NOT NULL,
    decided_at bigint NOT NULL,
    PRIMARY KEY (workspace_id, user_id, kind, path)
);
-- Agents of a workspace were trusted before there was this table. Two of them may have come from one path.
INSERT INTO trust_decisions (user_id, workspace_id, kind, path, hash, decision, decided_at)
    SELECT owner_id, workspace_id, 'agent', path, digest, 'trust', updated_at FROM named_agents
    WHERE workspace_id IS NOT NULL AND path IS NOT NULL AND digest IS NOT NULL
    ON CONFLICT DO NOTHING;
