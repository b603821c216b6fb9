-- The span of another program that a turn or a run is part of (W3C traceparent), as its request said; a message
-- that waits keeps it for the turn that it will start.
ALTER TABLE queue ADD COLUMN trace_parent text;
ALTER TABLE turns ADD COLUMN trace_parent text;
ALTER TABLE runs ADD COLUMN trace_parent text;
ALTER TABLE flow_runs ADD COLUMN trace_parent text;

-- As `queued_put` and `turn_put`, which replicas of the version before still use.
CREATE TYPE queued_put_2 AS (
    chat_id text,
    id text,
    busy text,
    place bigint,
    hold_token text,
    hold_until bigint,
    model text,
    effort text,
    created_by text,
    created_at bigint,
    parts text,
    trace_parent text
);

CREATE TYPE turn_put_2 AS (
    chat_id text,
    number bigint,
    kind text,
    message_id text,
    started_at bigint,
    finished_at bigint,
    outcome text,
    failure text,
    revision bigint,
    trace_parent text
);
