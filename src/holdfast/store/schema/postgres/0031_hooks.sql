-- As a hook changed the input of a call.
ALTER TABLE calls ADD COLUMN input text;

-- Every run of a hook, and what it wanted (see core/hooks.py). A run that is recorded is not repeated.
CREATE TABLE hook_runs (
    id text PRIMARY KEY NOT NULL,
    owner_id uuid NOT NULL,
    chat_id uuid REFERENCES chats (id) ON DELETE CASCADE,
    turn bigint NOT NULL,
    key text NOT NULL,
    hook_id text NOT NULL,
    part bigint NOT NULL,
    event text NOT NULL,
    name text NOT NULL,
    call_id text,
    outcome text NOT NULL,
    verdict text NOT NULL,
    exit_code bigint,
    output text NOT NULL,
    started_at bigint NOT NULL,
    finished_at bigint NOT NULL,
    revision bigint NOT NULL
);
CREATE UNIQUE INDEX hook_runs_once ON hook_runs (COALESCE(chat_id::text, ''), key, hook_id, part);
CREATE INDEX hook_runs_of_chats ON hook_runs (chat_id, turn);
CREATE INDEX hook_runs_of_owners ON hook_runs (owner_id, started_at);

-- What happened, for hooks that are told afterwards; written with the change itself. Spread: there is a delivery
-- for each hook that is told of it.
CREATE TABLE hook_events (
    event_id text PRIMARY KEY NOT NULL,
    event text NOT NULL,
    owner_id uuid NOT NULL,
    chat_id uuid,
    data text NOT NULL,
    created_at bigint NOT NULL,
    spread boolean NOT NULL DEFAULT false
);
CREATE INDEX hook_events_unspread ON hook_events (created_at) WHERE NOT spread;
CREATE INDEX hook_events_by_age ON hook_events (created_at);
CREATE TABLE hook_deliveries (
    delivery_id text PRIMARY KEY NOT NULL,
    event_id text NOT NULL,
    hook_id text NOT NULL,
    attempts bigint NOT NULL,
    -- Not before this moment.
    next_at bigint NOT NULL,
    state text NOT NULL,
    error text,
    created_at bigint NOT NULL,
    finished_at bigint
);
CREATE INDEX hook_deliveries_due ON hook_deliveries (next_at) WHERE state = 'waiting';
CREATE INDEX hook_deliveries_of_events ON hook_deliveries (event_id);

-- As `call_put_3`, which replicas of the version before still use.
CREATE TYPE call_put_4 AS (
    chat_id text,
    call_id text,
    message_id text,
    turn bigint,
    position bigint,
    name text,
    effect text,
    reach text,
    traits text,
    on_uncertain text,
    state text,
    waits_for text,
    deadline_seconds double precision,
    deadline_at bigint,
    run bigint,
    lease_number bigint,
    fenced_until bigint,
    outcome text,
    truncated boolean,
    abandoned boolean,
    started_at bigint,
    finished_at bigint,
    approval text,
    output text,
    diff text,
    revision bigint,
    source text,
    input text
);
CREATE TYPE hook_event_put AS (
    event_id text,
    event text,
    owner_id text,
    chat_id text,
    data text,
    created_at bigint
);
