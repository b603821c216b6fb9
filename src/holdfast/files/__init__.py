"""Files of chats: which kinds are accepted, where their contents are stored, and their thumbnails."""
