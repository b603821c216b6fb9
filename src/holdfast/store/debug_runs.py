"""The debug record as it is read: its runs, their steps and attempts, and the texts of segments. And its
upkeep."""

from collections.abc import Iterable, Sequence

import msgspec

from holdfast.core.clock import from_micros
from holdfast.core.debug_runs import (
    STATUSES,
    DebugAttempt,
    DebugRun,
    DebugStatus,
    DebugStep,
    DebugSummary,
)
from holdfast.core.events import BusEvent, DebugHint
from holdfast.core.failures import Failure
from holdfast.core.ids import ChatId, DebugRunId, UserId
from holdfast.core.shapes import Json
from holdfast.core.usage import Usage
from holdfast.store.columns import columns, listed, moment, placeholders
from holdfast.store.query import Query, Row, Rows, at_most_one, each, joined, query

RUN = columns(
    "id chat_id kind status turn message_id history_message_id provider model first_message label "
    "started_at finished_at"
)
STEP = columns(
    "run_id number id chat_id operation status history_message_id started_at finished_at usage error request "
    "response"
)
ATTEMPT = columns(
    "run_id step number status method url request_headers response_headers status_code error started_at "
    "finished_at duration_ms request_body response_body"
)
# Runs that nobody touched for so long, and nobody works on, were left by a crash.
LEFT_AFTER_MICROS = 300 * 1_000_000
_DAY = 86_400 * 1_000_000
_AT_ONCE = 1000

IN_PROGRESS, INTERRUPTED = STATUSES.index("in_progress"), STATUSES.index("interrupted")

# --- reading ---

# With what their steps add up to.
_SELECT = (
    f"SELECT {listed(RUN, 'r')}, "
    "(SELECT CAST(count(*) AS bigint) FROM debug_steps s WHERE s.run_id = r.id), "
    "EXISTS (SELECT 1 FROM debug_steps s WHERE s.run_id = r.id AND s.error IS NOT NULL), "
    "(SELECT string_agg(s.usage, ',') FROM debug_steps s WHERE s.run_id = r.id AND s.usage IS NOT NULL) "
    "FROM debug_runs r"
)
PAGE = (
    f"{_SELECT} WHERE r.chat_id = $1 AND (r.started_at, r.id) < ($2, $3) "
    "ORDER BY r.started_at DESC, r.id DESC LIMIT $4"
)
MOVED_LAST = f"{_SELECT} WHERE r.chat_id = $1 ORDER BY r.touched_at DESC LIMIT $2"
ONE = f"{_SELECT} WHERE r.chat_id = $1 AND r.id = $2"
STEPS = f"SELECT {listed(STEP)} FROM debug_steps WHERE run_id = $1 AND number >= $2 ORDER BY number LIMIT $3"
ATTEMPTS = (
    f"SELECT {listed(ATTEMPT)} FROM debug_attempts WHERE run_id = $1 AND step >= $2 AND step < $3 "
    "ORDER BY step, number"
)
TEXTS = "SELECT hash, body FROM debug_texts WHERE chat_id = $1 AND hash IN (%s)"
WISHED = "SELECT 1 FROM preferences WHERE owner = $1 AND key = 'debug' AND value = 'true'"
LAST_MOMENT, LAST_ID = 2**62, "ffffffff-ffff-ffff-ffff-ffffffffffff"

_usage = msgspec.json.Decoder(Usage).decode
_usages = msgspec.json.Decoder(tuple[Usage, ...]).decode
_failure = msgspec.json.Decoder(Failure).decode
_headers = msgspec.json.Decoder(dict[str, str]).decode
_json = msgspec.json.Decoder(Json).decode


def wished(user_id: UserId) -> Query[bool]:
    """Whether this person wants the record for all their chats."""
    return query(WISHED, user_id, read=bool)


def page(
    chat_id: ChatId, *, limit: int, before: tuple[int, str] | None = None
) -> Query[tuple[DebugRun, ...]]:
    """The newest first. `before`: the start and the id of the last one that is known."""
    return query(PAGE, chat_id, *(before or (LAST_MOMENT, LAST_ID)), limit, read=each(_run_of))


def moved_last(chat_id: ChatId, count: int) -> Query[tuple[DebugRun, ...]]:
    """The ones that changed last come first."""
    return query(MOVED_LAST, chat_id, count, read=each(_run_of))


def one(chat_id: ChatId, run_id: DebugRunId) -> Query[DebugRun | None]:
    return query(ONE, chat_id, run_id, read=at_most_one(_run_of))


def steps(run_id: DebugRunId, *, first: int, limit: int) -> Query[tuple[DebugStep, ...]]:
    """With their attempts, from this number on."""

    def put_together(found: Rows, attempts: Rows) -> tuple[DebugStep, ...]:
        made: dict[int, list[DebugAttempt]] = {}
        for row in attempts:
            made.setdefault(row[1], []).append(_attempt_of(row))
        return tuple(_step_of(row, tuple(made.get(row[1], ()))) for row in found)

    return joined(
        query(STEPS, run_id, first, limit, read=lambda rows: rows),
        query(ATTEMPTS, run_id, first, first + limit, read=lambda rows: rows),
        read=put_together,
    )


def texts(chat_id: ChatId, segments: Sequence[str]) -> Query[dict[str, str]]:
    """What is recorded of these segments, by their hash."""
    if not segments:
        return Query((), lambda _: {})
    return query(
        TEXTS % placeholders(len(segments), 2),
        chat_id,
        *segments,
        read=lambda rows: {row[0]: row[1] for row in rows},
    )


