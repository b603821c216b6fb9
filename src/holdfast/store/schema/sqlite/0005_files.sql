-- Files that people and agents put into chats; and, beside them, what people granted and took back, and which
-- chats edited what.

CREATE TABLE files (
    id TEXT PRIMARY KEY NOT NULL,
    owner_id TEXT NOT NULL REFERENCES users (id),
    name TEXT NOT NULL,
    media_type TEXT NOT NULL,
    size INTEGER NOT NULL,
    -- SHA-256 of the content, which lies under this name in the data directory.
    hash TEXT NOT NULL,
    created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX files_by_hash ON files (hash);
CREATE INDEX files_by_age ON files (created_at);

-- No references: a use is noted before the message that names the file, and so before a new chat is there.
CREATE TABLE file_uses (
    file_id TEXT NOT NULL,
    chat_id TEXT NOT NULL,
    used_at INTEGER NOT NULL,
    PRIMARY KEY (file_id, chat_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX file_uses_of_chats ON file_uses (chat_id);

-- Paths outside of the workspace that a chat may read.
CREATE TABLE grants (
    id TEXT PRIMARY KEY NOT NULL,
    owner_id TEXT NOT NULL REFERENCES users (id),
    chat_id TEXT NOT NULL REFERENCES chats (id) ON DELETE CASCADE,
    call_id TEXT NOT NULL,
    path TEXT NOT NULL,
    kind TEXT NOT NULL,
    reason TEXT NOT NULL,
    granted_by TEXT NOT NULL,
    granted_at INTEGER NOT NULL,
    UNIQUE (chat_id, call_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX grants_of_owners ON grants (owner_id, id);

-- Words of a person on a tool for the whole chat that do not count any more; the word itself is on the call.
CREATE TABLE revoked_approvals (
    chat_id TEXT NOT NULL REFERENCES chats (id) ON DELETE CASCADE,
    call_id TEXT NOT NULL,
    revoked_by TEXT NOT NULL,
    revoked_at INTEGER NOT NULL,
    PRIMARY KEY (chat_id, call_id)
) STRICT, WITHOUT ROWID;

-- What file tools changed, for whoever works in the same files.
CREATE TABLE edits (
    id TEXT PRIMARY KEY NOT NULL,
    owner_id TEXT NOT NULL,
    chat_id TEXT NOT NULL REFERENCES chats (id) ON DELETE CASCADE,
    -- Where it is in the repository's own directory, whichever worktree it was edited in.
    place TEXT NOT NULL,
    -- As the chat names it.
    path TEXT NOT NULL,
    edited_at INTEGER NOT NULL,
    -- Pairs of first and last line; null: the whole file.
    lines TEXT
) STRICT, WITHOUT ROWID;
CREATE INDEX edits_of_files ON edits (owner_id, place, edited_at);
CREATE INDEX edits_of_chats ON edits (chat_id);
CREATE INDEX edits_by_age ON edits (edited_at);

-- One row for each of the two chats.
CREATE TABLE collisions (
    chat_id TEXT NOT NULL REFERENCES chats (id) ON DELETE CASCADE,
    other_id TEXT NOT NULL REFERENCES chats (id) ON DELETE CASCADE,
    path TEXT NOT NULL,
    severity TEXT NOT NULL,
    noticed_at INTEGER NOT NULL,
    PRIMARY KEY (chat_id, path, other_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX collisions_of_others ON collisions (other_id);

-- Checks that were run are told in messages; a trace looks for those since a version.
CREATE INDEX messages_of_system ON messages (chat_id, revision) WHERE role = 'system';
