-- MCP servers of users (or of nobody: for all); secrets are sealed, only their names can be read.
CREATE TABLE mcp_servers (
    id TEXT PRIMARY KEY NOT NULL,
    owner_id TEXT REFERENCES users (id),
    name TEXT NOT NULL,
    config TEXT NOT NULL,
    secret_names TEXT NOT NULL,
    sealed BLOB,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX mcp_servers_once ON mcp_servers (COALESCE(owner_id, ''), name);
-- What a server listed last and what the user approved of it, as JSON (see tools/mcp/pins.py). The servers of
-- the configuration and of workspaces are not in the table above.
CREATE TABLE mcp_known (
    user_id TEXT NOT NULL REFERENCES users (id),
    server_id TEXT NOT NULL,
    known TEXT NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (user_id, server_id)
) STRICT, WITHOUT ROWID;
-- Values that servers of this user may refer to as ${NAME}.
CREATE TABLE mcp_values (
    user_id TEXT NOT NULL REFERENCES users (id),
    name TEXT NOT NULL,
    sealed BLOB NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (user_id, name)
) STRICT, WITHOUT ROWID;
-- Tokens that users were given by servers.
CREATE TABLE mcp_tokens (
    user_id TEXT NOT NULL REFERENCES users (id),
    server_id TEXT NOT NULL,
    sealed BLOB NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (user_id, server_id)
) STRICT, WITHOUT ROWID;
-- What servers ask a person in the middle of a call.
CREATE TABLE mcp_questions (
    id TEXT PRIMARY KEY NOT NULL,
    chat_id TEXT NOT NULL,
    call_id TEXT NOT NULL,
    server TEXT NOT NULL,
    question TEXT NOT NULL,
    answer TEXT,
    expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX mcp_questions_chat ON mcp_questions (chat_id);
