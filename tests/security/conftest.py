"""Rooms for commands, one behind each kind of wall."""

from tests.workspaces.conftest import anywhere, walled

__all__ = ["anywhere", "walled"]
