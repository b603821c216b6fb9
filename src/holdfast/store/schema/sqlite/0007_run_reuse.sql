-- Why a run reuses calls of another, or does not; and what its workspace was like when it was asked for and when it ended.

ALTER TABLE runs ADD COLUMN reuse TEXT;
ALTER TABLE runs ADD COLUMN workspace_state TEXT;
ALTER TABLE runs ADD COLUMN final_state TEXT;
DROP INDEX runs_lending;
CREATE INDEX runs_lending ON runs (owner_id, name, args_hash, id) WHERE status IN ('succeeded', 'failed', 'cancelled');
