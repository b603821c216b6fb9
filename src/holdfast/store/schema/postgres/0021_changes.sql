-- What calls changed in workspaces: the state of each file before and after, whose contents are kept in a shadow
-- repository of the data directory.

CREATE TABLE checkpoints (
    id uuid PRIMARY KEY,
    chat_id uuid NOT NULL REFERENCES chats (id) ON DELETE CASCADE,
    -- The directory: a workspace's id, or that of a chat's own one.
    place text NOT NULL,
    kind text NOT NULL,
    turn bigint NOT NULL,
    -- 0: a person's act, such as a rewind.
    step bigint NOT NULL,
    call_id text,
    created_at bigint NOT NULL,
    skipped text NOT NULL,
    -- Of a rewind: the version that it gave the chat.
    rewound_at bigint
);
CREATE INDEX checkpoints_of_chats ON checkpoints (chat_id, id);
CREATE INDEX checkpoints_of_places ON checkpoints (place, id);
CREATE INDEX checkpoints_by_age ON checkpoints (created_at);

CREATE TABLE file_changes (
    id uuid PRIMARY KEY,
    checkpoint_id uuid NOT NULL REFERENCES checkpoints (id) ON DELETE CASCADE,
    chat_id uuid NOT NULL REFERENCES chats (id) ON DELETE CASCADE,
    place text NOT NULL,
    turn bigint NOT NULL,
    step bigint NOT NULL,
    call_id text,
    path text NOT NULL,
    -- NULL: nothing was there.
    before_state text,
    after_state text,
    state text NOT NULL,
    created_at bigint NOT NULL,
    decided_by uuid,
    decided_at bigint,
    additions bigint NOT NULL,
    deletions bigint NOT NULL,
    diff text NOT NULL
);
CREATE INDEX file_changes_of_chats ON file_changes (chat_id, id);
CREATE INDEX file_changes_of_places ON file_changes (place);
CREATE INDEX file_changes_of_checkpoints ON file_changes (checkpoint_id);

-- Files that are being written together, from before the first until after the last.
CREATE TABLE change_operations (
    id uuid PRIMARY KEY,
    chat_id uuid NOT NULL REFERENCES chats (id) ON DELETE CASCADE,
    created_at bigint NOT NULL,
    operation text NOT NULL
);
CREATE INDEX change_operations_by_age ON change_operations (created_at);
CREATE INDEX change_operations_of_chats ON change_operations (chat_id);
