"""The server process: its parts put together, its limits, its start and stop."""
