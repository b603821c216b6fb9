"""Workflow scripts: where they are found, what they say of themselves, and how they run, walled in."""
