"""The hints that follow a commit, and the one place where they leave the store."""

from collections.abc import Callable, Iterable, Iterator

from msgspec.structs import replace

from holdfast.chats.change import Change
from holdfast.core.chats import Status
from holdfast.core.events import BusEvent, Hint, RunHint
from holdfast.core.ids import ChatId, UserId, WorkerId
from holdfast.store.query import Query, Row, at_most_one, each, query

# For a chat that did not change itself: a delivery waits for it, or its settings changed.
_PRESENT = "SELECT id, owner_id, version, history_version, status, lease_worker_id FROM chats"
PRESENT = f"{_PRESENT} WHERE id = $1"
# For the worker itself: the hints it would have received had none been lost.
OWNED = f"{_PRESENT} WHERE status IN ('running', 'interrupting') AND lease_worker_id = $1"


def hints_of(change: Change) -> Iterator[Hint]:
    """For every chat that the change moved or removed. Parents that deliveries wait for come from
    `waited_for`."""
    after = change.after
    if after is None:
        for chat_id in change.deleted:
            yield _hint(chat_id, change.owner_id, change.before + 1, 0, None)
    elif after.chat.version != change.before:
        chat = after.chat
        hint = _hint(
            chat.id, chat.owner_id, chat.version, chat.history_version, chat.status, chat.lease is not None
        )
        ended = tuple([end.number for end in change.turns_ended])
        yield replace(hint, ended=ended) if ended else hint
    for other in change.others:
        yield from hints_of(other)


def newest(hints: Iterable[BusEvent]) -> Iterable[BusEvent]:
    """Keeps only the last hint for each chat and run of one commit; it names the turns of all."""
    kept: dict[tuple[object, ...], BusEvent] = {}
    for hint in hints:
        about = _about(hint)
        before = kept.get(about)
        if isinstance(hint, Hint) and isinstance(before, Hint) and before.ended:
            hint = replace(hint, ended=before.ended + hint.ended)
        kept[about] = hint
    return kept.values()


def _about(hint: BusEvent) -> tuple[object, ...]:
    match hint:
        case Hint(chat_id=chat_id, delivery=delivery):
            return chat_id, delivery
        case RunHint(run_id=run_id):
            return (run_id,)
        case _:
            return (hint,)


class Announcer:
    """Called by the engines after a commit, and by nobody else: whoever writes need not remember to."""

    def __init__(self, publish: Callable[[BusEvent], None]) -> None:
        self._publish = publish

    def committed(self, hints: Iterable[BusEvent]) -> None:
        for hint in newest(hints):
            self._publish(hint)


def waited_for(change: Change) -> set[ChatId]:
    """The parents that deliveries of this change are for."""
    parents = {delivery.parent_id for delivery in change.deliveries if delivery.parent_id is not None}
    for other in change.others:
        parents |= waited_for(other)
    return parents


def present(chat_id: ChatId, *, delivery: bool = False) -> Query[Hint | None]:
    """A hint for the chat's current state."""

    def read(row: Row) -> Hint:
        return _present(row, delivery=delivery)

    return query(PRESENT, chat_id, read=at_most_one(read))


def owned(worker_id: WorkerId) -> Query[tuple[Hint, ...]]:
    """Hints for the current state of all chats that a worker owns."""
    return query(OWNED, worker_id, read=each(_present))


def _present(row: Row, *, delivery: bool = False) -> Hint:
    return _hint(row[0], row[1], row[2], row[3], row[4], row[5] is not None, delivery=delivery)


def _hint(
    chat_id: ChatId,
    owner_id: UserId,
    version: int,
    history_version: int,
    status: Status | None,
    leased: bool = False,
    *,
    delivery: bool = False,
) -> Hint:
    return Hint(
        chat_id=chat_id,
        owner_id=owner_id,
        version=version,
        history_version=history_version,
        status=status,
        wanted=status in ("running", "interrupting") and not leased,
        delivery=delivery,
    )
