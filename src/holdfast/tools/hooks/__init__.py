"""Hooks: programs and addresses that people configured, told of what happens in a chat; some may object."""
