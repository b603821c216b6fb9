"""Which directory a chat works in, where workspaces may be, and what their files tell agents."""
