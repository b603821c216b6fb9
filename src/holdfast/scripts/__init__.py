"""Workflow scripts: where they are found, what they declare about themselves, and how they run in a
sandbox."""
