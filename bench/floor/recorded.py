"""As many characters as Holdfast writes for a transition, table by table: what a floor has to write too."""

from dataclasses import dataclass

from bench.ours.working import OWNER, calls_begun, fence_of, finished, said
from holdfast.chats.change import Change
from holdfast.chats.commands import Acquire, BeginAttempt, Command, Create, EditQueued, Fence, Send
from holdfast.chats.decide import decide
from holdfast.chats.view import Queued, View
from holdfast.core.chats import Settings
from holdfast.core.clock import SystemClock
from holdfast.core.ids import ChatId, RandomIds, WorkerId
from holdfast.store import rows
from holdfast.store.chat_rows import moving_row
from holdfast.store.columns import Written

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


def of_a_step() -> tuple[Filling, Filling]:
    """The two commits: the answer with its call begun, and the call's end."""
    view = _after(None, Create(owner_id=OWNER, settings=Settings(), parts=said("go")))
    worker_id, later = WorkerId(_ids.uuid7(_clock.now())), _clock.now().replace(year=2999)
    view = _after(view, Acquire(worker_id=worker_id, expires_at=later))
    view = _after(view, BeginAttempt())
    begun = _decided(view, *calls_begun(), fence=fence_of(view))
    assert begun.after is not None
    ended = _decided(begun.after, *finished(begun.after), fence=fence_of(begun.after))
    return _filling(begun), _filling(ended)


def of_an_edit() -> Filling:
    """Another text for a queue item."""
    view = _after(None, Create(owner_id=OWNER, settings=Settings(), parts=said("go")))
    queued = _decided(view, Send(parts=said("wait"), created_by=OWNER))
    assert queued.after is not None
    assert isinstance(queued.answer, Queued)
    edit = EditQueued(item_id=queued.answer.id, parts=said("000 said 00000"))
    return _filling(_decided(queued.after, edit))


def _after(view: View | None, *commands: Command) -> View:
    change = _decided(view, *commands)
    assert change.after is not None
    return change.after


def _decided(view: View | None, *commands: Command, fence: Fence | None = None) -> Change:
    chat_id = view.chat.id if view else ChatId(_ids.uuid7(_clock.now()))
    change = decide(chat_id, view, commands, fence=fence, now=_clock.now(), ids=_ids)
    assert isinstance(change, Change), change
    return change


def _filling(change: Change) -> Filling:
    assert change.after is not None
    chat_id = change.chat_id
    return Filling(
        chat=_blank([moving_row(change.after)]) or "",
        message=_blank([rows.message_row(message)[2:] for message in change.messages]),
        call=_blank([rows.call_row(chat_id, call)[2:] for call in change.calls_put]),
        step=_blank([rows.step_row(chat_id, step)[3:] for step in change.steps]),
        queued=_blank([rows.queued_row(chat_id, item)[2:] for item in change.queue_put]),
    )


def _blank(written: list[Written]) -> str | None:
    values = [value for row in written for value in row if value is not None]
    return "x" * sum(len(str(value)) for value in values) if written else None
