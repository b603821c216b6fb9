-- Runs of flows: the run, a row for each of its steps, what was said, who may answer its approvals.

CREATE TABLE flow_runs (
    id uuid PRIMARY KEY,
    owner_id uuid NOT NULL,
    name text NOT NULL,
    status text NOT NULL,
    -- Moves with every write; rows of the other tables carry the version that last wrote them.
    version bigint NOT NULL,
    created_at bigint NOT NULL,
    started_at bigint,
    finished_at bigint,
    -- As a chat's: it lives as long as the worker's row says. A run that waits has none.
    lease_worker_id uuid,
    lease_number bigint NOT NULL,
    -- When a run that waits is looked at again.
    wake_at bigint,
    -- Of the last write of its driver, which may be repeated.
    write_key text,
    workspace_id uuid,
    -- Output tokens of all agents.
    budget_tokens bigint,
    spent_tokens bigint NOT NULL,
    spent_usd_micros bigint NOT NULL,
    args_hash text NOT NULL,
    -- The run that lends its answers.
    resumed_from uuid,
    -- The call that asked for it; no reference, for the chat may be deleted first.
    chat_id uuid,
    call_id text,
    tools text NOT NULL,
    model text,
    effort text,
    reuse text,
    workspace_state text,
    final_state text,
    error text,
    args text,
    -- As it was written, and as it was read.
    text text NOT NULL,
    definition text NOT NULL,
    result text
);
CREATE INDEX flow_runs_listed ON flow_runs (owner_id, id);
CREATE INDEX flow_runs_wanted ON flow_runs (lease_worker_id, id) WHERE status IN ('pending', 'running', 'waiting');
CREATE INDEX flow_runs_lending ON flow_runs (owner_id, name, args_hash, id)
    WHERE status IN ('succeeded', 'failed', 'timed_out', 'cancelled');
CREATE UNIQUE INDEX flow_runs_of_calls ON flow_runs (chat_id, call_id) WHERE chat_id IS NOT NULL;

CREATE TABLE flow_steps (
    run_id uuid NOT NULL REFERENCES flow_runs (id) ON DELETE CASCADE,
    id text NOT NULL,
    position bigint NOT NULL,
    kind text NOT NULL,
    batch text,
    state text NOT NULL,
    reason text,
    detail text,
    attempt bigint NOT NULL,
    retried bigint NOT NULL,
    chat_id uuid,
    -- Of the attempt before, until it is at rest.
    previous_chat_id uuid,
    workflow_run_id uuid,
    reused boolean NOT NULL,
    begun_at bigint,
    started_at bigint,
    finished_at bigint,
    deadline_at bigint,
    revision bigint NOT NULL,
    -- Of what decides an agent's answer.
    hash text,
    usage text,
    terms text,
    choice text,
    answer text,
    -- What an approval asks.
    text text,
    output text,
    PRIMARY KEY (run_id, id)
);
CREATE INDEX flow_steps_by_revision ON flow_steps (run_id, revision);
CREATE INDEX flow_steps_of_chats ON flow_steps (chat_id) WHERE chat_id IS NOT NULL;

CREATE TABLE flow_lines (
    run_id uuid NOT NULL REFERENCES flow_runs (id) ON DELETE CASCADE,
    number bigint NOT NULL,
    kind text NOT NULL,
    at bigint NOT NULL,
    step_id text,
    revision bigint NOT NULL,
    text text NOT NULL,
    PRIMARY KEY (run_id, number)
);
CREATE INDEX flow_lines_by_revision ON flow_lines (run_id, revision);

CREATE TABLE flow_approvers (
    run_id uuid NOT NULL REFERENCES flow_runs (id) ON DELETE CASCADE,
    step_id text NOT NULL,
    user_id uuid NOT NULL,
    PRIMARY KEY (run_id, step_id, user_id)
);
CREATE INDEX flow_approvers_by_user ON flow_approvers (user_id, run_id);
