-- The debug record: what was asked of models, where somebody switched it on.
ALTER TABLE settings ADD COLUMN debug boolean NOT NULL DEFAULT false;

-- As `settings_chosen_3`, which replicas of the version before still use.
CREATE TYPE settings_chosen_4 AS (
    chat_id text,
    title text,
    title_source text,
    summary text,
    model text,
    effort text,
    workspace_id text,
    agent text,
    pinned boolean,
    budget_tokens bigint,
    budget_usd_micros bigint,
    labels text,
    tools text,
    client_tools text,
    instructions text,
    max_steps bigint,
    provider_tools text,
    debug boolean,
    words text[]
);

CREATE TABLE debug_runs (
    id uuid PRIMARY KEY,
    chat_id uuid NOT NULL REFERENCES chats (id) ON DELETE CASCADE,
    kind text NOT NULL,
    -- The place in core/debug_runs.py: it never goes down.
    status bigint NOT NULL,
    turn bigint NOT NULL,
    message_id uuid,
    history_message_id uuid,
    provider text,
    model text,
    first_message text NOT NULL,
    label text NOT NULL,
    started_at bigint NOT NULL,
    finished_at bigint,
    touched_at bigint NOT NULL
);
CREATE INDEX debug_runs_of_chats ON debug_runs (chat_id, started_at, id);
CREATE INDEX debug_runs_touched ON debug_runs (chat_id, touched_at);
CREATE INDEX debug_runs_by_age ON debug_runs (started_at);
CREATE INDEX debug_runs_unfinished ON debug_runs (touched_at) WHERE status = 0;

CREATE TABLE debug_steps (
    run_id uuid NOT NULL REFERENCES debug_runs (id) ON DELETE CASCADE,
    number bigint NOT NULL,
    id uuid NOT NULL,
    chat_id uuid NOT NULL REFERENCES chats (id) ON DELETE CASCADE,
    operation text NOT NULL,
    status bigint NOT NULL,
    history_message_id uuid,
    started_at bigint NOT NULL,
    finished_at bigint,
    usage text,
    error text,
    request text NOT NULL,
    response text,
    PRIMARY KEY (run_id, number)
);
CREATE INDEX debug_steps_of_chats ON debug_steps (chat_id, history_message_id);

CREATE TABLE debug_attempts (
    run_id uuid NOT NULL,
    step bigint NOT NULL,
    number bigint NOT NULL,
    status text NOT NULL,
    method text NOT NULL,
    url text NOT NULL,
    request_headers text NOT NULL,
    response_headers text NOT NULL,
    status_code bigint,
    error text,
    started_at bigint NOT NULL,
    finished_at bigint NOT NULL,
    duration_ms bigint NOT NULL,
    request_body text,
    response_body text,
    PRIMARY KEY (run_id, step, number),
    FOREIGN KEY (run_id, step) REFERENCES debug_steps (run_id, number) ON DELETE CASCADE
);

-- What segments of requests say that are in no history: the system prompt and the tools, by their hash.
CREATE TABLE debug_texts (
    chat_id uuid NOT NULL REFERENCES chats (id) ON DELETE CASCADE,
    hash text NOT NULL,
    noted_at bigint NOT NULL,
    body text NOT NULL,
    PRIMARY KEY (chat_id, hash)
);
CREATE INDEX debug_texts_by_age ON debug_texts (noted_at);
