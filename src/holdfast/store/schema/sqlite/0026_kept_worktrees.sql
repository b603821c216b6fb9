-- Worktrees that a person wants to keep, whatever becomes of their chat.
ALTER TABLE workspaces ADD COLUMN kept INTEGER NOT NULL DEFAULT 0;
