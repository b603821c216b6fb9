"""Chats with a long history, written into the database while no server has it open."""

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

from holdfast.chats.commands import Command, CommitStep, Create, FinishTurn, NewMessage, NewStep, Send
from holdfast.core.chats import Settings
from holdfast.core.clock import SystemClock
from holdfast.core.ids import ChatId, RandomIds, UserId
from holdfast.core.parts import Text
from holdfast.store.interface import Applied
from holdfast.store.open import open_store
from tests.e2e.server import Person

BEGINNING = "The very beginning."
A_TURN = 40
ANSWERS = (
    "Short.",
    "## A heading\n\nSome **words**, a [link](https://example.com/) and `code`.\n\n- one\n- two\n- three",
    "```python\ndef go_on(chat):\n    return decide(chat)\n```\n\nThat is how it goes on.",
    "| point | what it means |\n|---|---|\n| durable | committed first |\n| exact | nothing twice |",
    "A paragraph that is somewhat longer than a line, as most of them are. " * 6,
)


def with_history(who: Person, messages: int, last: str, title: str) -> str:
    """A chat of theirs with so many messages. Restarts the server."""
    owner: str = who.get("session")["user"]["id"]
    who.server.stop()
    # A loop of its own: the browser's runs in this thread.
    with ThreadPoolExecutor(1) as elsewhere:
        made = elsewhere.submit(asyncio.run, _written(who, UserId(owner), messages, last)).result()
    who.server.start()
    who.patch(f"chats/{made}", {"title": title})
    return made


async def _written(who: Person, owner: UserId, messages: int, last: str) -> ChatId:
    chat_id = ChatId(RandomIds().uuid7(SystemClock().now()))
    store = await open_store("sqlite", data=who.server.data, publish=_unheard)
    try:
        for command in _commands(owner, messages, last):
            applied = await store.transition(chat_id, command)
            assert isinstance(applied, Applied), applied
    finally:
        await store.close()
    return chat_id


def _commands(owner: UserId, messages: int, last: str) -> Iterator[Command]:
    """Turns with one message of the person and many of the agent."""
    for first in range(0, messages, A_TURN):
        asked = (Text(text=f"Question {first}" if first else BEGINNING),)
        if first:
            yield Send(parts=asked, created_by=owner)
        else:
            yield Create(owner_id=owner, settings=Settings(), parts=asked)
        said = [ANSWERS[number % len(ANSWERS)] for number in range(first + 1, min(first + A_TURN, messages))]
        if first + A_TURN >= messages:
            said[-1] = last
        told = tuple(NewMessage(role="assistant", parts=(Text(text=text),)) for text in said)
        yield CommitStep(step=NewStep(started_at=SystemClock().now()), messages=told)
        yield FinishTurn()


def _unheard(hint: object) -> None:
    """Nobody listens yet."""
