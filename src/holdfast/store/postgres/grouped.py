"""One transaction for the plain commands of many chats: all are locked, read, decided and written together.
Commands for the same chat are decided one on the result of the other."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from holdfast.chats.change import Change, Refusal
from holdfast.chats.facts import NO_FACTS, NOTHING, needs
from holdfast.core.ids import ChatId, Ids
from holdfast.core.parts import Notice, Part, Reasoning, Text
from holdfast.core.shapes import encode
from holdfast.store.facts import facts
from holdfast.store.interface import Applied
from holdfast.store.postgres.asked import Asked, Doubtful, counted
from holdfast.store.postgres.fold import folded, may_follow
from holdfast.store.postgres.transaction import LOCK_FREE, LOCK_WAITING, Loaded, Transaction

Group = Mapping[ChatId, Sequence[Asked]]
Answered = tuple[Asked, Applied | Refusal]

# About the characters one transaction may write before the rest of its group waits for the next.
MOST_CHARACTERS = 4 * 1024 * 1024


@dataclass(slots=True)
class Settled:
    """What a transaction came to. The answers count only once it is committed."""

    answers: list[tuple[Asked, Applied | Refusal]] = field(
        default_factory=list[tuple[Asked, Applied | Refusal]]
    )
    # By chat, as they are written.
    changes: list[Change] = field(default_factory=list[Change])
    # Somebody else holds the row, or it appeared or vanished meanwhile: to be waited for, each for itself.
    blocked: list[Asked] = field(default_factory=list[Asked])
    # Not got to.
    later: list[Asked] = field(default_factory=list[Asked])
    transaction_id: str | None = None

    def doubt(self) -> None:
        """The commit was sent and never answered."""
        for asked, answer in self.answers:
            if isinstance(answer, Applied) and not answer.change.is_empty:
                asked.doubtful = Doubtful(answer.change, self.transaction_id)


async def settle(transaction: Transaction, group: Group, ids: Ids, settled: Settled, *, wait: bool) -> None:
    """Everything but the commit. Without `wait` a chat that is locked is left alone."""
    chat_ids = list(group)
    locked = await transaction.lock(LOCK_WAITING if wait else LOCK_FREE, chat_ids)
    loaded = await transaction.load(chat_ids)
    written = 0
    for chat_id, asked in group.items():
        present = loaded[chat_id]
        settled.transaction_id = present.transaction_id
        if present.view is not None and chat_id not in locked:
            settled.blocked += asked
        elif written > MOST_CHARACTERS:
            settled.later += asked
        else:
            written += await _settle_chat(transaction, present, asked, ids, settled)
    if settled.changes:
        held = await transaction.write(settled.changes)
        _leave_out_missed(settled, held)


async def _settle_chat(
    transaction: Transaction, present: Loaded, group: Sequence[Asked], ids: Ids, settled: Settled
) -> int:
    view, now = present.view, present.now
    changes: list[Change] = []
    for position, asked in enumerate(group):
        if asked.doubtful is not None and await counted(transaction, asked.doubtful, present):
            settled.answers.append((asked, Applied(asked.doubtful.change)))
            continue
        wanted = needs(asked.commands, view)
        if wanted is not NOTHING and changes:
            settled.later += group[position:]
            break
        known = NO_FACTS if wanted is NOTHING else await transaction.ask(facts(asked.chat_id, wanted, view))
        decided = asked.decide(view, known, now, ids)
        if isinstance(decided, Refusal):
            settled.answers.append((asked, decided))
            continue
        settled.answers.append((asked, Applied(decided)))
        if decided.is_empty:
            continue
        changes.append(decided)
        view = decided.after
        if not may_follow(decided):
            settled.later += group[position + 1 :]
            break
    if changes:
        settled.changes.append(folded(changes))
    return sum(_characters(change) for change in changes)


def _characters(change: Change) -> int:
    """Roughly: what is large is text, or what a tool said."""
    parts = [part for message in change.messages for part in message.parts]
    parts += [part for item in change.queue_put for part in item.parts]
    return sum(map(_size, parts)) + sum(len(output.text) for output in change.full_outputs)


def _size(part: Part) -> int:
    match part:
        case Text(text=text) | Reasoning(text=text) | Notice(text=text):
            return len(text)
        case _:
            return len(encode(part))


def _leave_out_missed(settled: Settled, held: set[ChatId]) -> None:
    """A chat that is created may exist already, or its parent may be gone: nothing of it was written."""
    missed = {change.chat_id for change in settled.changes} - held
    if missed:
        settled.blocked += [asked for asked, _ in settled.answers if asked.chat_id in missed]
        settled.answers = [
            (asked, answer) for asked, answer in settled.answers if asked.chat_id not in missed
        ]
        settled.changes = [change for change in settled.changes if change.chat_id in held]
