-- What a chat's agent may do, and whether its writes wait for review.
ALTER TABLE chats ADD COLUMN mode TEXT NOT NULL DEFAULT 'build';
ALTER TABLE chats ADD COLUMN writes TEXT NOT NULL DEFAULT 'direct';
ALTER TABLE named_agents ADD COLUMN mode TEXT;
ALTER TABLE named_agents ADD COLUMN writes TEXT;
