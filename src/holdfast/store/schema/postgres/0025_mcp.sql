-- MCP servers of users (or of nobody: for all); secrets are sealed, only their names can be read.
CREATE TABLE mcp_servers (
    id uuid PRIMARY KEY NOT NULL,
    owner_id uuid REFERENCES users (id),
    name text NOT NULL,
    config text NOT NULL,
    secret_names text NOT NULL,
    sealed bytea,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL
);
CREATE UNIQUE INDEX mcp_servers_once ON mcp_servers (COALESCE(owner_id, '00000000-0000-0000-0000-000000000000'), name);
-- What a server listed last and what the user approved of it, as JSON (see tools/mcp/pins.py). The servers of
-- the configuration and of workspaces are not in the table above.
CREATE TABLE mcp_known (
    user_id uuid NOT NULL REFERENCES users (id),
    server_id text NOT NULL,
    known text NOT NULL,
    updated_at bigint NOT NULL,
    PRIMARY KEY (user_id, server_id)
);
-- Values that servers of this user may refer to as ${NAME}.
CREATE TABLE mcp_values (
    user_id uuid NOT NULL REFERENCES users (id),
    name text NOT NULL,
    sealed bytea NOT NULL,
    updated_at bigint NOT NULL,
    PRIMARY KEY (user_id, name)
);
-- Tokens that users were given by servers.
CREATE TABLE mcp_tokens (
    user_id uuid NOT NULL REFERENCES users (id),
    server_id text NOT NULL,
    sealed bytea NOT NULL,
    updated_at bigint NOT NULL,
    PRIMARY KEY (user_id, server_id)
);
-- What servers ask a person in the middle of a call.
CREATE TABLE mcp_questions (
    id uuid PRIMARY KEY NOT NULL,
    chat_id uuid NOT NULL,
    call_id text NOT NULL,
    server text NOT NULL,
    question text NOT NULL,
    answer text,
    expires_at bigint NOT NULL
);
CREATE INDEX mcp_questions_chat ON mcp_questions (chat_id);
