-- Files that people and agents put into chats; and, beside them, what people granted and took back, and which
-- chats edited what.

CREATE TABLE files (
    id uuid PRIMARY KEY,
    owner_id uuid NOT NULL REFERENCES users (id),
    name text NOT NULL,
    media_type text NOT NULL,
    size bigint NOT NULL,
    -- SHA-256 of the content.
    hash text NOT NULL,
    created_at bigint NOT NULL
);
CREATE INDEX files_by_hash ON files (hash);
CREATE INDEX files_by_age ON files (created_at);

-- Here and not on a disk: replicas share none.
CREATE TABLE file_contents (
    hash text PRIMARY KEY,
    content bytea NOT NULL,
    thumbnail bytea
);
-- Pictures do not get smaller by another compression, and pieces of what is not compressed are read directly.
ALTER TABLE file_contents ALTER COLUMN content SET STORAGE EXTERNAL;

-- No references: a use is noted before the message that names the file, and so before a new chat is there.
CREATE TABLE file_uses (
    file_id uuid NOT NULL,
    chat_id uuid NOT NULL,
    used_at bigint NOT NULL,
    PRIMARY KEY (file_id, chat_id)
);
CREATE INDEX file_uses_of_chats ON file_uses (chat_id);

-- Paths outside of the workspace that a chat may read.
CREATE TABLE grants (
    id uuid PRIMARY KEY,
    owner_id uuid NOT NULL REFERENCES users (id),
    chat_id uuid NOT NULL REFERENCES chats (id) ON DELETE CASCADE,
    call_id text NOT NULL,
    path text NOT NULL,
    kind text NOT NULL,
    reason text NOT NULL,
    granted_by uuid NOT NULL,
    granted_at bigint NOT NULL,
    UNIQUE (chat_id, call_id)
);
CREATE INDEX grants_of_owners ON grants (owner_id, id);

-- Words of a person on a tool for the whole chat that do not count any more; the word itself is on the call.
CREATE TABLE revoked_approvals (
    chat_id uuid NOT NULL REFERENCES chats (id) ON DELETE CASCADE,
    call_id text NOT NULL,
    revoked_by uuid NOT NULL,
    revoked_at bigint NOT NULL,
    PRIMARY KEY (chat_id, call_id)
);

-- What file tools changed, for whoever works in the same files.
CREATE TABLE edits (
    id uuid PRIMARY KEY,
    owner_id uuid NOT NULL,
    chat_id uuid NOT NULL REFERENCES chats (id) ON DELETE CASCADE,
    -- Where it is in the repository's own directory, whichever worktree it was edited in.
    place text NOT NULL,
    -- As the chat names it.
    path text NOT NULL,
    edited_at bigint NOT NULL,
    -- Pairs of first and last line; null: the whole file.
    lines text
);
CREATE INDEX edits_of_files ON edits (owner_id, place, edited_at);
CREATE INDEX edits_of_chats ON edits (chat_id);
CREATE INDEX edits_by_age ON edits (edited_at);

-- One row for each of the two chats.
CREATE TABLE collisions (
    chat_id uuid NOT NULL REFERENCES chats (id) ON DELETE CASCADE,
    other_id uuid NOT NULL REFERENCES chats (id) ON DELETE CASCADE,
    path text NOT NULL,
    severity text NOT NULL,
    noticed_at bigint NOT NULL,
    PRIMARY KEY (chat_id, path, other_id)
);
CREATE INDEX collisions_of_others ON collisions (other_id);

-- Checks that were run are told in messages; a trace looks for those since a version.
CREATE INDEX messages_of_system ON messages (chat_id, revision) WHERE role = 'system';
