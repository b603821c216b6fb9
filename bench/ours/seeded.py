"""A chat with a history, made in a few transitions."""

from bench.ours.working import OWNER, said
from bench.peers.seeding import MESSAGE
from bench.serve import side_by_side
from holdfast.chats.commands import CommitStep, Create, FinishTurn, NewMessage, NewStep
from holdfast.core.chats import Settings
from holdfast.core.clock import SystemClock
from holdfast.core.ids import ChatId, RandomIds, UserId
from holdfast.store.interface import Applied, Store

# Seeded at the same time.
_AT_ONCE = 64


async def seed(store: Store, chats: int, messages: int, owner: UserId = OWNER) -> list[ChatId]:
    """So many idle chats, each with so many messages of 1 kB, by turns the user's and the assistant's. They
    are in the search index already: they have been there for long."""
    seeded: list[ChatId] = []

    async def some(first: int) -> None:
        seeded.extend([await _seed(store, messages, owner) for _ in range(first, chats, _AT_ONCE)])

    await side_by_side(min(chats, _AT_ONCE), some)
    while await store.index_pending():
        pass
    return seeded


async def _seed(store: Store, messages: int, owner: UserId) -> ChatId:
    clock = SystemClock()
    chat_id = ChatId(RandomIds().uuid7(clock.now()))
    history = tuple(
        NewMessage(role="user" if number % 2 == 0 else "assistant", parts=said(MESSAGE))
        for number in range(1, messages)
    )
    commands = (
        Create(owner_id=owner, settings=Settings(), parts=said(MESSAGE)),
        CommitStep(step=NewStep(started_at=clock.now()), messages=history),
        FinishTurn(),
    )
    for command in commands:
        applied = await store.transition(chat_id, command)
        assert isinstance(applied, Applied), applied
    return chat_id
