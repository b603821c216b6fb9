"""Ends of sub-agents that a chat has not been told about, and what there is to report. The end of each turn
is reported once: by the result of a call, which takes it in the commit that stores it, or by a notice."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from holdfast.chats.commands import DeliveryKey
from holdfast.chats.view import Delivery, InboxNotice
from holdfast.core.failures import Failure
from holdfast.core.ids import ChatId, MessageId
from holdfast.core.parts import Text
from holdfast.core.shapes import Json
from holdfast.core.steps import TurnOutcome
from holdfast.store import deliveries, messages
from holdfast.store.interface import Store

# The source of a notice that reports an end.
SOURCE = "agent"


@dataclass(frozen=True, slots=True)
class AgentTurnEnd:
    key: DeliveryKey
    outcome: TurnOutcome
    # The last answer of the turn.
    said: str
    failure: Failure | None


def notice_data(delivery: Delivery) -> Json:
    """What a notice says about the end, for programs; `noticed` reads it."""
    return {"agent_id": delivery.child_id, "turn": delivery.turn, "outcome": delivery.outcome}


def noticed(inbox: Sequence[InboxNotice]) -> list[DeliveryKey]:
    """Ends that wait as notices: they have not entered history, so a call may report them instead."""
    keys: list[DeliveryKey] = []
    for notice in inbox:
        given: Json = notice.data
        if notice.source == SOURCE and isinstance(given, dict):
            data = cast(dict[str, Json], given)
            child_id, turn = data.get("agent_id"), data.get("turn")
            if isinstance(child_id, str) and isinstance(turn, int):
                keys.append(DeliveryKey(child_id=ChatId(child_id), turn=turn))
    return keys


async def ends_of(
    store: Store, child_id: ChatId, untaken: Sequence[Delivery], inbox: Sequence[InboxNotice]
) -> list[AgentTurnEnd]:
    """Those of one child, oldest first."""
    own = [delivery for delivery in untaken if delivery.child_id == child_id]
    keys = [key for key in noticed(inbox) if key.child_id == child_id]
    found = [await store.read(deliveries.delivery(key)) for key in keys]
    own += [delivery for delivery in found if delivery is not None]
    return [await end_of(store, delivery) for delivery in sorted(own, key=lambda delivery: delivery.turn)]


async def end_of(store: Store, delivery: Delivery) -> AgentTurnEnd:
    return AgentTurnEnd(
        key=DeliveryKey(child_id=delivery.child_id, turn=delivery.turn),
        outcome=delivery.outcome,
        said=await said(store, delivery.child_id, delivery.answer_id),
        failure=delivery.failure,
    )


async def said(store: Store, chat_id: ChatId, message_id: MessageId | None) -> str:
    """The text of a message; empty if there is none."""
    found = None if message_id is None else await store.read(messages.message(chat_id, message_id))
    return "" if found is None else "\n".join(part.text for part in found.parts if isinstance(part, Text))
