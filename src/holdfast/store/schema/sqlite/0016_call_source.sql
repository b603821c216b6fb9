-- Where the tool of a call came from, and as what it was configured (see tools/registry.py).
ALTER TABLE calls ADD COLUMN source TEXT;
