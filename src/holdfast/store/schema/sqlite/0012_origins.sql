-- Where a chat comes from (see core/origins.py). The ids beside it are what it is found by.
ALTER TABLE chats ADD COLUMN origin TEXT NOT NULL DEFAULT '{"kind":"person"}';

UPDATE chats SET origin = json_object('kind', 'chat', 'chat_id', parent_id, 'call_id', parent_call_id)
    WHERE parent_id IS NOT NULL;
UPDATE chats SET origin = json_object('kind', 'run', 'run_id', run_id)
    WHERE parent_id IS NULL AND run_id IS NOT NULL;
