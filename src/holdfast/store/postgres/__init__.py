"""The PostgreSQL engine: many replicas on one database, with the same behaviour as SQLite."""

from holdfast.store.postgres.open import open_postgres

__all__ = ["open_postgres"]
