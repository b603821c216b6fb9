"""What runs behind the wall before the command: it builds the root directory that the command sees, drops all
privileges and starts the command. It runs before every command, so it imports as little as possible, and
nothing of the server."""
