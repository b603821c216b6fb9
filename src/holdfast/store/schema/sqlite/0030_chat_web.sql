-- Whether the agent of a chat may use the web.
ALTER TABLE settings ADD COLUMN web INTEGER NOT NULL DEFAULT 1;
