"""A server on SQLite and one on PostgreSQL, as the tests of the API have."""

from tests.api.conftest import admin, database_url, server

__all__ = ["admin", "database_url", "server"]
