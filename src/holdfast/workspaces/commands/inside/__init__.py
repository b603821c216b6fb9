"""What runs behind the wall before the command does: it builds the root directory that the command sees,
gives up every right and starts it. It starts before every command, so it imports as little as it can, and
nothing of the server."""
