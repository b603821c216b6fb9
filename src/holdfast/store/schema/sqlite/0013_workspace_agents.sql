-- Named agents of a workspace: a person trusted what a file there said (its digest). A name is taken once in
-- each workspace, and once outside of all.
CREATE TABLE named_agents_new (
    id TEXT PRIMARY KEY NOT NULL,
    owner_id TEXT NOT NULL REFERENCES users (id),
    name TEXT NOT NULL,
    description TEXT NOT NULL,
    model TEXT,
    effort TEXT,
    tools TEXT,
    published INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    instructions TEXT NOT NULL,
    workspace_id TEXT REFERENCES workspaces (id) ON DELETE CASCADE,
    path TEXT,
    digest TEXT
) STRICT, WITHOUT ROWID;
INSERT INTO named_agents_new
    (id, owner_id, name, description, model, effort, tools, published, created_at, updated_at, instructions)
    SELECT id, owner_id, name, description, model, effort, tools, published, created_at, updated_at, instructions
    FROM named_agents;
DROP TABLE named_agents;
ALTER TABLE named_agents_new RENAME TO named_agents;
CREATE UNIQUE INDEX named_agents_once ON named_agents (owner_id, COALESCE(CAST(workspace_id AS text), ''), name);
CREATE INDEX named_agents_published ON named_agents (name, id) WHERE published;
CREATE INDEX named_agents_workspace ON named_agents (workspace_id) WHERE workspace_id IS NOT NULL;