def _run_of(row: Row) -> DebugRun:
    count, has_error, used = row[13:16]
    return DebugRun(
        id=row[0],
        chat_id=row[1],
        kind=row[2],
        status=_status(row[3]),
        turn=row[4],
        message_id=row[5],
        history_message_id=row[6],
        provider=row[7],
        model=row[8],
        started_at=from_micros(row[11]),
        finished_at=moment(row[12]),
        summary=DebugSummary(
            first_message=row[9],
            steps=count,
            usage=sum(() if used is None else _usages(f"[{used}]"), Usage()),
            has_error=bool(has_error),
            label=row[10],
        ),
    )


def _status(number: int) -> DebugStatus:
    return STATUSES[number]


def _step_of(row: Row, attempts: tuple[DebugAttempt, ...]) -> DebugStep:
    return DebugStep(
        id=row[2],
        number=row[1],
        operation=row[4],
        status=_status(row[5]),
        history_message_id=row[6],
        started_at=from_micros(row[7]),
        finished_at=moment(row[8]),
        usage=None if row[9] is None else _usage(row[9]),
        error=None if row[10] is None else _failure(row[10]),
        request=_json(row[11]),
        response=None if row[12] is None else _json(row[12]),
        attempts=attempts,
    )


def _attempt_of(row: Row) -> DebugAttempt:
    return DebugAttempt(
        number=row[2],
        status=row[3],
        method=row[4],
        url=row[5],
        request_headers=_headers(row[6]),
        response_headers=_headers(row[7]),
        status_code=row[8],
        error=row[9],
        started_at=from_micros(row[10]),
        finished_at=from_micros(row[11]),
        duration_ms=row[12],
        request_body=row[13],
        response_body=row[14],
    )


# --- upkeep ---

# Nobody works on it: its turn is over, or the chat has no living owner and waits for nobody.
_LEFT = (
    f"status = {IN_PROGRESS} AND touched_at < now_micros() - $1 AND NOT EXISTS ("
    "SELECT 1 FROM chats c LEFT JOIN workers w ON w.id = c.lease_worker_id "
    "WHERE c.id = debug_runs.chat_id AND c.turn = debug_runs.turn AND debug_runs.kind = 'chat_turn' AND "
    "(c.status = 'requires_action' OR (c.status IN ('running', 'interrupting') "
    "AND w.expires_at > now_micros())))"
)
END_LEFT_STEPS = (
    f"UPDATE debug_steps SET status = {INTERRUPTED}, finished_at = now_micros() "
    f"WHERE status = {IN_PROGRESS} AND run_id IN (SELECT debug_runs.id FROM debug_runs WHERE {_LEFT})"
)
END_LEFT = (
    f"UPDATE debug_runs SET status = {INTERRUPTED}, finished_at = now_micros(), touched_at = now_micros() "
    f"WHERE {_LEFT} RETURNING chat_id"
)
# The turn has ended, and whoever ended it did not record it.
END_WITH_TURNS = (
    "UPDATE debug_runs SET finished_at = now_micros(), touched_at = now_micros(), "
    "status = coalesce((SELECT CASE t.outcome WHEN 'finished' THEN 3 WHEN 'failed' THEN 2 ELSE 1 END "
    "FROM turns t WHERE t.chat_id = debug_runs.chat_id AND t.number = debug_runs.turn), 1) "
    f"WHERE status = {IN_PROGRESS} AND kind = 'chat_turn' AND touched_at < now_micros() - $1 AND EXISTS ("
    "SELECT 1 FROM turns t WHERE t.chat_id = debug_runs.chat_id AND t.number = debug_runs.turn "
    "AND t.finished_at IS NOT NULL) RETURNING chat_id"
)
FORGET_OLD = (
    "DELETE FROM debug_runs WHERE id IN (SELECT d.id FROM debug_runs d "
    f"WHERE d.started_at < now_micros() - $1 ORDER BY d.started_at LIMIT {_AT_ONCE}) RETURNING id"
)
FORGET_OLD_TEXTS = "DELETE FROM debug_texts WHERE noted_at < now_micros() - $1"
# What was written in the moment in which its history was removed.
FORGET_REMOVED = (
    "DELETE FROM debug_runs WHERE started_at > now_micros() - $1 AND EXISTS (SELECT 1 FROM messages m "
    "WHERE m.chat_id = debug_runs.chat_id AND m.removed "
    "AND m.id IN (debug_runs.message_id, debug_runs.history_message_id))"
)
# How long a turn's end may take to be recorded by whoever made it.
SETTLED_MICROS = 20 * 1_000_000


def end_left_over(after_micros: int = LEFT_AFTER_MICROS) -> Query[None]:
    def hints(results: Sequence[Rows]) -> Iterable[BusEvent]:
        return [DebugHint(chat_id=row[0]) for rows in results for row in rows]

    return Query(
        (
            (END_WITH_TURNS, (min(SETTLED_MICROS, after_micros),)),
            (END_LEFT_STEPS, (after_micros,)),
            (END_LEFT, (after_micros,)),
        ),
        lambda _: None,
        hints=hints,
    )


def forget_old(days: int) -> Query[bool]:
    """True: there may be more."""
    return Query(
        ((FORGET_OLD, (days * _DAY,)), (FORGET_OLD_TEXTS, (days * _DAY,)), (FORGET_REMOVED, (_DAY,))),
        lambda results: len(results[0]) == _AT_ONCE,
    )
