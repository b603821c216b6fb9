-- How long a grant counts: one that was given once ends with the turn that asked for it.
ALTER TABLE grants ADD COLUMN scope TEXT NOT NULL DEFAULT 'chat';
ALTER TABLE grants ADD COLUMN turn INTEGER NOT NULL DEFAULT 0;
