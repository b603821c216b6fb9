-- How long a grant counts: one that was given once ends with the turn that asked for it.
ALTER TABLE grants ADD COLUMN scope text NOT NULL DEFAULT 'chat';
ALTER TABLE grants ADD COLUMN turn bigint NOT NULL DEFAULT 0;
