"""One statement that writes the rows of many changes, each change only if its guard holds: a data-modifying
CTE per table, all joined to the chats that were still at the version they were decided on.

All parts of such a statement see the snapshot from before it, so no two of them may touch the same row;
`change_rows` ensures that.
"""

from functools import cache

from holdfast.store.chat_rows import IDENTITY, INDEXED, MOVING, SETTINGS
from holdfast.store.columns import listed
from holdfast.store.outbox import EVENT
from holdfast.store.rows import CALL, DELIVERY, FULL_OUTPUT, MESSAGE, NOTICE, QUEUED, STEP, TURN

MOVED = (*MOVING, *INDEXED)
TURN_ENDED = ("chat_id", "number", "finished_at", "outcome", "failure", "revision")
CREATED = (*(name for name in IDENTITY if name != "depth"), *MOVED)

_UUIDS = frozenset(
    [
        "id",
        "chat_id",
        "owner_id",
        "parent_id",
        "root_id",
        "run_id",
        "lease_worker_id",
        "last_message_id",
        "answer_id",
        "workspace_id",
        "queue_item_id",
        "created_by",
        "message_id",
        "child_id",
    ]
)


def picked(names: tuple[str, ...]) -> str:
    """The columns of a row `r`, with ids as uuid."""
    return ", ".join(f"r.{name}::uuid" if name in _UUIDS else f"r.{name}" for name in names)


def _assigned(names: tuple[str, ...]) -> str:
    return ", ".join(f"{name} = r.{name}::uuid" if name in _UUIDS else f"{name} = r.{name}" for name in names)


def _excluded(names: tuple[str, ...]) -> str:
    return ", ".join(f"{name} = excluded.{name}" for name in names)


def _insert(table: str, kind: str, names: tuple[str, ...], chat: str = "chat_id") -> str:
    return (
        f"INSERT INTO {table} ({listed(names)}) SELECT {picked(names)} FROM unnest(%s::{kind}[]) r "
        f"JOIN guarded g ON g.id = r.{chat}::uuid"
    )


def _update(table: str, kind: str, assigned: str, which: str) -> str:
    return (
        f"UPDATE {table} t SET {assigned} FROM unnest(%s::{kind}[]) r "
        f"JOIN guarded g ON g.id = r.chat_id::uuid WHERE t.chat_id = r.chat_id::uuid AND {which}"
    )


_MOVE = (
    f"UPDATE chats c SET {_assigned(MOVED)}, "
    "search_pending = c.search_pending OR r.history_version > c.history_version FROM"
)
_MOVE_LOCKED = (
    f"{_MOVE} unnest(%s::chat_moved_2[]) r WHERE c.id = r.id::uuid AND c.version = r.before RETURNING c.id"
)
# Rows locked by somebody are left out, like those whose version moved: a batch never waits, so it neither
# holds up its other chats nor takes part in a deadlock. Rows are then updated by their physical location.
_FREE = (
    "free AS (SELECT r.*, c.ctid AS place FROM unnest(%s::chat_moved_2[]) r "
    "JOIN chats c ON c.id = r.id::uuid AND c.version = r.before FOR NO KEY UPDATE OF c SKIP LOCKED)"
)
_MOVE_FREE = f"{_MOVE} free r WHERE c.ctid = r.place RETURNING c.id"
# The same for parents: the reference check would wait for a parent that is being deleted.
_PARENTS = (
    "parents AS (SELECT p.id, p.depth FROM chats p WHERE p.id IN "
    "(SELECT r.parent_id::uuid FROM unnest(%s::chat_created_3[]) r) FOR KEY SHARE SKIP LOCKED)"
)
_CREATE = (
    f"INSERT INTO chats ({listed(CREATED)}, depth) SELECT {picked(CREATED)}, coalesce(p.depth + 1, 0) "
    "FROM unnest(%s::chat_created_3[]) r LEFT JOIN parents p ON p.id = r.parent_id::uuid "
    "WHERE r.parent_id IS NULL OR p.id IS NOT NULL ON CONFLICT (id) DO NOTHING RETURNING id"
)

