"""The PostgreSQL engine: many replicas on one database, the same answers as on SQLite."""

from holdfast.store.postgres.open import open_postgres

__all__ = ["open_postgres"]
