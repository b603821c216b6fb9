"""Plain commands of many chats, decided together on what one statement read. Commands for the same chat are
each decided on the result of the one before."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from holdfast.chats.change import Change, Refusal
from holdfast.chats.facts import NO_FACTS, NOTHING, needs
from holdfast.core.ids import ChatId, Ids
from holdfast.core.parts import Notice, Part, Reasoning, Text
from holdfast.core.shapes import encode
from holdfast.store.facts import facts
from holdfast.store.fold import folded, may_follow
from holdfast.store.interface import Applied
from holdfast.store.postgres.command_requests import CommandRequest, Doubtful, counted
from holdfast.store.postgres.transaction import Loaded, Session

Group = Mapping[ChatId, Sequence[CommandRequest]]
Answered = tuple[CommandRequest, Applied | Refusal]

# Roughly how many characters are written together; the rest of the group waits for the next batch.
MOST_CHARACTERS = 4 * 1024 * 1024


@dataclass(slots=True)
class Settled:
    """The decisions. The answers are valid only once the changes are committed."""

    answers: list[Answered] = field(default_factory=list[Answered])
    # One per chat that changes, as it is written.
    changes: list[Change] = field(default_factory=list[Change])
    # Not reached.
    later: list[CommandRequest] = field(default_factory=list[CommandRequest])

    def missed(self, held: set[ChatId]) -> list[CommandRequest]:
        """Removes what was not written: somebody else moved or locked the chat, or it exists already, or its
        parent is gone."""
        missed = {change.chat_id for change in self.changes} - held
        if not missed:
            return []
        again = [asked for asked, _ in self.answers if asked.chat_id in missed]
        self.answers = [answered for answered in self.answers if answered[0].chat_id not in missed]
        self.changes = [change for change in self.changes if change.chat_id in held]
        return again

    def tell(self) -> None:
        for asked, answer in self.answers:
            asked.tell(answer)

    def doubt(self, transaction_id: str | None) -> None:
        """The commit was sent and never answered."""
        for asked, answer in self.answers:
            if isinstance(answer, Applied) and not answer.change.is_empty:
                asked.doubtful = Doubtful(answer.change, transaction_id)


async def settle(session: Session, group: Group, ids: Ids, settled: Settled) -> None:
    """Everything but the writing."""
    loaded = await session.load(list(group))
    written = 0
    for chat_id, asked in group.items():
        if written > MOST_CHARACTERS:
            settled.later += asked
        else:
            written += await _settle_chat(session, loaded[chat_id], asked, ids, settled)


async def _settle_chat(
    session: Session, loaded: Loaded, group: Sequence[CommandRequest], ids: Ids, settled: Settled
) -> int:
    view = loaded.view
    changes: list[Change] = []
    for position, asked in enumerate(group):
        if asked.doubtful is not None and await counted(session, asked.doubtful, loaded.view):
            settled.answers.append((asked, Applied(asked.doubtful.change)))
            continue
        wanted = needs(asked.commands, view)
        if wanted is not NOTHING and changes:
            # Its look-ups must see what was decided before it.
            settled.later += group[position:]
            break
        known = NO_FACTS if wanted is NOTHING else await session.ask(facts(asked.chat_id, wanted, view))
        decided = asked.decide(view, known, loaded.now, ids)
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
    return sum(map(_characters, changes))


def _characters(change: Change) -> int:
    """A rough size: only text and tool outputs are large."""
    parts = [part for message in change.messages for part in message.parts]
    parts += [part for item in change.queue_put for part in item.parts]
    return sum(map(_size, parts)) + sum(len(output.text) for output in change.full_outputs)


def _size(part: Part) -> int:
    match part:
        case Text(text=text) | Reasoning(text=text) | Notice(text=text):
            return len(text)
        case _:
            return len(encode(part))
