-- What the engine must know of a call travels with it: what it touches, and its traits (see core/calls.py).
ALTER TABLE calls ADD COLUMN reach TEXT NOT NULL DEFAULT 'none';
ALTER TABLE calls ADD COLUMN traits TEXT NOT NULL DEFAULT '';

-- Calls that were made before had them by the names of their tools.
UPDATE calls SET traits = 'starts_agent' WHERE name IN ('spawn_agent', 'spawn_subagent');
UPDATE calls SET traits = 'waits_for_children hands_over_ends' WHERE name = 'wait_agents';
UPDATE calls SET traits = 'waits_for_children' WHERE name = 'run_workflow';
UPDATE calls SET traits = 'hands_over_ends' WHERE name IN ('stop_agent', 'subagent_result');
UPDATE calls SET traits = 'shows_file', reach = 'workspace' WHERE name = 'attach_file';
UPDATE calls SET traits = 'ends_turn' WHERE name = 'structured_output';
UPDATE calls SET traits = 'writes', reach = 'workspace' WHERE name IN ('write_file', 'edit_files', 'delete_file');
UPDATE calls SET reach = 'workspace' WHERE name IN ('read_file', 'list', 'glob', 'grep');
UPDATE calls SET reach = 'command' WHERE name = 'execute';
