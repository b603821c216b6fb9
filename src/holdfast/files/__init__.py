"""Files of chats: what may be one, where its content is kept, and its small picture."""
