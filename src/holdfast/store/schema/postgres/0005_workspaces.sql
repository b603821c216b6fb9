-- Directories that chats work in; from `repository` on: what a worktree has, which is made for one chat.

CREATE TABLE workspaces (
    id uuid PRIMARY KEY,
    owner_id uuid NOT NULL REFERENCES users (id),
    name text NOT NULL,
    path text NOT NULL,
    created_at bigint NOT NULL,
    repository text,
    base text,
    branch text,
    -- No reference: the chat may be deleted first, and then the worktree is an orphan.
    chat_id uuid,
    orphaned_at bigint,
    UNIQUE (owner_id, name)
);
CREATE INDEX workspaces_of_chats ON workspaces (chat_id) WHERE chat_id IS NOT NULL;
