"""A terminal as a conversation needs it: keys in, finished text above, what changes below it."""
