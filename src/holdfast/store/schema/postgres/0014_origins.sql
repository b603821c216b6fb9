-- Where a chat comes from (see core/origins.py). The ids beside it are what it is found by.
ALTER TABLE chats ADD COLUMN origin text DEFAULT '{"kind":"person"}';
-- Replicas of the version before write none: then the ids tell.
ALTER TABLE chats ALTER COLUMN origin DROP DEFAULT;

UPDATE chats SET origin = json_build_object('kind', 'chat', 'chat_id', parent_id, 'call_id', parent_call_id)
    WHERE parent_id IS NOT NULL;
UPDATE chats SET origin = json_build_object('kind', 'run', 'run_id', run_id)
    WHERE parent_id IS NULL AND run_id IS NOT NULL;

-- As `chat_created`, which replicas of the version before still use.
CREATE TYPE chat_created_2 AS (
    id text,
    owner_id text,
    parent_id text,
    parent_call_id text,
    root_id text,
    run_id text,
    origin text,
    created_at bigint,
    version bigint,
    history_version bigint,
    queue_version bigint,
    retry_version bigint,
    attempt bigint,
    turn bigint,
    turn_kind text,
    turn_model text,
    turn_effort text,
    turn_steps bigint,
    compaction text,
    last_message_id text,
    answer_id text,
    message_count bigint,
    queue_length bigint,
    spent_tokens bigint,
    spent_usd_micros bigint,
    updated_at bigint,
    usage text,
    last_error text,
    retry text,
    status text,
    archived boolean,
    active_at bigint,
    lease_worker_id text,
    lease_number bigint
);
