"""Workers: how many processes are at work on this database."""

from holdfast.store.query import Query, query

LIVING = "SELECT count(*) FROM workers WHERE expires_at > now_micros()"


def living() -> Query[int]:
    """How many workers have a lease that has not run out."""
    return query(LIVING, read=lambda rows: int(rows[0][0]))
