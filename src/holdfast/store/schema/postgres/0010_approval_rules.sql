-- What users decided on a tool for all of their chats in one workspace.
CREATE TABLE approval_rules (
    id uuid PRIMARY KEY,
    user_id uuid NOT NULL REFERENCES users (id),
    tool text NOT NULL,
    workspace_id uuid REFERENCES workspaces (id) ON DELETE CASCADE,
    host text,
    path text,
    allowed boolean NOT NULL,
    created_at bigint NOT NULL
);
CREATE UNIQUE INDEX approval_rules_once ON approval_rules
    (user_id, tool, COALESCE(CAST(workspace_id AS text), ''), COALESCE(host, ''), COALESCE(path, ''));
