-- Tools that the model's provider runs itself, as they were switched for the chat; null: as the model is configured.
ALTER TABLE settings ADD COLUMN provider_tools text;

-- As `settings_chosen_2`, which replicas of the version before still use.
CREATE TYPE settings_chosen_3 AS (
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
    provider_tools text,
    words text[]
);
