"""Events for hooks that are told afterwards: written with the change that made them happen, spread into one
delivery for each hook, and delivered at least once."""

from collections.abc import Callable, Iterable
from typing import Any

import msgspec
from msgspec.structs import replace

from holdfast.chats.change import Change
from holdfast.core.clock import from_micros, to_micros
from holdfast.core.hooks import EventName, HappenedEvent
from holdfast.core.shapes import Record, encode_text
from holdfast.store.columns import Written, columns, listed, placeholders
from holdfast.store.query import Query, Row, any_row, each, joined, query

EVENT = columns("event_id event owner_id chat_id data created_at")
DELIVERY = columns("delivery_id event_id hook_id attempts next_at state error created_at")

INSERT_EVENT = (
    f"INSERT INTO hook_events ({listed(EVENT)}) VALUES ({placeholders(len(EVENT))}) ON CONFLICT DO NOTHING"
)
UNSPREAD = f"SELECT {listed(EVENT)} FROM hook_events WHERE NOT spread ORDER BY created_at, event_id LIMIT $1"
SPREAD = "UPDATE hook_events SET spread = true WHERE event_id = $1"
INSERT_DELIVERY = (
    "INSERT INTO hook_deliveries (delivery_id, event_id, hook_id, attempts, next_at, state, created_at) "
    "VALUES ($1, $2, $3, 0, now_micros(), 'waiting', now_micros()) ON CONFLICT DO NOTHING"
)
_DUE = "state = 'waiting' AND next_at <= now_micros()"
# Whoever takes one is the only one until then: it may die, and another tries again.
TAKE = (
    "UPDATE hook_deliveries SET attempts = attempts + 1, next_at = now_micros() + $1 WHERE delivery_id IN "
    f"(SELECT delivery_id FROM hook_deliveries WHERE {_DUE} ORDER BY next_at, delivery_id LIMIT $2) "
    f"AND {_DUE} RETURNING delivery_id, event_id, hook_id, attempts"
)
EVENT_OF = f"SELECT {listed(EVENT)} FROM hook_events WHERE event_id = $1"
DONE = "UPDATE hook_deliveries SET state = $2, error = $3, finished_at = now_micros() WHERE delivery_id = $1"
LATER = "UPDATE hook_deliveries SET next_at = now_micros() + $2, error = $3 WHERE delivery_id = $1"
WAITING = (
    f"SELECT 1 FROM hook_events WHERE NOT spread UNION ALL SELECT 1 FROM hook_deliveries WHERE {_DUE} LIMIT 1"
)
FORGET_DELIVERIES = "DELETE FROM hook_deliveries WHERE state <> 'waiting' AND finished_at < now_micros() - $1"
FORGET_EVENTS = (
    "DELETE FROM hook_events WHERE spread AND created_at < now_micros() - $1 AND NOT EXISTS "
    "(SELECT 1 FROM hook_deliveries d WHERE d.event_id = hook_events.event_id)"
)
KEPT_MICROS = 7 * 24 * 3600 * 1_000_000
# Runs and flow runs that ended lately and were not put down yet: their rows say what happened.
RECENT_MICROS = 24 * 3600 * 1_000_000
_ENDED_RUN = (
    "SELECT 'run_end-' || CAST(r.id AS text), 'run_end', r.owner_id, r.chat_id, "
    '\'{"kind":"%(kind)s","run_id":"\' || CAST(r.id AS text) || \'","status":"\' || r.status || \'"}\', '
    "r.finished_at FROM %(table)s r WHERE r.finished_at > now_micros() - $1 AND NOT EXISTS "
    "(SELECT 1 FROM hook_events e WHERE e.event_id = 'run_end-' || CAST(r.id AS text))"
)
RUN_ENDS = tuple(
    f"INSERT INTO hook_events ({listed(EVENT)}) "
    + _ENDED_RUN % {"table": table, "kind": kind}
    + " ON CONFLICT DO NOTHING"
    for table, kind in (("runs", "workflow"), ("flow_runs", "flow"))
)

_data = msgspec.json.Decoder(dict[str, Any]).decode


class TakenDelivery(Record, frozen=True, kw_only=True):
    """One that is ours for some time, with what it is about."""

    id: str
    event_id: str
    hook_id: str
    # This one included.
    attempts: int


class EventOutbox:
    """What a store keeps of the events of its changes: those that anybody listens to."""

    def __init__(self) -> None:
        self._wanted: Callable[[], frozenset[EventName]] = frozenset

    def listen(self, wanted: Callable[[], frozenset[EventName]]) -> None:
        """Called for every change with events, on any thread."""
        self._wanted = wanted

    def kept(self, change: Change) -> Change:
        others = change.others
        if others:
            others = tuple(map(self.kept, others))
        elif not change.events:
            return change
        wanted = self._wanted()
        events = tuple(event for event in change.events if event.event in wanted)
        return replace(change, events=events, others=others)


def event_row(event: HappenedEvent) -> Written:
    return (
        event.id,
        event.event,
        event.owner_id,
        event.chat_id,
        encode_text(event.data),
        to_micros(event.created_at),
    )


def put(event: HappenedEvent) -> Query[None]:
    return query(INSERT_EVENT, *event_row(event), read=lambda _: None)


def put_run_ends() -> Query[None]:
    return Query(tuple((sql, (RECENT_MICROS,)) for sql in RUN_ENDS), lambda _: None)


def unspread(limit: int) -> Query[tuple[HappenedEvent, ...]]:
    return query(UNSPREAD, limit, read=each(_event_of))


def spread(event: HappenedEvent, hook_ids: Iterable[str]) -> Query[None]:
    """One delivery for each of these hooks."""
    made = [
        query(INSERT_DELIVERY, delivery_id(event.id, hook_id), event.id, hook_id, read=lambda _: None)
        for hook_id in hook_ids
    ]
    return joined(*made, query(SPREAD, event.id, read=lambda _: None), read=lambda *_: None)


def delivery_id(event_id: str, hook_id: str) -> str:
    return f"{event_id}-{hook_id}"


def waiting() -> Query[bool]:
    return query(WAITING, read=any_row)


def take(limit: int, seconds: float) -> Query[tuple[TakenDelivery, ...]]:
    """A write: nobody else tries these for so long."""
    return query(TAKE, round(seconds * 1_000_000), limit, read=each(_taken_of))


def event(event_id: str) -> Query[HappenedEvent | None]:
    return query(EVENT_OF, event_id, read=lambda rows: _event_of(rows[0]) if rows else None)


def done(taken: TakenDelivery, state: str, error: str | None = None) -> Query[None]:
    return query(DONE, taken.id, state, error, read=lambda _: None)


def later(taken: TakenDelivery, seconds: float, error: str) -> Query[None]:
    return query(LATER, taken.id, round(seconds * 1_000_000), error, read=lambda _: None)


def forget_old() -> Query[None]:
    statements = ((FORGET_DELIVERIES, (KEPT_MICROS,)), (FORGET_EVENTS, (KEPT_MICROS,)))
    return Query(statements, lambda _: None)


def _event_of(row: Row) -> HappenedEvent:
    return HappenedEvent(
        id=row[0],
        event=row[1],
        owner_id=row[2],
        chat_id=row[3],
        data=_data(row[4]),
        created_at=from_micros(row[5]),
    )


def _taken_of(row: Row) -> TakenDelivery:
    return TakenDelivery(id=row[0], event_id=row[1], hook_id=row[2], attempts=row[3])
