"""Commands that are decided on the current state, and their results. Also the answer to the hard question:
the connection broke while a commit was in flight; was it committed?"""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from holdfast.chats.change import Change, Refusal
from holdfast.chats.commands import Archive, CallFence, Command, Delete, Edit, Fence, Fork, Unarchive
from holdfast.chats.decide import decide
from holdfast.chats.facts import Facts
from holdfast.chats.view import View
from holdfast.core.errors import TryAgain
from holdfast.core.ids import ChatId, Ids
from holdfast.store.chat_rows import indexed_row, moving_row
from holdfast.store.interface import Applied, Once, Replayed
from holdfast.store.outbox import EventOutbox
from holdfast.store.postgres.transaction import Session
from holdfast.store.turn_times import TurnTimes

Answer = Applied | Refusal | Replayed

# A queue item may have become a message meanwhile.
TRACES = (
    "SELECT EXISTS (SELECT 1 FROM messages WHERE chat_id = $1 AND id = ANY($2::text[]::uuid[])) "
    "OR EXISTS (SELECT 1 FROM messages WHERE chat_id = $1 AND queue_item_id = ANY($3::text[]::uuid[])) "
    "OR EXISTS (SELECT 1 FROM queue WHERE chat_id = $1 AND id = ANY($3::text[]::uuid[])) "
    "OR EXISTS (SELECT 1 FROM inbox WHERE chat_id = $1 AND id = ANY($4::text[]::uuid[])) "
    "OR EXISTS (SELECT 1 FROM steps WHERE chat_id = $1 AND id = ANY($5::text[]::uuid[]))"
)
STATUS = "SELECT pg_xact_status($1::text::xid8)"
# They concern other chats too, or read a whole history.
_WIDE = (Archive, Unarchive, Delete, Edit, Fork)


@dataclass(frozen=True, slots=True)
class Doubtful:
    """A change that may have been committed: the connection broke before the answer came. `transaction_id` is
    None if the change was its own transaction."""

    change: Change
    transaction_id: str | None


@dataclass(slots=True, eq=False)
class CommandRequest:
    chat_id: ChatId
    commands: Sequence[Command]
    fence: Fence | None
    once: Once | None
    answer: asyncio.Future[Answer]
    times: TurnTimes
    outbox: EventOutbox
    on_behalf: CallFence | None = None
    doubtful: Doubtful | None = None

    @property
    def is_wide(self) -> bool:
        return (
            self.once is not None
            or self.on_behalf is not None
            or any(isinstance(command, _WIDE) for command in self.commands)
        )

    @property
    def copies_history(self) -> bool:
        return any(isinstance(command, Fork) for command in self.commands)

    def decide(self, view: View | None, facts: Facts, now: datetime, ids: Ids) -> Change | Refusal:
        decided = decide(self.chat_id, view, self.commands, fence=self.fence, facts=facts, now=now, ids=ids)
        return decided if isinstance(decided, Refusal) else self.outbox.kept(self.times.measured(decided))

    def tell(self, answer: Answer) -> None:
        if not self.answer.done():  # the caller may have stopped waiting
            self.answer.set_result(answer)

    def fail(self, error: BaseException) -> None:
        if not self.answer.done():
            self.answer.set_exception(error)


def all_changes(change: Change) -> Iterator[Change]:
    """The change and the changes of other chats that belong to it, without empty ones."""
    if change.after is None or change.after.chat.version != change.before:
        yield change
    for other in change.others:
        yield from all_changes(other)


async def counted(session: Session, doubtful: Doubtful, view: View | None) -> bool:
    """Whether the change was committed. Called under the lock of its chat, or before a write that is guarded
    by the version seen here: should the lost commit still arrive, its guard fails."""
    change = doubtful.change
    if change.after is None:
        return view is None
    if view is None:
        return False
    if change.created is not None:
        return True
    if view.chat.version <= change.before:
        return False
    if _is_as_left(view, change.after):
        return True
    # The chat has moved since, by this change or only by others.
    if doubtful.transaction_id is None:
        return (await session.fetch(TRACES, *_traces(change, change.after)))[0][0]
    status = (await session.fetch(STATUS, doubtful.transaction_id))[0][0]
    if status is None:
        raise TryAgain(
            "The connection broke and it is not known whether this was done. Check the current "
            "state, then try again."
        )
    return status == "committed"


def _traces(change: Change, after: View) -> tuple[object, ...]:
    """Ids that only this change can have made. A change without any only moved states; there an owner's
    fence, or a harmless repetition, is enough."""
    now = after.chat.updated_at
    return (
        change.chat_id,
        [message.id for message in change.messages],
        [item.id for item in change.queue_put if item.created_at == now],
        [notice.id for notice in change.inbox_put],
        [step.id for step in change.steps],
    )


def _is_as_left(view: View, after: View) -> bool:
    """Whether the chat is exactly as a change left it: these columns contain its version, its last message
    and the microsecond of the change."""
    return moving_row(view) == moving_row(after) and indexed_row(view.chat) == indexed_row(after.chat)
