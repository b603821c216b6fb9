-- Worktrees that a person wants to keep, whatever becomes of their chat.
ALTER TABLE workspaces ADD COLUMN kept boolean NOT NULL DEFAULT false;
