-- Runs of workflow scripts, the journal of their calls and what they said.

CREATE TABLE runs (
    id uuid PRIMARY KEY,
    owner_id uuid NOT NULL,
    name text NOT NULL,
    language text NOT NULL,
    status text NOT NULL,
    -- Moves with every write; rows of the other two tables carry the version that last wrote them.
    version bigint NOT NULL,
    created_at bigint NOT NULL,
    started_at bigint,
    finished_at bigint,
    -- As a chat's: it lives as long as the worker's row says.
    lease_worker_id uuid,
    lease_number bigint NOT NULL,
    workspace_id uuid,
    model text,
    effort text,
    max_concurrency bigint,
    -- Output tokens, of the script with all its agents.
    budget_tokens bigint,
    spent_tokens bigint NOT NULL,
    spent_usd_micros bigint NOT NULL,
    -- Of the arguments, so that the newest run with the same ones is found.
    args_hash text NOT NULL,
    -- The run that lends its answers.
    resumed_from uuid,
    -- The call that asked for it; no reference, for the chat may be deleted first.
    chat_id uuid,
    call_id text,
    -- What its agents may use, as in the settings of a chat.
    tools text NOT NULL,
    phases text NOT NULL,
    error text,
    args text,
    script text NOT NULL,
    result text
);
CREATE INDEX runs_listed ON runs (owner_id, id);
CREATE INDEX runs_wanted ON runs (lease_worker_id, id) WHERE status IN ('pending', 'running');
CREATE INDEX runs_lending ON runs (owner_id, name, args_hash, id) WHERE status IN ('succeeded', 'failed');
CREATE UNIQUE INDEX runs_of_calls ON runs (chat_id, call_id) WHERE chat_id IS NOT NULL;

CREATE TABLE run_calls (
    run_id uuid NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    -- 0: the run's own script; else the number of the call that started the nested one.
    scope bigint NOT NULL,
    number bigint NOT NULL,
    kind text NOT NULL,
    hash text NOT NULL,
    occurrence bigint NOT NULL,
    label text,
    phase text,
    branch text,
    chat_id uuid,
    reused boolean NOT NULL,
    started_at bigint,
    finished_at bigint,
    outcome text,
    -- The place of its answer in the order in which the script heard them, and what had been spent then.
    delivery bigint,
    spent bigint,
    revision bigint NOT NULL,
    usage text,
    error text,
    -- What binds the agent: the schema of its answer, its limits.
    terms text,
    -- The text of a nested workflow, kept like the run's own.
    script text,
    value text,
    PRIMARY KEY (run_id, scope, number)
);
CREATE INDEX run_calls_by_revision ON run_calls (run_id, revision);
CREATE INDEX run_calls_of_chats ON run_calls (chat_id) WHERE chat_id IS NOT NULL;

CREATE TABLE run_lines (
    run_id uuid NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    number bigint NOT NULL,
    scope bigint NOT NULL,
    -- Which line of the script it is, counted; NULL: the server's own. A script that runs again says the
    -- same lines again.
    place bigint,
    kind text NOT NULL,
    at bigint NOT NULL,
    revision bigint NOT NULL,
    text text NOT NULL,
    PRIMARY KEY (run_id, number)
);
CREATE INDEX run_lines_by_revision ON run_lines (run_id, revision);
