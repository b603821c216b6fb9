-- People and their credentials, what they keep beside their chats, and the record of who did what.

CREATE TABLE users (
    id TEXT PRIMARY KEY NOT NULL,
    name TEXT NOT NULL UNIQUE,
    role TEXT NOT NULL,
    suspended_at INTEGER,
    created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Of the secret there is only its SHA-256.
CREATE TABLE tokens (
    id TEXT PRIMARY KEY NOT NULL,
    user_id TEXT NOT NULL REFERENCES users (id),
    name TEXT NOT NULL,
    kind TEXT NOT NULL,
    scopes TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER,
    revoked_at INTEGER,
    last_used_at INTEGER,
    -- Of a session: what it was given for. It ends with the API token it was given for.
    made_from TEXT,
    hash BLOB NOT NULL UNIQUE
) STRICT, WITHOUT ROWID;
CREATE INDEX tokens_by_user ON tokens (user_id, id);
CREATE INDEX tokens_passing ON tokens (expires_at) WHERE kind <> 'api';

CREATE TABLE named_agents (
    id TEXT PRIMARY KEY NOT NULL,
    owner_id TEXT NOT NULL REFERENCES users (id),
    name TEXT NOT NULL,
    description TEXT NOT NULL,
    model TEXT,
    effort TEXT,
    tools TEXT,
    published INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    instructions TEXT NOT NULL,
    UNIQUE (owner_id, name)
) STRICT, WITHOUT ROWID;
CREATE INDEX named_agents_published ON named_agents (name, id) WHERE published;

-- Providers and models of admins; a key is sealed with the server's secret key.
CREATE TABLE provider_configs (
    name TEXT PRIMARY KEY NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    config TEXT NOT NULL,
    sealed_key BLOB
) STRICT, WITHOUT ROWID;

CREATE TABLE model_configs (
    name TEXT PRIMARY KEY NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    config TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- What a user chose (or, for the owner 'server', an admin for all): JSON by key.
CREATE TABLE preferences (
    owner TEXT NOT NULL,
    key TEXT NOT NULL,
    updated_at INTEGER NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (owner, key)
) STRICT, WITHOUT ROWID;

-- Only ever added to. No reference: it outlives what it names.
CREATE TABLE audit (
    id TEXT PRIMARY KEY NOT NULL,
    at INTEGER NOT NULL,
    user_id TEXT,
    action TEXT NOT NULL,
    target TEXT,
    outcome TEXT NOT NULL,
    detail TEXT NOT NULL
) STRICT, WITHOUT ROWID;
