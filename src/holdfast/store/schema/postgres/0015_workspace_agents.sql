-- Named agents of a workspace: a person trusted what a file there said (its digest). A name is taken once in
-- each workspace, and once outside of all.
ALTER TABLE named_agents ADD COLUMN workspace_id uuid REFERENCES workspaces (id) ON DELETE CASCADE;
ALTER TABLE named_agents ADD COLUMN path text;
ALTER TABLE named_agents ADD COLUMN digest text;
ALTER TABLE named_agents DROP CONSTRAINT named_agents_owner_id_name_key;
CREATE UNIQUE INDEX named_agents_once ON named_agents (owner_id, COALESCE(CAST(workspace_id AS text), ''), name);
CREATE INDEX named_agents_workspace ON named_agents (workspace_id) WHERE workspace_id IS NOT NULL;
