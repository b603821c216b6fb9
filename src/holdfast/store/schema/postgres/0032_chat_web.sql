-- Whether the agent of a chat may use the web.
ALTER TABLE settings ADD COLUMN web boolean NOT NULL DEFAULT true;

-- As `settings_chosen_4`, which replicas of the version before still use.
CREATE TYPE settings_chosen_5 AS (
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
    debug boolean,
    web boolean,
    words text[]
);
