"""What a command needs to know beyond the view. `needs` describes it as data, so that the store looks up
exactly that, and a worker's plain commands (which need nothing) are decided without reading the database."""

from collections.abc import Sequence

from msgspec import field

from holdfast.chats.commands import (
    Acquire,
    Archive,
    BeginAttempt,
    Command,
    CommitStep,
    Create,
    Decide,
    Delete,
    DeliveryKey,
    Edit,
    FailTurn,
    FinishCall,
    FinishInterrupt,
    FinishTurn,
    Fork,
    Import,
    ItemCommand,
    NoteRetry,
    NoteStep,
    Notify,
    Release,
    RequestCompaction,
    RequireAction,
    Restore,
    Rewind,
    StartCalls,
    SubmitResults,
    Unarchive,
)
from holdfast.chats.view import View
from holdfast.core.errors import Bug
from holdfast.core.ids import CallId, ChatId, MessageId, QueueItemId
from holdfast.core.messages import Message, Role
from holdfast.core.origins import parent_of
from holdfast.core.shapes import Record
from holdfast.core.text import clean


class ForkPoint(Record, frozen=True, kw_only=True):
    source_id: ChatId
    up_to: MessageId | None


class Needs(Record, frozen=True, kw_only=True):
    """Each field names something to look up; see the field of the same meaning in `Facts`."""

    items: tuple[QueueItemId, ...] = ()
    calls: tuple[CallId, ...] = ()
    edited: MessageId | None = None
    notice_key: str | None = None
    deliveries: tuple[DeliveryKey, ...] = ()
    family: bool = False
    subtree: bool = False
    fork: ForkPoint | None = None
    rewound_at: int | None = None


class Target(Record, frozen=True, kw_only=True):
    role: Role
    removed: bool
    # Shown to models only: a summary, or what was carried over it.
    hidden: bool = False


class Facts(Record, frozen=True, kw_only=True):
    # Queue items that have left the queue, with the message each became.
    sent: dict[QueueItemId, MessageId] = field(default_factory=dict[QueueItemId, MessageId])
    # Which of the named calls have their result in history.
    answered: frozenset[CallId] = frozenset()
    # The message to edit or to rewind to, and the sub-agents (at any depth) that were started from there on
    # and are busy or have a queue.
    target: Target | None = None
    started_there: tuple[View, ...] = ()
    # Whether a notice with this key was stored before, and whether it must not start a turn: a budget is
    # spent, or the chat is a sub-agent that was stopped and waits to be told to continue.
    key_seen: bool = False
    over_budget: bool = False
    stopped: bool = False
    # Which of the named deliveries nobody has taken yet.
    deliveries: frozenset[DeliveryKey] = frozenset()
    # All other chats with the same root.
    family: tuple[View, ...] = ()
    # All chats below this one.
    subtree: tuple[ChatId, ...] = ()
    # The history to fork, without removed messages, ascending; None: there is no such chat or message.
    history: tuple[Message, ...] | None = None
    # What a rewind removed, ascending.
    removed_there: tuple[Message, ...] = ()


NO_FACTS = Facts()
NOTHING = Needs()


def needs(commands: Sequence[Command], view: View | None) -> Needs:
    """What to look up for these commands: NOTHING for a worker's plain commands."""
    queued = [item.id for item in view.queue] if view else []
    open_calls = [call.call_id for call in view.calls] if view else []
    items: list[QueueItemId] = []
    calls: list[CallId] = []
    deliveries: list[DeliveryKey] = []
    edited: MessageId | None = None
    notice_key: str | None = None
    family = subtree = False
    fork: ForkPoint | None = None
    rewound_at: int | None = None
    for command in commands:
        match command:
            case ItemCommand(item_id=item_id):
                items += [] if item_id in queued else [item_id]
            case SubmitResults(results=results):
                answered = [CallId(clean(result.call_id)) for result in results]
                calls += [call_id for call_id in answered if call_id not in open_calls]
            case Decide(call_id=call_id):
                calls += [] if clean(call_id) in open_calls else [CallId(clean(call_id))]
            case Edit(message_id=message_id) | Rewind(message_id=message_id):
                edited = message_id
            case Restore(rewound_at=version):
                rewound_at = version
            case Notify(key=key, delivery=delivery):
                if notice_key not in (None, clean(key)):
                    raise Bug("two notices cannot be decided together")
                notice_key = clean(key)
                deliveries += () if delivery is None else (delivery,)
            case FinishCall(consumes=consumes):
                deliveries += consumes
            case Archive() | Unarchive():
                family = True
            case Delete():
                subtree = True
            case Fork(source_id=source_id, up_to=up_to):
                fork = ForkPoint(source_id=source_id, up_to=up_to)
            case _:
                pass
    named = items or calls or deliveries or edited or family or subtree or fork
    if not named and notice_key is None and rewound_at is None:
        return NOTHING
    return Needs(
        items=tuple(items),
        calls=tuple(calls),
        edited=edited,
        notice_key=notice_key,
        deliveries=tuple(deliveries),
        family=family,
        subtree=subtree,
        fork=fork,
        rewound_at=rewound_at,
    )


def may_need_facts(commands: Sequence[Command]) -> bool:
    """Whether `needs` could name anything, whatever the view is. If not, a worker may decide on its own
    view."""
    for command in commands:
        if isinstance(command, FinishCall):
            if command.consumes:
                return True
        elif type(command) not in _PLAIN:
            return True
    return False


def founds_alone(commands: Sequence[Command]) -> bool:
    """Whether a worker creates a chat for itself, without a parent: then nothing needs to be looked up, and
    if the chat already exists, the guard detects it."""
    match tuple(commands):
        case (Create(origin=origin), Acquire(), *rest) if parent_of(origin) is None:
            return not may_need_facts(rest)
        case _:
            return False


def founds_at_length(commands: Sequence[Command]) -> bool:
    """Whether a chat is created with a history that may be long: deciding and writing it takes a while and
    must not block the event loop. Nothing needs to be looked up either."""
    return len(commands) == 1 and isinstance(commands[0], Import)


_PLAIN = frozenset(
    (
        Release,
        BeginAttempt,
        NoteRetry,
        RequestCompaction,
        NoteStep,
        CommitStep,
        StartCalls,
        RequireAction,
        FinishTurn,
        FinishInterrupt,
        FailTurn,
    )
)
