-- Workspaces that are being made from templates, or were. `key` is the same for every run of the same call.
CREATE TABLE workspace_builds (
    id uuid PRIMARY KEY NOT NULL,
    owner_id uuid NOT NULL REFERENCES users (id),
    key text NOT NULL,
    chat_id uuid,
    call_id text,
    template text NOT NULL,
    name text,
    parameters text NOT NULL,
    state text NOT NULL,
    builder text NOT NULL,
    path text,
    device bigint,
    inode bigint,
    workspace_id uuid,
    error text,
    created_at bigint NOT NULL,
    -- When the process that works on it last said so.
    seen_at bigint NOT NULL
);
CREATE UNIQUE INDEX workspace_builds_once ON workspace_builds (key);
CREATE INDEX workspace_builds_owner ON workspace_builds (owner_id, id);
CREATE INDEX workspace_builds_building ON workspace_builds (seen_at) WHERE state = 'building';
-- What users decided about the content of templates at git addresses, the last decision for each.
CREATE TABLE template_decisions (
    user_id uuid NOT NULL REFERENCES users (id),
    address text NOT NULL,
    hash text NOT NULL,
    decision text NOT NULL,
    decided_at bigint NOT NULL,
    PRIMARY KEY (user_id, address)
);
