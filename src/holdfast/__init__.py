"""Holdfast runs AI agents durably: every step is committed before the next one begins."""

__version__ = "0.1.0"
