"""Runs of hooks: recorded once each, and what a person is shown of them."""

import msgspec

from holdfast.core.clock import from_micros, to_micros
from holdfast.core.hooks import HookRun, HookVerdict
from holdfast.core.ids import ChatId, UserId
from holdfast.core.shapes import encode_text
from holdfast.store.columns import columns, listed, placeholders
from holdfast.store.query import Query, Row, at_most_one, each, query

RUN = columns(
    "id owner_id chat_id turn key hook_id part event name call_id outcome verdict exit_code output "
    "started_at finished_at revision"
)

_SELECT = f"SELECT {listed(RUN)} FROM hook_runs"
RECORD = f"INSERT INTO hook_runs ({listed(RUN)}) VALUES ({placeholders(len(RUN))}) ON CONFLICT DO NOTHING"
WITH_KEY = f"{_SELECT} WHERE chat_id = $1 AND key = $2 ORDER BY started_at, id LIMIT 2000"
ONE = f"{_SELECT} WHERE chat_id = $1 AND id = $2"
OF_TURNS = f"{_SELECT} WHERE chat_id = $1 AND turn BETWEEN $2 AND $3 ORDER BY started_at, id LIMIT 5000"
OF_OWNER = (
    f"{_SELECT} WHERE owner_id = $1 AND ($2 = '' OR hook_id = $2) "
    "AND (started_at, id) < ($3, $4) ORDER BY started_at DESC, id DESC LIMIT $5"
)
_verdict = msgspec.json.Decoder(HookVerdict).decode
LAST = 2**62


def record(run: HookRun) -> Query[None]:
    """A write. One that is recorded already stays as it is."""
    return query(
        RECORD,
        run.id,
        run.owner_id,
        run.chat_id,
        run.turn,
        run.key,
        run.hook_id,
        run.part,
        run.event,
        run.name,
        run.call_id,
        run.outcome,
        encode_text(run.verdict),
        run.exit_code,
        run.output,
        to_micros(run.started_at),
        to_micros(run.finished_at),
        run.revision,
        read=lambda _: None,
    )


def with_key(chat_id: ChatId, key: str) -> Query[tuple[HookRun, ...]]:
    return query(WITH_KEY, chat_id, key, read=each(run_of))


def one(chat_id: ChatId, run_id: str) -> Query[HookRun | None]:
    return query(ONE, chat_id, run_id, read=at_most_one(run_of))


def of_turns(chat_id: ChatId, first: int, last: int) -> Query[tuple[HookRun, ...]]:
    return query(OF_TURNS, chat_id, first, last, read=each(run_of))


def of_owner(
    owner_id: UserId, hook_id: str, limit: int, before: tuple[int, str] | None = None
) -> Query[tuple[HookRun, ...]]:
    """The newest first; of one hook, or of all (an empty id)."""
    moment, run_id = before or (LAST, "")
    return query(OF_OWNER, owner_id, hook_id, moment, run_id, limit, read=each(run_of))


def run_of(row: Row) -> HookRun:
    return HookRun(
        id=row[0],
        owner_id=row[1],
        chat_id=row[2],
        turn=row[3],
        key=row[4],
        hook_id=row[5],
        part=row[6],
        event=row[7],
        name=row[8],
        call_id=row[9],
        outcome=row[10],
        verdict=_verdict(row[11]),
        exit_code=row[12],
        output=row[13],
        started_at=from_micros(row[14]),
        finished_at=from_micros(row[15]),
        revision=row[16],
    )
