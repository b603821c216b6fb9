"""Sweeping what is due by the clock: lapsed holds, calls that nobody answered in time, keys and workers to
delete. One query finds the chats of each kind, then ordinary transitions do the work, so that every replica
may sweep at once."""

from dataclasses import dataclass

from holdfast.chats.commands import ExpireCalls, LapseHolds
from holdfast.store import calls, queue
from holdfast.store.interface import Store

BATCH = 200


@dataclass(frozen=True, slots=True)
class Swept:
    """How many chats were handled; `more` if a batch was full and sweeping again is worthwhile."""

    lapsed: int
    expired: int
    more: bool


async def sweep(store: Store) -> Swept:
    lapsed, due = await store.read(queue.lapsed(BATCH), calls.due(BATCH))
    # A refusal means that something else came first: the item was released, the call answered, the chat
    # deleted.
    for chat_id in lapsed:
        await store.transition(chat_id, LapseHolds())
    for chat_id in due:
        await store.transition(chat_id, ExpireCalls())
    await store.discard_expired()
    return Swept(len(lapsed), len(due), more=BATCH in (len(lapsed), len(due)))
