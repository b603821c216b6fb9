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

-- As `call_put`, which replicas of the version before still use.
CREATE TYPE call_put_2 AS (
    chat_id text,
    call_id text,
    message_id text,
    turn bigint,
    position bigint,
    name text,
    effect text,
    reach text,
    traits text,
    on_uncertain text,
    state text,
    waits_for text,
    deadline_seconds double precision,
    deadline_at bigint,
    run bigint,
    lease_number bigint,
    fenced_until bigint,
    outcome text,
    truncated boolean,
    abandoned boolean,
    started_at bigint,
    finished_at bigint,
    approval text,
    output text,
    diff text,
    revision bigint
);
