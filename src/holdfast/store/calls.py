"""Calls: the open ones, those of a turn, and a single one with its full output."""

from dataclasses import dataclass

from holdfast.chats.change import Refusal
from holdfast.chats.commands import CallFence
from holdfast.chats.view import Call
from holdfast.core.ids import CallId, ChatId
from holdfast.store.columns import listed
from holdfast.store.query import Query, any_row, at_most_one, each, joined, query
from holdfast.store.rows import CALL, call_of
from holdfast.store.views import CALLS

_SELECT = f"SELECT {listed(CALL)} FROM calls WHERE chat_id = $1"

ONE = f"{_SELECT} AND call_id = $2"
FULL_OUTPUT = "SELECT text FROM call_outputs WHERE chat_id = $1 AND call_id = $2 ORDER BY run DESC LIMIT 1"
OF_TURNS = f"{_SELECT} AND turn BETWEEN $2 AND $3 ORDER BY message_id, position"
# Chats with a call whose deadline has passed.
DUE = (
    "SELECT DISTINCT chat_id FROM calls "
    "WHERE state = 'waiting' AND deadline_at IS NOT NULL AND deadline_at <= now_micros() LIMIT $1"
)
# The chat is named c: on PostgreSQL its row is locked against a takeover until the commit.
GOES_ON = (
    "SELECT 1 FROM calls k JOIN chats c ON c.id = k.chat_id "
    "WHERE k.chat_id = $1 AND k.call_id = $2 AND k.run = $3 AND k.state = 'started' AND NOT k.abandoned "
    "AND k.lease_number = $4 AND c.lease_number = $4 AND c.lease_worker_id IS NOT NULL"
)
CALL_OVER = Refusal(
    code="stale",
    text="This call is no longer running here: it was given up, or another server has taken the chat "
    "over. Nothing was done.",
)


@dataclass(frozen=True, slots=True)
class FullCall:
    """`full_output` is set when the model was given only part of it."""

    call: Call
    full_output: str | None


def goes_on(fence: CallFence, *, lock: str = "") -> Query[bool]:
    """Whether work on behalf of this call is still valid; checked in the transaction that does the work."""
    args = (fence.chat_id, fence.call_id, fence.run, fence.lease_number)
    return query(f"{GOES_ON}{lock}", *args, read=any_row)


def open_calls(chat_id: ChatId) -> Query[tuple[Call, ...]]:
    return query(CALLS, chat_id, read=each(call_of))


def call(chat_id: ChatId, call_id: CallId) -> Query[FullCall | None]:
    return joined(
        query(ONE, chat_id, call_id, read=at_most_one(call_of)),
        query(FULL_OUTPUT, chat_id, call_id, read=at_most_one(lambda row: row[0])),
        read=lambda found, output: None if found is None else FullCall(found, output),
    )


def calls_of_turns(chat_id: ChatId, first: int, last: int) -> Query[tuple[Call, ...]]:
    return query(OF_TURNS, chat_id, first, last, read=each(call_of))


def due(limit: int) -> Query[tuple[ChatId, ...]]:
    return query(DUE, limit, read=each(lambda row: row[0]))