# What may follow the guard, in the order of the fields of `change_rows.Rows`.
FOLLOWING: tuple[str, ...] = (
    (
        f"INSERT INTO settings ({listed(SETTINGS)}, words) "
        f"SELECT {picked(SETTINGS)}, array_to_tsvector(r.words) FROM unnest(%s::settings_chosen_5[]) r "
        "JOIN guarded g ON g.id = r.chat_id::uuid"
    ),
    _insert("labels", "label_put", ("chat_id", "label")),
    _update(
        "messages",
        "chat_item",
        "removed = true, revision = r.version",
        "t.id >= r.id::uuid AND NOT t.removed",
    ),
    # The debug record of removed history goes with it: first the records that began in it, then what later
    # steps of the others were asked.
    (
        "DELETE FROM debug_runs d USING unnest(%s::chat_item[]) r JOIN guarded g ON g.id = r.chat_id::uuid "
        "WHERE d.chat_id = r.chat_id::uuid AND (d.message_id >= r.id::uuid "
        "OR d.history_message_id >= r.id::uuid)"
    ),
    (
        "DELETE FROM debug_steps s USING unnest(%s::chat_item[]) r JOIN guarded g ON g.id = r.chat_id::uuid "
        "WHERE s.chat_id = r.chat_id::uuid AND s.history_message_id >= r.id::uuid AND EXISTS ("
        "SELECT 1 FROM debug_runs d WHERE d.id = s.run_id AND coalesce(d.message_id < r.id::uuid, true) "
        "AND coalesce(d.history_message_id < r.id::uuid, true))"
    ),
    _insert("messages", "message_put", MESSAGE),
    _insert("queue", "queued_put_2", QUEUED)
    + f" ON CONFLICT (chat_id, id) DO UPDATE SET {_excluded(QUEUED[2:])}",
    (
        "DELETE FROM queue q USING unnest(%s::chat_item[]) r JOIN guarded g ON g.id = r.chat_id::uuid "
        "WHERE q.chat_id = r.chat_id::uuid AND q.id = r.id::uuid"
    ),
    _insert("inbox", "notice_put", (*NOTICE, "taken_version")),
    _update("inbox", "chat_item", "taken_version = r.version", "t.id = r.id::uuid"),
    _insert("calls", "call_put_4", CALL)
    + f" ON CONFLICT (chat_id, call_id) DO UPDATE SET {_excluded(CALL[2:])}",
    _insert("call_outputs", "output_put", FULL_OUTPUT)
    + " ON CONFLICT (chat_id, call_id, run) DO UPDATE SET text = excluded.text",
    _insert("steps", "step_put_2", STEP),
    _insert("turns", "turn_put_2", TURN),
    _update("turns", "turn_ended", _assigned(TURN_ENDED[2:]), "t.number = r.number"),
    _insert("deliveries", "delivery_put", DELIVERY, "child_id"),
    (
        "UPDATE deliveries d SET taken = true FROM unnest(%s::delivery_taken[]) r "
        "JOIN guarded g ON g.id = r.chat_id::uuid WHERE d.child_id = r.child_id::uuid AND d.turn = r.turn"
    ),
    _insert("hook_events", "hook_event_put", EVENT) + " ON CONFLICT DO NOTHING",
)


@cache
def statement(moved: bool, created: bool, following: tuple[int, ...], *, locked: bool) -> str:
    """For rows of these kinds; returns the ids of the chats whose guard held. `locked`: the transaction has
    locked the rows already."""
    guards: list[str] = []
    parts: list[str] = []
    number = 0
    if moved:
        number += 1
        if locked:
            parts.append(f"moved AS ({_MOVE_LOCKED % f'${number}'})")
        else:
            parts.append(_FREE % f"${number}")
            parts.append(f"moved AS ({_MOVE_FREE})")
        guards.append("SELECT id FROM moved")
    if created:
        number += 1
        parts.append(_PARENTS % f"${number}")
        parts.append(f"created AS ({_CREATE % f'${number}'})")
        guards.append("SELECT id FROM created")
    parts.append(f"guarded AS ({' UNION ALL '.join(guards)})")
    for kind in following:
        number += 1
        parts.append(f"part{kind} AS ({FOLLOWING[kind] % f'${number}'})")
    return f"WITH {', '.join(parts)} SELECT id FROM guarded"
