-- Edits of several files, written down before the first file is changed and kept until the call is over: a
-- server that dies in between leaves some files changed and some not. No references: files outlive a chat.

CREATE TABLE edit_intents (
    chat_id TEXT NOT NULL,
    call_id TEXT NOT NULL,
    -- begun: files may have been changed. made: all were.
    state TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    -- What was to become of which file, as JSON.
    intent TEXT NOT NULL,
    PRIMARY KEY (chat_id, call_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX edit_intents_by_age ON edit_intents (created_at);
