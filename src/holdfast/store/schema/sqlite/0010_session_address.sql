-- Where a session was begun, so that people recognise it.
ALTER TABLE tokens ADD COLUMN address TEXT;
