"""One transaction for a command that concerns more than its chat: a family, a subtree, a whole history, or a
request with an idempotency key.

Locking several chats of a family starts with its root, so two such transactions never wait for each other in
a cycle; everybody else holds one row, or takes only rows that are free.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from holdfast.chats.change import Change, Refusal
from holdfast.chats.commands import Archive, Create, Delete, Edit, Unarchive
from holdfast.chats.facts import needs
from holdfast.core.clock import to_micros
from holdfast.core.errors import Bug
from holdfast.core.ids import ChatId, Ids
from holdfast.core.origins import parent_of
from holdfast.store import idempotency_keys
from holdfast.store.calls import CALL_OVER
from holdfast.store.facts import FAMILY, STARTED_THERE, facts, subtree
from holdfast.store.interface import Applied, Once
from holdfast.store.postgres.command_requests import Answer, CommandRequest, Doubtful, all_changes, counted
from holdfast.store.postgres.transaction import LOCK_DELETED, LOCK_WAITING, Loaded, Transaction

ROOT = "SELECT root_id FROM chats WHERE id = $1"
LOCK_FAMILY = f"SELECT c.id FROM chats c WHERE {FAMILY} ORDER BY c.id FOR NO KEY UPDATE"
LOCK_STARTED = f"SELECT c.id FROM chats c WHERE {STARTED_THERE} ORDER BY c.id FOR NO KEY UPDATE"
KEEP_PARENT = "SELECT 1 FROM chats WHERE id = $1 FOR KEY SHARE"
# Waits for an identical request in progress; if that one stored its answer, this changes nothing. An expired
# key that has not been swept yet is replaced.
STORE_KEY = (
    "INSERT INTO idempotency_keys AS k (user_id, method, path, key, fingerprint, status, created_at, body) "
    "VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (user_id, method, path, key) DO UPDATE SET "
    "fingerprint = excluded.fingerprint, status = excluded.status, created_at = excluded.created_at, "
    f"body = excluded.body WHERE k.created_at <= now_micros() - {idempotency_keys.KEPT_MICROS} RETURNING 1"
)

PARENT_GONE = Refusal(code="not_found", text="The parent of this chat no longer exists.")


class Overtaken(Exception):
    """Something that could not be locked changed in between: roll back and start again."""


@dataclass(frozen=True, slots=True)
class Wide:
    """The result of the transaction. The answer is valid only once it is committed."""

    answer: Answer
    # Written and to be announced. Without them there is nothing to commit, unless a key is stored.
    changes: tuple[Change, ...] = ()
    remembers: bool = False
    # Used if the commit gets no answer.
    doubtful: Doubtful | None = None


async def settle_wide(transaction: Transaction, asked: CommandRequest, ids: Ids) -> Wide:
    """Everything but the commit."""
    # First: several chats of a family are locked from the root downwards.
    if asked.on_behalf is not None and not await transaction.keep_going(asked.on_behalf):
        return Wide(CALL_OVER)
    present = await _lock(transaction, asked)
    # Only now: an identical request that held the lock may have done it while we waited, and that is not a
    # refusal.
    if (
        asked.once is not None
        and (earlier := await transaction.ask(idempotency_keys.stored(asked.once))) is not None
    ):
        return Wide(earlier)
    if asked.doubtful is not None and await counted(transaction, asked.doubtful, present.view):
        return Wide(Applied(asked.doubtful.change))
    if refusal := await _parent_gone(transaction, asked):
        return Wide(refusal)
    wanted = needs(asked.commands, present.view)
    known = await transaction.ask(facts(asked.chat_id, wanted, present.view))
    decided = asked.decide(present.view, known, present.now, ids)
    if isinstance(decided, Refusal):
        return Wide(decided)
    changes = tuple(all_changes(decided))
    await _write(transaction, changes)
    answer = Applied(decided)
    if asked.once is not None:
        await _remember(transaction, asked.once, answer, to_micros(present.now))
    return Wide(
        answer,
        (decided,) if changes else (),
        asked.once is not None,
        Doubtful(decided, await transaction.id()) if changes else None,
    )


async def _lock(transaction: Transaction, asked: CommandRequest) -> Loaded:
    chat_id = asked.chat_id
    root_id = chat_id
    if any(isinstance(command, Archive | Unarchive | Delete | Edit) for command in asked.commands):
        found = await transaction.fetch(ROOT, chat_id)
        if found and (root_id := found[0][0]) != chat_id:
            await transaction.lock(LOCK_WAITING, (root_id,))
    deletes = any(isinstance(command, Delete) for command in asked.commands)
    await transaction.lock(LOCK_DELETED if deletes else LOCK_WAITING, (chat_id,))
    for command in asked.commands:
        match command:
            case Archive() | Unarchive():
                await transaction.fetch(LOCK_FAMILY, root_id, chat_id)
            case Edit(message_id=message_id):
                await transaction.fetch(LOCK_STARTED, chat_id, message_id)
            case Delete():
                await _lock_subtree(transaction, chat_id)
            case _:
                pass
    return (await transaction.load((chat_id,)))[chat_id]


async def _lock_subtree(transaction: Transaction, chat_id: ChatId) -> None:
    """Repeats until the family is the same after locking as before: a child may be created below while we
    wait."""
    known: frozenset[ChatId] = frozenset()
    while (found := frozenset(await transaction.ask(subtree(chat_id)))) != known:
        await transaction.lock(LOCK_DELETED, found)
        known = found


async def _parent_gone(transaction: Transaction, asked: CommandRequest) -> Refusal | None:
    for command in asked.commands:
        # Held until the commit: it cannot be deleted while a child is created below it.
        parent_id = parent_of(command.origin) if isinstance(command, Create) else None
        if parent_id is not None and not await transaction.fetch(KEEP_PARENT, parent_id):
            return PARENT_GONE
    return None


async def _write(transaction: Transaction, changes: Sequence[Change]) -> None:
    deleted = [change for change in changes if change.after is None]
    if len(deleted) > 1 or (deleted and len(changes) > 1):
        raise Bug("a deletion comes with other changes")
    for change in deleted:
        await transaction.delete(change)
    rest = [change for change in changes if change.after is not None]
    if rest and len(await transaction.write(rest)) != len(rest):
        raise Overtaken


async def _remember(transaction: Transaction, once: Once, answer: Applied, now: int) -> None:
    if not await transaction.fetch(STORE_KEY, *idempotency_keys.kept(once, answer, now)):
        raise Overtaken
