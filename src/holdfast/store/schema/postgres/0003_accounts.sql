-- People and their credentials, what they keep beside their chats, and the record of who did what.

CREATE TABLE users (
    id uuid PRIMARY KEY,
    name text NOT NULL UNIQUE,
    role text NOT NULL,
    suspended_at bigint,
    created_at bigint NOT NULL
);

-- Of the secret there is only its SHA-256.
CREATE TABLE tokens (
    id uuid PRIMARY KEY,
    user_id uuid NOT NULL REFERENCES users (id),
    name text NOT NULL,
    kind text NOT NULL,
    scopes text NOT NULL,
    created_at bigint NOT NULL,
    expires_at bigint,
    revoked_at bigint,
    last_used_at bigint,
    -- Of a session: what it was given for. It ends with the API token it was given for.
    made_from uuid,
    hash bytea NOT NULL UNIQUE
);
CREATE INDEX tokens_by_user ON tokens (user_id, id);
CREATE INDEX tokens_passing ON tokens (expires_at) WHERE kind <> 'api';

CREATE TABLE named_agents (
    id uuid PRIMARY KEY,
    owner_id uuid NOT NULL REFERENCES users (id),
    name text NOT NULL,
    description text NOT NULL,
    model text,
    effort text,
    tools text,
    published boolean NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    instructions text NOT NULL,
    UNIQUE (owner_id, name)
);
CREATE INDEX named_agents_published ON named_agents (name, id) WHERE published;

-- Providers and models of admins; a key is sealed with the server's secret key.
CREATE TABLE provider_configs (
    name text PRIMARY KEY,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    config text NOT NULL,
    sealed_key bytea
);

CREATE TABLE model_configs (
    name text PRIMARY KEY,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    config text NOT NULL
);

-- What a user chose (or, for the owner 'server', an admin for all): JSON by key.
CREATE TABLE preferences (
    owner text NOT NULL,
    key text NOT NULL,
    updated_at bigint NOT NULL,
    value text NOT NULL,
    PRIMARY KEY (owner, key)
);

-- Only ever added to. No reference: it outlives what it names.
CREATE TABLE audit (
    id uuid PRIMARY KEY,
    at bigint NOT NULL,
    user_id uuid,
    action text NOT NULL,
    target text,
    outcome text NOT NULL,
    detail text NOT NULL
);
