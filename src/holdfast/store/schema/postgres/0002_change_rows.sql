-- How the rows of many changes travel in one statement: an array of each of these. They are types of their own,
-- not the tables' row types, so that a replica of an older version can go on while a newer one adds columns.
-- Ids are text here and cast where they are used.

CREATE TYPE chat_moved AS (
    id text,
    before bigint,
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

CREATE TYPE chat_created AS (
    id text,
    owner_id text,
    parent_id text,
    parent_call_id text,
    root_id text,
    run_id text,
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

CREATE TYPE settings_chosen AS (
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
    words text[]
);

CREATE TYPE label_put AS (chat_id text, label text);

CREATE TYPE message_put AS (
    chat_id text,
    id text,
    turn bigint,
    role text,
    revision bigint,
    visibility text,
    model text,
    effort text,
    usage text,
    removed boolean,
    interrupted boolean,
    compaction boolean,
    queue_item_id text,
    created_by text,
    created_at bigint,
    parts text
);

CREATE TYPE queued_put AS (
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
    parts text
);

CREATE TYPE notice_put AS (
    chat_id text,
    id text,
    source text,
    key text,
    wake boolean,
    created_at bigint,
    text text,
    data text,
    taken_version bigint
);

CREATE TYPE call_put AS (
    chat_id text,
    call_id text,
    message_id text,
    turn bigint,
    position bigint,
    name text,
    effect text,
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
    revision bigint
);

CREATE TYPE output_put AS (chat_id text, call_id text, run bigint, text text);

CREATE TYPE step_put AS (
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
    revision bigint
);

CREATE TYPE turn_put AS (
    chat_id text,
    number bigint,
    kind text,
    message_id text,
    started_at bigint,
    finished_at bigint,
    outcome text,
    failure text,
    revision bigint
);

CREATE TYPE turn_ended AS (chat_id text, number bigint, finished_at bigint, outcome text, failure text, revision bigint);

CREATE TYPE delivery_put AS (
    child_id text,
    turn bigint,
    parent_id text,
    run_id text,
    outcome text,
    answer_id text,
    created_at bigint,
    failure text
);

CREATE TYPE delivery_taken AS (chat_id text, child_id text, turn bigint);

-- A message, queue item or notice of a chat, with the version that concerns it.
CREATE TYPE chat_item AS (chat_id text, id text, version bigint);
