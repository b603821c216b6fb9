"""Searching a workspace: file names, lines that match a pattern, what .gitignore leaves out."""
