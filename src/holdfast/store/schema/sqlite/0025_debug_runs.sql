-- The debug record: what was asked of models, where somebody switched it on.
ALTER TABLE settings ADD COLUMN debug INTEGER NOT NULL DEFAULT 0;

CREATE TABLE debug_runs (
    id TEXT PRIMARY KEY NOT NULL,
    chat_id TEXT NOT NULL REFERENCES chats (id) ON DELETE CASCADE,
    kind TEXT NOT NULL,
    -- The place in core/debug_runs.py: it never goes down.
    status INTEGER NOT NULL,
    turn INTEGER NOT NULL,
    message_id TEXT,
    history_message_id TEXT,
    provider TEXT,
    model TEXT,
    first_message TEXT NOT NULL,
    label TEXT NOT NULL,
    started_at INTEGER NOT NULL,
    finished_at INTEGER,
    touched_at INTEGER NOT NULL
) STRICT;
CREATE INDEX debug_runs_of_chats ON debug_runs (chat_id, started_at, id);
CREATE INDEX debug_runs_touched ON debug_runs (chat_id, touched_at);
CREATE INDEX debug_runs_by_age ON debug_runs (started_at);
CREATE INDEX debug_runs_unfinished ON debug_runs (touched_at) WHERE status = 0;

CREATE TABLE debug_steps (
    run_id TEXT NOT NULL REFERENCES debug_runs (id) ON DELETE CASCADE,
    number INTEGER NOT NULL,
    id TEXT NOT NULL,
    chat_id TEXT NOT NULL REFERENCES chats (id) ON DELETE CASCADE,
    operation TEXT NOT NULL,
    status INTEGER NOT NULL,
    history_message_id TEXT,
    started_at INTEGER NOT NULL,
    finished_at INTEGER,
    usage TEXT,
    error TEXT,
    request TEXT NOT NULL,
    response TEXT,
    PRIMARY KEY (run_id, number)
) STRICT;
CREATE INDEX debug_steps_of_chats ON debug_steps (chat_id, history_message_id);

CREATE TABLE debug_attempts (
    run_id TEXT NOT NULL,
    step INTEGER NOT NULL,
    number INTEGER NOT NULL,
    status TEXT NOT NULL,
    method TEXT NOT NULL,
    url TEXT NOT NULL,
    request_headers TEXT NOT NULL,
    response_headers TEXT NOT NULL,
    status_code INTEGER,
    error TEXT,
    started_at INTEGER NOT NULL,
    finished_at INTEGER NOT NULL,
    duration_ms INTEGER NOT NULL,
    request_body TEXT,
    response_body TEXT,
    PRIMARY KEY (run_id, step, number),
    FOREIGN KEY (run_id, step) REFERENCES debug_steps (run_id, number) ON DELETE CASCADE
) STRICT;

-- What segments of requests say that are in no history: the system prompt and the tools, by their hash.
CREATE TABLE debug_texts (
    chat_id TEXT NOT NULL REFERENCES chats (id) ON DELETE CASCADE,
    hash TEXT NOT NULL,
    noted_at INTEGER NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (chat_id, hash)
) STRICT;
CREATE INDEX debug_texts_by_age ON debug_texts (noted_at);
