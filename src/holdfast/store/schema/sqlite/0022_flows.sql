-- Runs of flows: the run, a row for each of its steps, what was said, who may answer its approvals.

CREATE TABLE flow_runs (
    id TEXT PRIMARY KEY NOT NULL,
    owner_id TEXT NOT NULL,
    name TEXT NOT NULL,
    status TEXT NOT NULL,
    -- Moves with every write; rows of the other tables carry the version that last wrote them.
    version INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    started_at INTEGER,
    finished_at INTEGER,
    -- As a chat's: it lives as long as the worker's row says. A run that waits has none.
    lease_worker_id TEXT,
    lease_number INTEGER NOT NULL,
    -- When a run that waits is looked at again.
    wake_at INTEGER,
    -- Of the last write of its driver, which may be repeated.
    write_key TEXT,
    workspace_id TEXT,
    -- Output tokens of all agents.
    budget_tokens INTEGER,
    spent_tokens INTEGER NOT NULL,
    spent_usd_micros INTEGER NOT NULL,
    args_hash TEXT NOT NULL,
    -- The run that lends its answers.
    resumed_from TEXT,
    -- The call that asked for it; no reference, for the chat may be deleted first.
    chat_id TEXT,
    call_id TEXT,
    tools TEXT NOT NULL,
    model TEXT,
    effort TEXT,
    reuse TEXT,
    workspace_state TEXT,
    final_state TEXT,
    error TEXT,
    args TEXT,
    -- As it was written, and as it was read.
    text TEXT NOT NULL,
    definition TEXT NOT NULL,
    result TEXT
) STRICT;
CREATE INDEX flow_runs_listed ON flow_runs (owner_id, id);
CREATE INDEX flow_runs_wanted ON flow_runs (lease_worker_id, id) WHERE status IN ('pending', 'running', 'waiting');
CREATE INDEX flow_runs_lending ON flow_runs (owner_id, name, args_hash, id)
    WHERE status IN ('succeeded', 'failed', 'timed_out', 'cancelled');
CREATE UNIQUE INDEX flow_runs_of_calls ON flow_runs (chat_id, call_id) WHERE chat_id IS NOT NULL;

CREATE TABLE flow_steps (
    run_id TEXT NOT NULL REFERENCES flow_runs (id) ON DELETE CASCADE,
    id TEXT NOT NULL,
    position INTEGER NOT NULL,
    kind TEXT NOT NULL,
    batch TEXT,
    state TEXT NOT NULL,
    reason TEXT,
    detail TEXT,
    attempt INTEGER NOT NULL,
    retried INTEGER NOT NULL,
    chat_id TEXT,
    -- Of the attempt before, until it is at rest.
    previous_chat_id TEXT,
    workflow_run_id TEXT,
    reused INTEGER NOT NULL,
    begun_at INTEGER,
    started_at INTEGER,
    finished_at INTEGER,
    deadline_at INTEGER,
    revision INTEGER NOT NULL,
    -- Of what decides an agent's answer.
    hash TEXT,
    usage TEXT,
    terms TEXT,
    choice TEXT,
    answer TEXT,
    -- What an approval asks.
    text TEXT,
    output TEXT,
    PRIMARY KEY (run_id, id)
) STRICT;
CREATE INDEX flow_steps_by_revision ON flow_steps (run_id, revision);
CREATE INDEX flow_steps_of_chats ON flow_steps (chat_id) WHERE chat_id IS NOT NULL;

CREATE TABLE flow_lines (
    run_id TEXT NOT NULL REFERENCES flow_runs (id) ON DELETE CASCADE,
    number INTEGER NOT NULL,
    kind TEXT NOT NULL,
    at INTEGER NOT NULL,
    step_id TEXT,
    revision INTEGER NOT NULL,
    text TEXT NOT NULL,
    PRIMARY KEY (run_id, number)
) STRICT, WITHOUT ROWID;
CREATE INDEX flow_lines_by_revision ON flow_lines (run_id, revision);

CREATE TABLE flow_approvers (
    run_id TEXT NOT NULL REFERENCES flow_runs (id) ON DELETE CASCADE,
    step_id TEXT NOT NULL,
    user_id TEXT NOT NULL,
    PRIMARY KEY (run_id, step_id, user_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX flow_approvers_by_user ON flow_approvers (user_id, run_id);
