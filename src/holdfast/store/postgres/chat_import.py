"""Creates a chat with a long history, in one transaction of many statements, so that neither the event loop
nor the database is blocked by all of it at once."""

import asyncio
from collections.abc import Iterator

from msgspec.structs import replace

from holdfast.chats.change import Change, Refusal
from holdfast.chats.states import State
from holdfast.core.messages import Message
from holdfast.store import idempotency_keys
from holdfast.store.interface import Applied, Once, Replayed
from holdfast.store.postgres.change_rows import Row
from holdfast.store.postgres.settings_writer import remember
from holdfast.store.postgres.transaction import MORE_MESSAGES, Transaction
from holdfast.store.rows import message_row

# Messages per statement: few enough that sending them does not take long.
PORTION_CHARACTERS = 512 * 1024
PORTION_MESSAGES = 500

EXISTS = Refusal(
    code="wrong_state",
    text="There is already a chat with this id.",
    data={"command": "import", "state": State.IDLE.value},
)


async def found(
    transaction: Transaction, change: Change, once: Once | None
) -> tuple[Applied | Refusal | Replayed, bool]:
    """Everything but the commit; returns whether there is anything to commit."""
    if once is not None and (earlier := await transaction.ask(idempotency_keys.stored(once))) is not None:
        return earlier, False
    if not await transaction.write([replace(change, messages=())]):
        return EXISTS, False
    rows = _portions(change.messages)
    while (portion := await asyncio.to_thread(next, rows, None)) is not None:
        await transaction.fetch(MORE_MESSAGES, portion)
    answer = Applied(change)
    if once is not None:
        await remember(transaction, once, answer)
    return answer, True


def _portions(messages: tuple[Message, ...]) -> Iterator[list[Row]]:
    portion: list[Row] = []
    size = 0
    for message in messages:
        row = message_row(message)
        portion.append(row)
        size += len(str(row[-1]))
        if size > PORTION_CHARACTERS or len(portion) == PORTION_MESSAGES:
            yield portion
            portion, size = [], 0
    if portion:
        yield portion
