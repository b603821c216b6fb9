-- As a hook changed the input of a call.
ALTER TABLE calls ADD COLUMN input TEXT;

-- Every run of a hook, and what it wanted (see core/hooks.py). A run that is recorded is not repeated.
CREATE TABLE hook_runs (
    id TEXT PRIMARY KEY NOT NULL,
    owner_id TEXT NOT NULL,
    chat_id TEXT REFERENCES chats (id) ON DELETE CASCADE,
    turn INTEGER NOT NULL,
    key TEXT NOT NULL,
    hook_id TEXT NOT NULL,
    part INTEGER NOT NULL,
    event TEXT NOT NULL,
    name TEXT NOT NULL,
    call_id TEXT,
    outcome TEXT NOT NULL,
    verdict TEXT NOT NULL,
    exit_code INTEGER,
    output TEXT NOT NULL,
    started_at INTEGER NOT NULL,
    finished_at INTEGER NOT NULL,
    revision INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX hook_runs_once ON hook_runs (COALESCE(chat_id, ''), key, hook_id, part);
CREATE INDEX hook_runs_of_chats ON hook_runs (chat_id, turn);
CREATE INDEX hook_runs_of_owners ON hook_runs (owner_id, started_at);

-- What happened, for hooks that are told afterwards; written with the change itself. Spread: there is a delivery
-- for each hook that is told of it.
CREATE TABLE hook_events (
    event_id TEXT PRIMARY KEY NOT NULL,
    event TEXT NOT NULL,
    owner_id TEXT NOT NULL,
    chat_id TEXT,
    data TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    spread INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
CREATE INDEX hook_events_unspread ON hook_events (created_at) WHERE NOT spread;
CREATE INDEX hook_events_by_age ON hook_events (created_at);
CREATE TABLE hook_deliveries (
    delivery_id TEXT PRIMARY KEY NOT NULL,
    event_id TEXT NOT NULL,
    hook_id TEXT NOT NULL,
    attempts INTEGER NOT NULL,
    -- Not before this moment.
    next_at INTEGER NOT NULL,
    state TEXT NOT NULL,
    error TEXT,
    created_at INTEGER NOT NULL,
    finished_at INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX hook_deliveries_due ON hook_deliveries (next_at) WHERE state = 'waiting';
CREATE INDEX hook_deliveries_of_events ON hook_deliveries (event_id);
