-- Chats, their history and everything that must happen once.
-- Times are microseconds since 1970 UTC as bigint, JSON is text (exact, and free of jsonb's limits).

-- The database's clock in microseconds. Tests may set holdfast.now on their session.
CREATE FUNCTION now_micros() RETURNS bigint LANGUAGE sql VOLATILE AS $$
    SELECT coalesce(
        nullif(current_setting('holdfast.now', true), '')::bigint,
        (extract(epoch FROM clock_timestamp()) * 1000000)::bigint
    )
$$;

-- Whoever runs chats. A chat's lease lives as long as its worker's row says, whatever the chat's row says.
CREATE TABLE workers (
    id uuid PRIMARY KEY,
    name text NOT NULL,
    started_at bigint NOT NULL,
    expires_at bigint NOT NULL
);

-- The execution state. Only transitions write it; what people chose is in settings, so that neither waits
-- for the other and a step does not rewrite a long instruction.
-- No index names a column that moves with every step, and pages keep room: steps are HOT updates.
CREATE TABLE chats (
    id uuid PRIMARY KEY,
    owner_id uuid NOT NULL,
    parent_id uuid REFERENCES chats (id),
    parent_call_id text,
    root_id uuid NOT NULL,
    run_id uuid,
    depth bigint NOT NULL,
    created_at bigint NOT NULL,
    status text NOT NULL,
    archived boolean NOT NULL,
    version bigint NOT NULL,
    history_version bigint NOT NULL,
    queue_version bigint NOT NULL,
    retry_version bigint NOT NULL,
    attempt bigint NOT NULL,
    -- No reference: deleting a worker would have to look at every chat. Sweeping keeps those that are named.
    lease_worker_id uuid,
    lease_number bigint NOT NULL,
    turn bigint NOT NULL,
    turn_kind text NOT NULL,
    turn_model text,
    turn_effort text,
    turn_steps bigint NOT NULL,
    compaction text,
    last_message_id uuid,
    answer_id uuid,
    message_count bigint NOT NULL,
    queue_length bigint NOT NULL,
    spent_tokens bigint NOT NULL,
    spent_usd_micros bigint NOT NULL,
    updated_at bigint NOT NULL,
    active_at bigint NOT NULL,
    -- The history version up to which messages are in the search index; pending while it may be behind.
    searched_version bigint NOT NULL DEFAULT 0,
    search_pending boolean NOT NULL DEFAULT true,
    usage text NOT NULL,
    last_error text,
    retry text
) WITH (fillfactor = 70);

CREATE INDEX chats_listed ON chats (owner_id, archived, active_at, id)
    WHERE parent_id IS NULL AND run_id IS NULL;
CREATE INDEX chats_by_parent ON chats (parent_id, id) WHERE parent_id IS NOT NULL;
CREATE INDEX chats_by_root ON chats (root_id, id) WHERE parent_id IS NOT NULL;
CREATE INDEX chats_by_run ON chats (run_id, id) WHERE run_id IS NOT NULL;
CREATE INDEX chats_wanted ON chats (lease_worker_id, active_at) WHERE status IN ('running', 'interrupting');
CREATE INDEX chats_not_idle ON chats (owner_id, status, active_at, id) WHERE status <> 'idle';
CREATE INDEX chats_unsearched ON chats (id) WHERE search_pending;

CREATE TABLE settings (
    chat_id uuid PRIMARY KEY REFERENCES chats (id) ON DELETE CASCADE,
    title text NOT NULL,
    title_source text NOT NULL,
    summary text NOT NULL,
    model text,
    effort text,
    workspace_id uuid,
    agent text,
    pinned boolean NOT NULL,
    budget_tokens bigint,
    budget_usd_micros bigint,
    labels text NOT NULL,
    tools text NOT NULL,
    client_tools text NOT NULL,
    instructions text,
    -- Folded words of the title (see store/search_words.py), written with it.
    words tsvector NOT NULL
);
CREATE INDEX settings_words ON settings USING gin (words);

-- The labels of settings once more, to be found by.
CREATE TABLE labels (
    label text NOT NULL,
    chat_id uuid NOT NULL REFERENCES settings (chat_id) ON DELETE CASCADE,
    PRIMARY KEY (label, chat_id)
);
CREATE INDEX labels_by_chat ON labels (chat_id);

-- What steps write names its chat without a reference: it is written by the statement that moves the chat's row, and
-- checking each row again would cost a fifth of every step. Deleting a chat deletes from each of these tables.
CREATE TABLE messages (
    chat_id uuid NOT NULL,
    id uuid NOT NULL,
    turn bigint NOT NULL,
    role text NOT NULL,
    revision bigint NOT NULL,
    visibility text NOT NULL,
    model text,
    effort text,
    usage text,
    removed boolean NOT NULL,
    interrupted boolean NOT NULL,
    compaction boolean NOT NULL,
    queue_item_id uuid,
    created_by uuid,
    created_at bigint NOT NULL,
    parts text NOT NULL,
    PRIMARY KEY (chat_id, id)
);
-- Messages that are not removed have rising revisions, as they have rising ids: what changed since a revision is
-- found from the newest backwards, and needs an index only for what was removed (see store/messages.py).
CREATE INDEX messages_removed ON messages (chat_id, revision, id) WHERE removed;
CREATE INDEX messages_from_queue ON messages (chat_id, queue_item_id) WHERE queue_item_id IS NOT NULL;
-- From the newest of these on is what a model is shown.
CREATE INDEX messages_boundary ON messages (chat_id, id)
    WHERE compaction AND visibility = 'model' AND NOT removed;

CREATE TABLE queue (
    chat_id uuid NOT NULL,
    id uuid NOT NULL,
    busy text NOT NULL,
    place bigint NOT NULL,
    hold_token text,
    hold_until bigint,
    model text,
    effort text,
    created_by uuid NOT NULL,
    created_at bigint NOT NULL,
    parts text NOT NULL,
    PRIMARY KEY (chat_id, id)
);
CREATE INDEX queue_held ON queue (hold_until) WHERE hold_until IS NOT NULL;

-- A notice stays after it entered history: its key makes it happen once.
CREATE TABLE inbox (
    chat_id uuid NOT NULL,
    id uuid NOT NULL,
    source text NOT NULL,
    key text NOT NULL,
    wake boolean NOT NULL,
    created_at bigint NOT NULL,
    -- The version of the chat that took it into history.
    taken_version bigint,
    text text NOT NULL,
    data text NOT NULL,
    PRIMARY KEY (chat_id, id),
    UNIQUE (chat_id, key)
);
CREATE INDEX inbox_waiting ON inbox (chat_id, id) WHERE taken_version IS NULL;

CREATE TABLE calls (
    chat_id uuid NOT NULL,
    call_id text NOT NULL,
    message_id uuid NOT NULL,
    turn bigint NOT NULL,
    position bigint NOT NULL,
    name text NOT NULL,
    effect text NOT NULL,
    on_uncertain text NOT NULL,
    state text NOT NULL,
    waits_for text,
    deadline_seconds double precision,
    deadline_at bigint,
    run bigint NOT NULL,
    lease_number bigint,
    fenced_until bigint,
    outcome text,
    truncated boolean NOT NULL,
    abandoned boolean NOT NULL,
    started_at bigint,
    finished_at bigint,
    -- The version of the chat that last wrote this row.
    revision bigint NOT NULL,
    approval text,
    output text NOT NULL,
    diff text,
    PRIMARY KEY (chat_id, call_id)
);
CREATE INDEX calls_open ON calls (chat_id) WHERE state <> 'answered';
CREATE INDEX calls_by_revision ON calls (chat_id, revision);
CREATE INDEX calls_due ON calls (deadline_at) WHERE state = 'waiting' AND deadline_at IS NOT NULL;

-- What a call said in full, where the model was given less.
CREATE TABLE call_outputs (
    chat_id uuid NOT NULL,
    call_id text NOT NULL,
    run bigint NOT NULL,
    text text NOT NULL,
    PRIMARY KEY (chat_id, call_id, run),
    FOREIGN KEY (chat_id, call_id) REFERENCES calls (chat_id, call_id) ON DELETE CASCADE
);

CREATE TABLE steps (
    chat_id uuid NOT NULL,
    turn bigint NOT NULL,
    number bigint NOT NULL,
    id uuid NOT NULL,
    kind text NOT NULL,
    message_id uuid,
    model text,
    provider text,
    response_id text,
    attempts bigint NOT NULL,
    usage text NOT NULL,
    started_at bigint NOT NULL,
    first_part_at bigint,
    finished_at bigint NOT NULL,
    outcome text NOT NULL,
    revision bigint NOT NULL,
    failures text NOT NULL,
    PRIMARY KEY (chat_id, turn, number)
);

CREATE INDEX steps_by_revision ON steps (chat_id, revision);

CREATE TABLE turns (
    chat_id uuid NOT NULL,
    number bigint NOT NULL,
    kind text NOT NULL,
    message_id uuid,
    started_at bigint NOT NULL,
    finished_at bigint,
    outcome text,
    revision bigint NOT NULL,
    failure text,
    PRIMARY KEY (chat_id, number)
);

-- The end of a child's turn, handed over once. It outlives the child: no reference.
CREATE TABLE deliveries (
    child_id uuid NOT NULL,
    turn bigint NOT NULL,
    parent_id uuid,
    run_id uuid,
    outcome text NOT NULL,
    answer_id uuid,
    created_at bigint NOT NULL,
    taken boolean NOT NULL DEFAULT false,
    failure text,
    PRIMARY KEY (child_id, turn)
);
CREATE INDEX deliveries_for_parent ON deliveries (parent_id, created_at)
    WHERE NOT taken AND parent_id IS NOT NULL;
CREATE INDEX deliveries_for_run ON deliveries (run_id, created_at) WHERE NOT taken AND run_id IS NOT NULL;

-- Answers already given, for who asks again with the same key.
CREATE TABLE idempotency_keys (
    user_id uuid NOT NULL,
    method text NOT NULL,
    path text NOT NULL,
    key text NOT NULL,
    fingerprint text NOT NULL,
    status bigint NOT NULL,
    created_at bigint NOT NULL,
    body bytea NOT NULL,
    PRIMARY KEY (user_id, method, path, key)
);
CREATE INDEX idempotency_keys_by_age ON idempotency_keys (created_at);

-- The words of a message, filled in the background. Words are folded already (see store/search_words.py): they go
-- in by array_to_tsvector, never through a text search configuration.
CREATE TABLE message_words (
    chat_id uuid NOT NULL,
    message_id uuid NOT NULL,
    owner_id uuid NOT NULL,
    words tsvector NOT NULL,
    PRIMARY KEY (chat_id, message_id),
    FOREIGN KEY (chat_id, message_id) REFERENCES messages (chat_id, id) ON DELETE CASCADE
);
CREATE INDEX message_words_newest ON message_words (owner_id, message_id);
CREATE INDEX message_words_words ON message_words USING gin (words);
