-- What a step's request was made of, as the difference to the one before it (core/segments.py), and what the
-- provider's cache did for it.
ALTER TABLE steps ADD COLUMN segments TEXT;
ALTER TABLE steps ADD COLUMN cache TEXT;

-- What titles and summaries of a chat used, in all: they are made beside its turns.
CREATE TABLE side_spending (
    chat_id TEXT PRIMARY KEY NOT NULL REFERENCES chats (id) ON DELETE CASCADE,
    tokens INTEGER NOT NULL,
    usd_micros INTEGER NOT NULL,
    usage TEXT NOT NULL
) STRICT, WITHOUT ROWID;
