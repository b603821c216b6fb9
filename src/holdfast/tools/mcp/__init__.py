"""Servers of the Model Context Protocol as a source of tools."""
