"""Changes a chat's settings in two statements: the settings under their lock, and everything that follows
from the change. Also stores answers under their idempotency keys, in whatever transaction they belong to."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from holdfast.chats.change import Refusal
from holdfast.core.chats import Settings
from holdfast.core.errors import TryAgain
from holdfast.core.events import Hint
from holdfast.core.ids import ChatId
from holdfast.store import hints, idempotency_keys, settings_rules
from holdfast.store.chat_rows import SETTINGS
from holdfast.store.interface import OnceOf, Replayed
from holdfast.store.postgres.family_transaction import STORE_KEY
from holdfast.store.postgres.transaction import Transaction

T = TypeVar("T")

LOCK = f"{settings_rules.SELECT} FOR UPDATE"
NOW = "SELECT now_micros()"
_WORDS, _LABELS = f"${len(SETTINGS) + 1}::text[]", f"${len(SETTINGS) + 2}::text[]"
# Labels that stay are not touched: one statement cannot delete and insert the same row.
_UPDATE = settings_rules.UPDATE.replace(" WHERE", f", words = array_to_tsvector({_WORDS}) WHERE")
CHOOSE = (
    f"WITH chosen AS ({_UPDATE}), "
    f"dropped AS (DELETE FROM labels WHERE chat_id = $1 AND label <> ALL ({_LABELS})), "
    f"put AS (INSERT INTO labels (chat_id, label) SELECT $1, unnest({_LABELS}) ON CONFLICT DO NOTHING) "
    f"{hints.PRESENT}"
)


@dataclass(frozen=True, slots=True)
class Chosen(Generic[T]):
    answer: T
    # To be published after the commit, if anything was changed.
    hint: Hint | None = None


async def choose(
    transaction: Transaction, chat_id: ChatId, choice: Mapping[str, Any]
) -> Chosen[Settings | None]:
    return await _choose(transaction, chat_id, choice, await _lock(transaction, chat_id))


async def choose_once(
    transaction: Transaction, chat_id: ChatId, choice: Mapping[str, Any], once: OnceOf[Settings]
) -> Chosen[Settings | Refusal | Replayed | None]:
    # A request that held the lock longer than we waited may have stored its answer.
    before = await _lock(transaction, chat_id)
    if (earlier := await transaction.ask(idempotency_keys.stored(once))) is not None:
        return Chosen(earlier)
    done = await _choose(transaction, chat_id, choice, before)
    if done.answer is not None:
        await remember(transaction, once, done.answer)
    return Chosen(done.answer, done.hint)


async def _lock(transaction: Transaction, chat_id: ChatId) -> Settings | None:
    return settings_rules.settings(chat_id).read([await transaction.fetch(LOCK, chat_id)])


async def _choose(
    transaction: Transaction, chat_id: ChatId, choice: Mapping[str, Any], before: Settings | None
) -> Chosen[Settings | None]:
    after = None if before is None else settings_rules.chosen(before, choice)
    if after is None or after == before:
        return Chosen(after)
    found = await transaction.fetch(
        CHOOSE,
        *settings_rules.written(chat_id, after),
        list(settings_rules.title_words(after)),
        list(settings_rules.distinct_labels(after)),
    )
    return Chosen(after, hints.present(chat_id).read([found]))


async def remember(transaction: Transaction, once: OnceOf[T], answer: T) -> None:
    now = int((await transaction.fetch(NOW))[0][0])
    if not await transaction.fetch(STORE_KEY, *idempotency_keys.kept(once, answer, now)):
        raise TryAgain("The same request is being answered right now. Try again.")
