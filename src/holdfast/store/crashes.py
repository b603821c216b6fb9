"""Duties that were being executed when a server process died: how often, and how far they had got. A crash by
a fault is stronger evidence than a kill, which may have come from outside."""

from datetime import datetime
from typing import Literal

from holdfast.store.columns import micros
from holdfast.store.query import Query, each, query

Kind = Literal["chat", "run", "flow_run"]

DAY_MICROS = 86_400_000_000
# How often a process may die of a fault while it executes the duty, within a day.
MOST_FAULTS = 2
# The same for processes that were killed while the duty made no progress.
MOST_KILLS = 4

_COUNT = (
    "INSERT INTO duty_crashes (kind, duty_id, progress, faults, kills, crashed_at) "
    "SELECT '{0}', d.id, {1}, $2, $3, $4 FROM {0}s d WHERE d.id = $1 "
    "ON CONFLICT (kind, duty_id) DO UPDATE SET "
    f"faults = CASE WHEN duty_crashes.crashed_at < excluded.crashed_at - {DAY_MICROS} THEN 0 "
    "ELSE duty_crashes.faults END + excluded.faults, "
    "kills = CASE WHEN duty_crashes.progress = excluded.progress THEN duty_crashes.kills ELSE 0 END "
    "+ excluded.kills, progress = excluded.progress, crashed_at = excluded.crashed_at "
    "WHERE duty_crashes.crashed_at <> excluded.crashed_at"
)
COUNT: dict[Kind, str] = {
    "chat": _COUNT.format("chat", "d.history_version"),
    "run": _COUNT.format(
        "run", "(SELECT count(*) FROM run_calls r WHERE r.run_id = d.id AND r.outcome IS NOT NULL)"
    ),
    "flow_run": _COUNT.format(
        "flow_run", "(SELECT count(*) FROM flow_steps s WHERE s.run_id = d.id AND s.finished_at IS NOT NULL)"
    ),
}
CONDEMNED = (
    f"SELECT kind, duty_id FROM duty_crashes WHERE faults >= {MOST_FAULTS} OR kills >= {MOST_KILLS} "
    "ORDER BY kind, duty_id LIMIT 10000"
)
FORGET = "DELETE FROM duty_crashes WHERE kind = $1 AND duty_id = $2"


def count(kind: Kind, duty_id: str, found_at: datetime, *, fault: bool) -> Query[None]:
    """A duty that no longer exists is not counted, and each death is counted once."""
    return query(COUNT[kind], duty_id, int(fault), int(not fault), micros(found_at), read=lambda _: None)


def condemned() -> Query[tuple[tuple[Kind, str], ...]]:
    """The duties to set aside."""
    return query(CONDEMNED, read=each(lambda row: (row[0], str(row[1]))))


def forget(kind: Kind, duty_id: str) -> Query[None]:
    """Called after it was set aside: restarting it is then a person's decision."""
    return query(FORGET, kind, duty_id, read=lambda _: None)
