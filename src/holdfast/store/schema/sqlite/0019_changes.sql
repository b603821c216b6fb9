-- What calls changed in workspaces: the state of each file before and after, whose contents are kept in a shadow
-- repository of the data directory.

CREATE TABLE checkpoints (
    id TEXT PRIMARY KEY NOT NULL,
    chat_id TEXT NOT NULL REFERENCES chats (id) ON DELETE CASCADE,
    -- The directory: a workspace's id, or that of a chat's own one.
    place TEXT NOT NULL,
    kind TEXT NOT NULL,
    turn INTEGER NOT NULL,
    -- 0: a person's act, such as a rewind.
    step INTEGER NOT NULL,
    call_id TEXT,
    created_at INTEGER NOT NULL,
    skipped TEXT NOT NULL,
    -- Of a rewind: the version that it gave the chat.
    rewound_at INTEGER
) STRICT;
CREATE INDEX checkpoints_of_chats ON checkpoints (chat_id, id);
CREATE INDEX checkpoints_of_places ON checkpoints (place, id);
CREATE INDEX checkpoints_by_age ON checkpoints (created_at);

CREATE TABLE file_changes (
    id TEXT PRIMARY KEY NOT NULL,
    checkpoint_id TEXT NOT NULL REFERENCES checkpoints (id) ON DELETE CASCADE,
    chat_id TEXT NOT NULL REFERENCES chats (id) ON DELETE CASCADE,
    place TEXT NOT NULL,
    turn INTEGER NOT NULL,
    step INTEGER NOT NULL,
    call_id TEXT,
    path TEXT NOT NULL,
    -- NULL: nothing was there.
    before_state TEXT,
    after_state TEXT,
    state TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    decided_by TEXT,
    decided_at INTEGER,
    additions INTEGER NOT NULL,
    deletions INTEGER NOT NULL,
    diff TEXT NOT NULL
) STRICT;
CREATE INDEX file_changes_of_chats ON file_changes (chat_id, id);
CREATE INDEX file_changes_of_places ON file_changes (place);
CREATE INDEX file_changes_of_checkpoints ON file_changes (checkpoint_id);

-- Files that are being written together, from before the first until after the last.
CREATE TABLE change_operations (
    id TEXT PRIMARY KEY NOT NULL,
    chat_id TEXT NOT NULL REFERENCES chats (id) ON DELETE CASCADE,
    created_at INTEGER NOT NULL,
    operation TEXT NOT NULL
) STRICT;
CREATE INDEX change_operations_by_age ON change_operations (created_at);
CREATE INDEX change_operations_of_chats ON change_operations (chat_id);
