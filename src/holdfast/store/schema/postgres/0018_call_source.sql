-- Where the tool of a call came from, and as what it was configured (see tools/registry.py).
ALTER TABLE calls ADD COLUMN source TEXT;

-- As `call_put_2`, which replicas of the version before still use.
CREATE TYPE call_put_3 AS (
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
    source text
);
