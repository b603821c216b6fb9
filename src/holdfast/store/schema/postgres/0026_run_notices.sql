-- Runs that a person asked for in a chat (a chat without a call): how much of them the chat was told. 0: nothing,
-- 1: that it began, 2: how it ended.
ALTER TABLE runs ADD COLUMN told bigint NOT NULL DEFAULT 0;
CREATE INDEX runs_untold ON runs (id) WHERE chat_id IS NOT NULL AND call_id IS NULL AND told < 2;
