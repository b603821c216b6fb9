-- Chats, their history and everything that must happen once.
-- Ids are lower-case UUIDv7 text, times microseconds since 1970 UTC, JSON is text, a flag is 0 or 1.
-- Large columns come last: a row can be judged without touching its overflow pages.

-- Whoever runs chats. A chat's lease lives as long as its worker's row says, whatever the chat's row says.
CREATE TABLE workers (
    id TEXT PRIMARY KEY NOT NULL,
    name TEXT NOT NULL,
    started_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- The execution state. Only transitions write it; what people chose is in settings, so that neither waits
-- for the other and a step does not rewrite a long instruction.
CREATE TABLE chats (
    key INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    owner_id TEXT NOT NULL,
    parent_id TEXT REFERENCES chats (id),
    parent_call_id TEXT,
    root_id TEXT NOT NULL,
    run_id TEXT,
    depth INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    status TEXT NOT NULL,
    archived INTEGER NOT NULL,
    version INTEGER NOT NULL,
    history_version INTEGER NOT NULL,
    queue_version INTEGER NOT NULL,
    retry_version INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    -- No reference: deleting a worker would have to look at every chat. Sweeping keeps those that are named.
    lease_worker_id TEXT,
    lease_number INTEGER NOT NULL,
    turn INTEGER NOT NULL,
    turn_kind TEXT NOT NULL,
    turn_model TEXT,
    turn_effort TEXT,
    turn_steps INTEGER NOT NULL,
    compaction TEXT,
    last_message_id TEXT,
    answer_id TEXT,
    message_count INTEGER NOT NULL,
    queue_length INTEGER NOT NULL,
    spent_tokens INTEGER NOT NULL,
    spent_usd_micros INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    active_at INTEGER NOT NULL,
    -- The history version up to which messages are in the search index.
    searched_version INTEGER NOT NULL DEFAULT 0,
    usage TEXT NOT NULL,
    last_error TEXT,
    retry TEXT
) STRICT;

-- No index names a column that moves with every step. Transitions that leave these columns alone use a
-- statement that does not name them, because SQLite rewrites every index whose columns are named.
CREATE INDEX chats_listed ON chats (owner_id, archived, active_at, id)
    WHERE parent_id IS NULL AND run_id IS NULL;
CREATE INDEX chats_by_parent ON chats (parent_id, id) WHERE parent_id IS NOT NULL;
CREATE INDEX chats_by_root ON chats (root_id, id) WHERE parent_id IS NOT NULL;
CREATE INDEX chats_by_run ON chats (run_id, id) WHERE run_id IS NOT NULL;
CREATE INDEX chats_wanted ON chats (lease_worker_id, active_at) WHERE status IN ('running', 'interrupting');
CREATE INDEX chats_not_idle ON chats (owner_id, status, active_at, id) WHERE status <> 'idle';

CREATE TABLE settings (
    chat_id TEXT PRIMARY KEY NOT NULL REFERENCES chats (id) ON DELETE CASCADE,
    title TEXT NOT NULL,
    title_source TEXT NOT NULL,
    summary TEXT NOT NULL,
    model TEXT,
    effort TEXT,
    workspace_id TEXT,
    agent TEXT,
    pinned INTEGER NOT NULL,
    budget_tokens INTEGER,
    budget_usd_micros INTEGER,
    labels TEXT NOT NULL,
    tools TEXT NOT NULL,
    client_tools TEXT NOT NULL,
    instructions TEXT
) STRICT;

-- The labels of settings once more, to be found by.
CREATE TABLE labels (
    label TEXT NOT NULL,
    chat_id TEXT NOT NULL REFERENCES settings (chat_id) ON DELETE CASCADE,
    PRIMARY KEY (label, chat_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX labels_by_chat ON labels (chat_id);

CREATE TABLE messages (
    key INTEGER PRIMARY KEY,
    chat_id TEXT NOT NULL REFERENCES chats (id) ON DELETE CASCADE,
    id TEXT NOT NULL,
    turn INTEGER NOT NULL,
    role TEXT NOT NULL,
    revision INTEGER NOT NULL,
    visibility TEXT NOT NULL,
    model TEXT,
    effort TEXT,
    usage TEXT,
    removed INTEGER NOT NULL,
    interrupted INTEGER NOT NULL,
    compaction INTEGER NOT NULL,
    queue_item_id TEXT,
    created_by TEXT,
    created_at INTEGER NOT NULL,
    parts TEXT NOT NULL,
    UNIQUE (chat_id, id)
) STRICT;
-- Messages that are not removed have rising revisions, as they have rising ids: what changed since a revision is
-- found from the newest backwards, and needs an index only for what was removed (see store/messages.py).
CREATE INDEX messages_removed ON messages (chat_id, revision, id) WHERE removed;
CREATE INDEX messages_from_queue ON messages (chat_id, queue_item_id) WHERE queue_item_id IS NOT NULL;
-- From the newest of these on is what a model is shown.
CREATE INDEX messages_boundary ON messages (chat_id, id)
    WHERE compaction AND visibility = 'model' AND NOT removed;

CREATE TABLE queue (
    chat_id TEXT NOT NULL REFERENCES chats (id) ON DELETE CASCADE,
    id TEXT NOT NULL,
    busy TEXT NOT NULL,
    place INTEGER NOT NULL,
    hold_token TEXT,
    hold_until INTEGER,
    model TEXT,
    effort TEXT,
    created_by TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    parts TEXT NOT NULL,
    PRIMARY KEY (chat_id, id)
) STRICT;
CREATE INDEX queue_held ON queue (hold_until) WHERE hold_until IS NOT NULL;

-- A notice stays after it entered history: its key makes it happen once.
CREATE TABLE inbox (
    chat_id TEXT NOT NULL REFERENCES chats (id) ON DELETE CASCADE,
    id TEXT NOT NULL,
    source TEXT NOT NULL,
    key TEXT NOT NULL,
    wake INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    -- The version of the chat that took it into history.
    taken_version INTEGER,
    text TEXT NOT NULL,
    data TEXT NOT NULL,
    PRIMARY KEY (chat_id, id),
    UNIQUE (chat_id, key)
) STRICT;
CREATE INDEX inbox_waiting ON inbox (chat_id, id) WHERE taken_version IS NULL;

CREATE TABLE calls (
    chat_id TEXT NOT NULL REFERENCES chats (id) ON DELETE CASCADE,
    call_id TEXT NOT NULL,
    message_id TEXT NOT NULL,
    turn INTEGER NOT NULL,
    position INTEGER NOT NULL,
    name TEXT NOT NULL,
    effect TEXT NOT NULL,
    on_uncertain TEXT NOT NULL,
    state TEXT NOT NULL,
    waits_for TEXT,
    deadline_seconds REAL,
    deadline_at INTEGER,
    run INTEGER NOT NULL,
    lease_number INTEGER,
    fenced_until INTEGER,
    outcome TEXT,
    truncated INTEGER NOT NULL,
    abandoned INTEGER NOT NULL,
    started_at INTEGER,
    finished_at INTEGER,
    -- The version of the chat that last wrote this row.
    revision INTEGER NOT NULL,
    approval TEXT,
    output TEXT NOT NULL,
    diff TEXT,
    PRIMARY KEY (chat_id, call_id)
) STRICT;
CREATE INDEX calls_open ON calls (chat_id) WHERE state <> 'answered';
CREATE INDEX calls_by_revision ON calls (chat_id, revision);
CREATE INDEX calls_due ON calls (deadline_at) WHERE state = 'waiting' AND deadline_at IS NOT NULL;

-- What a call said in full, where the model was given less.
CREATE TABLE call_outputs (
    chat_id TEXT NOT NULL,
    call_id TEXT NOT NULL,
    run INTEGER NOT NULL,
    text TEXT NOT NULL,
    PRIMARY KEY (chat_id, call_id, run),
    FOREIGN KEY (chat_id, call_id) REFERENCES calls (chat_id, call_id) ON DELETE CASCADE
) STRICT;

CREATE TABLE steps (
    chat_id TEXT NOT NULL REFERENCES chats (id) ON DELETE CASCADE,
    turn INTEGER NOT NULL,
    number INTEGER NOT NULL,
    id TEXT NOT NULL,
    kind TEXT NOT NULL,
    message_id TEXT,
    model TEXT,
    provider TEXT,
    response_id TEXT,
    attempts INTEGER NOT NULL,
    usage TEXT NOT NULL,
    started_at INTEGER NOT NULL,
    first_part_at INTEGER,
    finished_at INTEGER NOT NULL,
    outcome TEXT NOT NULL,
    revision INTEGER NOT NULL,
    failures TEXT NOT NULL,
    PRIMARY KEY (chat_id, turn, number)
) STRICT, WITHOUT ROWID;

CREATE INDEX steps_by_revision ON steps (chat_id, revision);

CREATE TABLE turns (
    chat_id TEXT NOT NULL REFERENCES chats (id) ON DELETE CASCADE,
    number INTEGER NOT NULL,
    kind TEXT NOT NULL,
    message_id TEXT,
    started_at INTEGER NOT NULL,
    finished_at INTEGER,
    outcome TEXT,
    revision INTEGER NOT NULL,
    failure TEXT,
    PRIMARY KEY (chat_id, number)
) STRICT, WITHOUT ROWID;

-- The end of a child's turn, handed over once. It outlives the child: no reference.
CREATE TABLE deliveries (
    child_id TEXT NOT NULL,
    turn INTEGER NOT NULL,
    parent_id TEXT,
    run_id TEXT,
    outcome TEXT NOT NULL,
    answer_id TEXT,
    created_at INTEGER NOT NULL,
    taken INTEGER NOT NULL DEFAULT 0,
    failure TEXT,
    PRIMARY KEY (child_id, turn)
) STRICT, WITHOUT ROWID;
CREATE INDEX deliveries_for_parent ON deliveries (parent_id, created_at)
    WHERE NOT taken AND parent_id IS NOT NULL;
CREATE INDEX deliveries_for_run ON deliveries (run_id, created_at) WHERE NOT taken AND run_id IS NOT NULL;

-- Answers already given, for who asks again with the same key.
CREATE TABLE idempotency_keys (
    user_id TEXT NOT NULL,
    method TEXT NOT NULL,
    path TEXT NOT NULL,
    key TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    status INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (user_id, method, path, key)
) STRICT;
CREATE INDEX idempotency_keys_by_age ON idempotency_keys (created_at);

-- The words of a message, filled in the background; rowid is the message's key, so that the newest come
-- first without sorting. `scope` holds who owns it and which chat it is of, as two words. Both tables are
-- given words that are folded already (see store/search_words.py): the tokenizer only splits them at spaces.
CREATE VIRTUAL TABLE message_words USING fts5 (
    scope, body, content = '', contentless_delete = 1, detail = column, tokenize = 'ascii'
);
-- The words of a title; rowid is the chat's key. Written with the title.
CREATE VIRTUAL TABLE title_words USING fts5 (
    scope, body, content = '', contentless_delete = 1, detail = column, tokenize = 'ascii'
);
