-- Runs of workflow scripts, the journal of their calls and what they said.

CREATE TABLE runs (
    id TEXT PRIMARY KEY NOT NULL,
    owner_id TEXT NOT NULL,
    name TEXT NOT NULL,
    language TEXT NOT NULL,
    status TEXT NOT NULL,
    -- Moves with every write; rows of the other two tables carry the version that last wrote them.
    version INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    started_at INTEGER,
    finished_at INTEGER,
    -- As a chat's: it lives as long as the worker's row says.
    lease_worker_id TEXT,
    lease_number INTEGER NOT NULL,
    workspace_id TEXT,
    model TEXT,
    effort TEXT,
    max_concurrency INTEGER,
    -- Output tokens, of the script with all its agents.
    budget_tokens INTEGER,
    spent_tokens INTEGER NOT NULL,
    spent_usd_micros INTEGER NOT NULL,
    -- Of the arguments, so that the newest run with the same ones is found.
    args_hash TEXT NOT NULL,
    -- The run that lends its answers.
    resumed_from TEXT,
    -- The call that asked for it; no reference, for the chat may be deleted first.
    chat_id TEXT,
    call_id TEXT,
    -- What its agents may use, as in the settings of a chat.
    tools TEXT NOT NULL,
    phases TEXT NOT NULL,
    error TEXT,
    args TEXT,
    script TEXT NOT NULL,
    result TEXT
) STRICT;
CREATE INDEX runs_listed ON runs (owner_id, id);
CREATE INDEX runs_wanted ON runs (lease_worker_id, id) WHERE status IN ('pending', 'running');
CREATE INDEX runs_lending ON runs (owner_id, name, args_hash, id) WHERE status IN ('succeeded', 'failed');
CREATE UNIQUE INDEX runs_of_calls ON runs (chat_id, call_id) WHERE chat_id IS NOT NULL;

CREATE TABLE run_calls (
    run_id TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    -- 0: the run's own script; else the number of the call that started the nested one.
    scope INTEGER NOT NULL,
    number INTEGER NOT NULL,
    kind TEXT NOT NULL,
    hash TEXT NOT NULL,
    occurrence INTEGER NOT NULL,
    label TEXT,
    phase TEXT,
    branch TEXT,
    chat_id TEXT,
    reused INTEGER NOT NULL,
    started_at INTEGER,
    finished_at INTEGER,
    outcome TEXT,
    -- The place of its answer in the order in which the script heard them, and what had been spent then.
    delivery INTEGER,
    spent INTEGER,
    revision INTEGER NOT NULL,
    usage TEXT,
    error TEXT,
    -- What binds the agent: the schema of its answer, its limits.
    terms TEXT,
    -- The text of a nested workflow, kept like the run's own.
    script TEXT,
    value TEXT,
    PRIMARY KEY (run_id, scope, number)
) STRICT;
CREATE INDEX run_calls_by_revision ON run_calls (run_id, revision);
CREATE INDEX run_calls_of_chats ON run_calls (chat_id) WHERE chat_id IS NOT NULL;

CREATE TABLE run_lines (
    run_id TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    number INTEGER NOT NULL,
    scope INTEGER NOT NULL,
    -- Which line of the script it is, counted; NULL: the server's own. A script that runs again says the
    -- same lines again.
    place INTEGER,
    kind TEXT NOT NULL,
    at INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    text TEXT NOT NULL,
    PRIMARY KEY (run_id, number)
) STRICT, WITHOUT ROWID;
CREATE INDEX run_lines_by_revision ON run_lines (run_id, revision);
