"""Checkpoints, the changes in them, and operations on files that are under way."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

import msgspec

from holdfast.core.changes import (
    ChangedFile,
    ChangeOperation,
    ChangeState,
    Checkpoint,
    FileChange,
    FileState,
    Operation,
)
from holdfast.core.clock import from_micros
from holdfast.core.events import BusEvent
from holdfast.core.ids import CallId, ChatId, MessageId, UserId
from holdfast.core.shapes import encode_text
from holdfast.store.columns import columns, listed, micros, moment, placeholders
from holdfast.store.query import Query, Row, Rows, Statement, each, first_column, query

CHECKPOINT = columns("id chat_id place kind turn step call_id created_at skipped rewound_at")
CHANGE = columns(
    "id checkpoint_id chat_id place turn step call_id path before_state after_state state created_at "
    "decided_by decided_at additions deletions diff"
)
MOST_ROWS = 20_000

INSERT_CHECKPOINT = (
    f"INSERT INTO checkpoints ({listed(CHECKPOINT)}) VALUES ({placeholders(len(CHECKPOINT))}) "
    "ON CONFLICT DO NOTHING"
)
INSERT_CHANGE = (
    f"INSERT INTO file_changes ({listed(CHANGE)}) VALUES ({placeholders(len(CHANGE))}) "
    "ON CONFLICT (id) DO UPDATE SET place = excluded.place, before_state = excluded.before_state, "
    "after_state = excluded.after_state, state = excluded.state, checkpoint_id = excluded.checkpoint_id, "
    "turn = excluded.turn, step = excluded.step, "
    "call_id = excluded.call_id, decided_by = excluded.decided_by, decided_at = excluded.decided_at, "
    "additions = excluded.additions, deletions = excluded.deletions, diff = excluded.diff"
)
SETTLE = "UPDATE file_changes SET state = $2, decided_by = $3, decided_at = $4 WHERE id = $1"
# Of a chat and everything below it: sub-agents work in the same place.
_FAMILY = (
    "WITH RECURSIVE below (id) AS (SELECT c.id FROM chats c WHERE c.id = $1 "
    "UNION ALL SELECT k.id FROM below b JOIN chats k ON k.parent_id = b.id) "
)
OF_FAMILY = (
    f"{_FAMILY}SELECT {listed(CHANGE, 'f')} FROM file_changes f JOIN below b ON b.id = f.chat_id "
    f"ORDER BY f.id DESC LIMIT {MOST_ROWS}"
)
MESSAGES_OF_CALLS = (
    f"{_FAMILY}SELECT k.chat_id, k.call_id, k.message_id FROM calls k JOIN below b ON b.id = k.chat_id "
    "WHERE EXISTS (SELECT 1 FROM file_changes f WHERE f.chat_id = k.chat_id AND f.call_id = k.call_id)"
)
OF_CALL = f"SELECT {listed(CHANGE)} FROM file_changes WHERE chat_id = $1 AND call_id = $2 ORDER BY id"
WAITING_AT = (
    f"SELECT {listed(CHANGE)} FROM file_changes WHERE place = $1 AND state IN ('pending', 'conflict') "
    "ORDER BY id"
)
# What a watcher is told of the turn: the newest, each cut.
OF_TURN = (
    "SELECT f.id, f.path, f.before_state IS NULL, f.after_state IS NULL, f.additions, f.deletions, "
    "substr(f.diff, 1, 2000), f.turn, f.step, f.state FROM file_changes f JOIN chats c ON c.id = f.chat_id "
    "WHERE f.chat_id = $1 AND f.turn = c.turn ORDER BY f.id DESC LIMIT 50"
)
CHECKPOINTS = (
    f"{_FAMILY}SELECT {listed(CHECKPOINT, 'p')} FROM checkpoints p JOIN below b ON b.id = p.chat_id "
    "ORDER BY p.id DESC LIMIT 1000"
)
NEWEST_REWIND = (
    f"SELECT {listed(CHECKPOINT)} FROM checkpoints WHERE chat_id = $1 AND rewound_at IS NOT NULL "
    "ORDER BY id DESC LIMIT 1"
)
BEGIN = (
    "INSERT INTO change_operations (id, chat_id, created_at, operation) "
    "VALUES ($1, $2, now_micros(), $3) ON CONFLICT DO NOTHING"
)
END = "DELETE FROM change_operations WHERE id = $1"
UNDER_WAY = "SELECT 1 FROM change_operations WHERE id = $1"
LEFT_OVER = (
    "SELECT operation FROM change_operations WHERE created_at <= now_micros() - $1 "
    "ORDER BY created_at LIMIT 100"
)
PLACES = "SELECT DISTINCT place FROM checkpoints"
BLOBS = "SELECT before_state, after_state FROM file_changes WHERE place = $1"
OLDEST = "SELECT id FROM checkpoints WHERE place = $1 ORDER BY id LIMIT $2"
FORGET_OLD = "DELETE FROM checkpoints WHERE created_at < now_micros() - $1"
FORGET = "DELETE FROM checkpoints WHERE id = $1"

_state = msgspec.json.Decoder(FileState | None).decode
_names = msgspec.json.Decoder(tuple[str, ...]).decode
_operation = msgspec.json.Decoder(ChangeOperation).decode


def note(checkpoint: Checkpoint, rows: Iterable[FileChange], *hints: BusEvent) -> Query[None]:
    """A checkpoint with what changed since the one before."""
    return Query(_noted(checkpoint, rows), lambda _: None, hints=lambda _: hints)


def begin(operation: ChangeOperation) -> Query[None]:
    """Records the operation. Called before its first file is written."""
    return query(BEGIN, operation.id, operation.chat_id, encode_text(operation), read=lambda _: None)


def end(operation: ChangeOperation, *hints: BusEvent) -> Query[None]:
    """All files are written: what became of the changes is noted in the same transaction."""
    at = micros(operation.decided_at)
    settled: list[Statement] = [
        (SETTLE, (one.id, one.state, operation.decided_by, at)) for one in operation.settled
    ]
    statements = (*_noted(operation.checkpoint, operation.rows), *settled, (END, (operation.id,)))
    return Query(statements, lambda _: None, hints=lambda _: hints)


def drop(operation_id: str) -> Query[None]:
    return query(END, operation_id, read=lambda _: None)


def is_under_way(operation_id: str) -> Query[bool]:
    return query(UNDER_WAY, operation_id, read=bool)


def left_over(after_micros: int) -> Query[tuple[ChangeOperation, ...]]:
    return query(LEFT_OVER, after_micros, read=each(lambda row: _operation(row[0])))


def of_family(chat_id: ChatId) -> Query[tuple[FileChange, ...]]:
    """Changes that the chat and its sub-agents made, oldest first; of very many, the newest."""
    return query(OF_FAMILY, chat_id, read=lambda rows: tuple(change_of(row) for row in reversed(rows)))


def messages_of_calls(chat_id: ChatId) -> Query[dict[tuple[ChatId, CallId], MessageId]]:
    """The messages whose calls changed files, of the chat and its sub-agents."""
    return query(
        MESSAGES_OF_CALLS, chat_id, read=lambda rows: {(row[0], row[1]): MessageId(row[2]) for row in rows}
    )


def of_call(chat_id: ChatId, call_id: CallId) -> Query[tuple[FileChange, ...]]:
    return query(OF_CALL, chat_id, call_id, read=each(change_of))


def waiting_at(place: str) -> Query[tuple[FileChange, ...]]:
    """Changes of a draft that nobody decided on."""
    return query(WAITING_AT, place, read=each(change_of))


def of_turn(chat_id: ChatId) -> Query[tuple[ChangedFile, ...]]:
    """Those of the newest turn, oldest first, with the beginning of each diff."""

    def read(row: Row) -> ChangedFile:
        operation: Operation = "create" if row[2] else "delete" if row[3] else "edit"
        return ChangedFile(
            id=row[0],
            path=row[1],
            operation=operation,
            additions=row[4],
            deletions=row[5],
            diff=row[6],
            turn=row[7],
            step=row[8],
            state=row[9],
        )

    return query(OF_TURN, chat_id, read=lambda rows: tuple(read(row) for row in reversed(rows)))


def checkpoints(chat_id: ChatId) -> Query[tuple[Checkpoint, ...]]:
    """The newest first."""
    return query(CHECKPOINTS, chat_id, read=each(checkpoint_of))


def newest_rewind(chat_id: ChatId) -> Query[Checkpoint | None]:
    return query(NEWEST_REWIND, chat_id, read=lambda rows: checkpoint_of(rows[0]) if rows else None)


def places() -> Query[tuple[str, ...]]:
    return query(PLACES, read=lambda rows: tuple(first_column(rows)))


def blobs(place: str) -> Query[frozenset[str]]:
    """Contents that changes of this place need."""

    def read(rows: Rows) -> frozenset[str]:
        found = (_state(value) for row in rows for value in row if value is not None)
        return frozenset(state.blob for state in found if state is not None and state.blob)

    return query(BLOBS, place, read=read)


def forget_old(days: int) -> Query[None]:
    return query(FORGET_OLD, days * 86_400 * 1_000_000, read=lambda _: None)


def oldest(place: str, count: int) -> Query[tuple[str, ...]]:
    return query(OLDEST, place, count, read=lambda rows: tuple(first_column(rows)))


def forget(checkpoint_id: str) -> Query[None]:
    return query(FORGET, checkpoint_id, read=lambda _: None)


def settle(
    rows: Iterable[tuple[str, ChangeState]], by: UserId | None, at: datetime, *hints: BusEvent
) -> Query[None]:
    statements = tuple((SETTLE, (row_id, state, by, micros(at))) for row_id, state in rows)
    return Query(statements, lambda _: None, hints=lambda _: hints)


def _noted(checkpoint: Checkpoint, rows: Iterable[FileChange]) -> tuple[Statement, ...]:
    first = (
        INSERT_CHECKPOINT,
        (
            checkpoint.id,
            checkpoint.chat_id,
            checkpoint.place,
            checkpoint.kind,
            checkpoint.turn,
            checkpoint.step,
            checkpoint.call_id,
            micros(checkpoint.created_at),
            encode_text(checkpoint.skipped),
            checkpoint.rewound_at,
        ),
    )
    return (first, *((INSERT_CHANGE, _row(row)) for row in rows))


def _row(change: FileChange) -> tuple[Any, ...]:
    return (
        change.id,
        change.checkpoint_id,
        change.chat_id,
        change.place,
        change.turn,
        change.step,
        change.call_id,
        change.path,
        None if change.before is None else encode_text(change.before),
        None if change.after is None else encode_text(change.after),
        change.state,
        micros(change.created_at),
        change.decided_by,
        micros(change.decided_at),
        change.additions,
        change.deletions,
        change.diff,
    )


def change_of(row: Row) -> FileChange:
    return FileChange(
        id=row[0],
        checkpoint_id=row[1],
        chat_id=row[2],
        place=row[3],
        turn=row[4],
        step=row[5],
        call_id=row[6],
        path=row[7],
        before=None if row[8] is None else _state(row[8]),
        after=None if row[9] is None else _state(row[9]),
        state=row[10],
        created_at=from_micros(row[11]),
        decided_by=row[12],
        decided_at=moment(row[13]),
        additions=row[14],
        deletions=row[15],
        diff=row[16],
    )


def checkpoint_of(row: Row) -> Checkpoint:
    return Checkpoint(
        id=row[0],
        chat_id=row[1],
        place=row[2],
        kind=row[3],
        turn=row[4],
        step=row[5],
        call_id=row[6],
        created_at=from_micros(row[7]),
        skipped=_names(row[8]),
        rewound_at=row[9],
    )
