-- Tools that the model's provider runs itself, as they were switched for the chat; null: as the model is configured.
ALTER TABLE settings ADD COLUMN provider_tools TEXT;
