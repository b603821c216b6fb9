-- What a step's request was made of, as the difference to the one before it (core/segments.py), and what the
-- provider's cache did for it.
ALTER TABLE steps ADD COLUMN segments text;
ALTER TABLE steps ADD COLUMN cache text;

-- As `step_put`, which replicas of the version before still use.
CREATE TYPE step_put_2 AS (
    chat_id text,
    turn bigint,
    number bigint,
    id text,
    kind text,
    message_id text,
    model text,
    provider text,
    response_id text,
    attempts bigint,
    usage text,
    started_at bigint,
    first_part_at bigint,
    finished_at bigint,
    outcome text,
    failures text,
    revision bigint,
    segments text,
    cache text
);

-- What titles and summaries of a chat used, in all: they are made beside its turns.
CREATE TABLE side_spending (
    chat_id uuid PRIMARY KEY REFERENCES chats (id) ON DELETE CASCADE,
    tokens bigint NOT NULL,
    usd_micros bigint NOT NULL,
    usage text NOT NULL
);
