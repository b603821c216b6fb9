"""As many bytes as Holdfast writes for a transition, table by table: what a floor has to write too."""

from dataclasses import dataclass

from bench.ours.working import OWNER, calls_begun, fence_of, finished, said
from bench.task import Engine
from holdfast.chats.change import Change
from holdfast.chats.commands import Acquire, BeginAttempt, Command, Create, EditQueued, Fence, Send
from holdfast.chats.decide import decide
from holdfast.chats.view import Queued, View
from holdfast.core.chats import Settings
from holdfast.core.clock import SystemClock
from holdfast.core.ids import ChatId, RandomIds, WorkerId, is_uuid7
from holdfast.store import rows
from holdfast.store.chat_rows import identity_row, indexed_row, moving_row
from holdfast.store.columns import Written
from holdfast.store.query import Value

_clock = SystemClock()
_ids = RandomIds()


@dataclass(frozen=True, slots=True, kw_only=True)
class Filling:
    """What is in a row beside its key; None: no such row."""

    chat: str
    message: str | None = None
    call: str | None = None
    step: str | None = None
    queued: str | None = None


def of_a_step(engine: Engine) -> tuple[Filling, Filling]:
    """The two commits: the answer with its call begun, and the call's end."""
    view = _after(None, Create(owner_id=OWNER, settings=Settings(), parts=said("go")))
    worker_id, later = WorkerId(_ids.uuid7(_clock.now())), _clock.now().replace(year=2999)
    view = _after(view, Acquire(worker_id=worker_id, expires_at=later))
    view = _after(view, BeginAttempt())
    begun = _decided(view, *calls_begun(), fence=fence_of(view))
    assert begun.after is not None
    ended = _decided(begun.after, *finished(begun.after), fence=fence_of(begun.after))
    return _filling(begun, engine), _filling(ended, engine)


def of_an_edit(engine: Engine) -> Filling:
    """Another text for a queue item."""
    view = _after(None, Create(owner_id=OWNER, settings=Settings(), parts=said("go")))
    queued = _decided(view, Send(parts=said("wait"), created_by=OWNER))
    assert queued.after is not None
    assert isinstance(queued.answer, Queued)
    edit = EditQueued(item_id=queued.answer.id, parts=said("000 said 00000"))
    return _filling(_decided(queued.after, edit), engine)


def _after(view: View | None, *commands: Command) -> View:
    change = _decided(view, *commands)
    assert change.after is not None
    return change.after


def _decided(view: View | None, *commands: Command, fence: Fence | None = None) -> Change:
    chat_id = view.chat.id if view else ChatId(_ids.uuid7(_clock.now()))
    change = decide(chat_id, view, commands, fence=fence, now=_clock.now(), ids=_ids)
    assert isinstance(change, Change), change
    return change


def _filling(change: Change, engine: Engine) -> Filling:
    """A row that moves is written as a whole, what stays as it is included. Keys, and columns that are in an
    index, are the floor's own."""
    after = change.after
    assert after is not None
    chat_id = change.chat_id

    def blank(*written: Written) -> str | None:
        size = sum(_size(value, engine) for row in written for value in row)
        return "x" * size if written else None

    return Filling(
        chat=blank((*identity_row(after.chat, 0)[1:], *moving_row(after)[1:], *indexed_row(after.chat)))
        or "",
        message=blank(*[rows.message_row(message)[2:] for message in change.messages]),
        call=blank(*[rows.call_row(chat_id, call)[2:-1] for call in change.calls_put]),
        step=blank(*[rows.step_row(chat_id, step)[3:-1] for step in change.steps]),
        queued=blank(*[rows.queued_row(chat_id, item)[2:] for item in change.queue_put]),
    )


def _size(value: Value, engine: Engine) -> int:
    """Of a column as it is stored. SQLite has a byte beside each that says what it is, and takes as few for a
    number as it needs; PostgreSQL knows uuid and bigint."""
    beside = 1 if engine == "sqlite" else 0
    match value:
        case None:
            return beside
        case bool():
            return 1
        case int():
            return beside + (min((value.bit_length() + 7) // 8, 8) if engine == "sqlite" else 8)
        case str() if engine == "postgres" and is_uuid7(value):
            return 16
        case str():
            return beside + len(value.encode())
        case _:
            return beside + 8
