"""What a trace is made of: turns with their steps, calls and messages, in one snapshot."""

from dataclasses import dataclass

from holdfast.chats.view import Call
from holdfast.core.ids import ChatId
from holdfast.core.messages import Message
from holdfast.core.steps import Step, Turn
from holdfast.store.calls import calls_of_turns
from holdfast.store.columns import listed
from holdfast.store.query import Query, each, joined, query
from holdfast.store.rows import MESSAGE, TURN, message_of, turn_of
from holdfast.store.steps import steps_of_turns

TURNS = f"SELECT {listed(TURN)} FROM turns WHERE chat_id = $1 AND number BETWEEN $2 AND $3 ORDER BY number"
# A turn's messages begin with the one that started it: no index of turns is needed.
MESSAGES = (
    f"SELECT {listed(MESSAGE)} FROM messages WHERE chat_id = $1 AND turn BETWEEN $2 AND $3 "
    "AND id >= coalesce((SELECT t.message_id FROM turns t WHERE t.chat_id = $1 AND t.number = $2), "
    "'00000000-0000-0000-0000-000000000000') ORDER BY id"
)


@dataclass(frozen=True, slots=True)
class Traced:
    turns: tuple[Turn, ...]
    steps: tuple[Step, ...]
    calls: tuple[Call, ...]
    messages: tuple[Message, ...]


def traced(chat_id: ChatId, first: int, last: int) -> Query[Traced]:
    return joined(
        query(TURNS, chat_id, first, last, read=each(turn_of)),
        steps_of_turns(chat_id, first, last),
        calls_of_turns(chat_id, first, last),
        query(MESSAGES, chat_id, first, last, read=each(message_of)),
        read=Traced,
    )
