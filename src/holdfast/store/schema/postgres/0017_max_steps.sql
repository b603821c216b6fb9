-- Model calls of one turn at most, as it was chosen for the chat.
ALTER TABLE settings ADD COLUMN max_steps bigint;

-- As `settings_chosen`, which replicas of the version before still use.
CREATE TYPE settings_chosen_2 AS (
    chat_id text,
    title text,
    title_source text,
    summary text,
    model text,
    effort text,
    workspace_id text,
    agent text,
    pinned boolean,
    budget_tokens bigint,
    budget_usd_micros bigint,
    labels text,
    tools text,
    client_tools text,
    instructions text,
    max_steps bigint,
    words text[]
);
