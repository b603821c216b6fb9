-- Model calls of one turn at most, as it was chosen for the chat.
ALTER TABLE settings ADD COLUMN max_steps INTEGER;
