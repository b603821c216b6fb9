"""What a driver and a victim say to each other: a line of JSON each. An order is either a command for the
chat, which the victim commits before it answers, or a question about itself."""

import msgspec

from holdfast.chats import commands
from holdfast.chats.change import Refusal
from holdfast.chats.view import Call, View
from holdfast.core.chats import Chat
from holdfast.core.events import LiveParts
from holdfast.core.ids import ChatId, MessageId, QueueItemId, UserId
from holdfast.core.messages import Message
from holdfast.core.shapes import Record
from holdfast.core.steps import Step, Turn
from holdfast.worker.settings import WorkerSettings
from tests.crash.points import Point

USER = UserId("00000000-0000-7000-8000-00000000cafe")

PERSONS: dict[str, type[commands.PeopleCommand]] = {
    kind.kind: kind
    for kind in (
        commands.Create,
        commands.Send,
        commands.Promote,
        commands.DeleteQueued,
        commands.Interrupt,
        commands.SubmitResults,
        commands.Decide,
        commands.Compact,
        commands.Edit,
    )
}


class Setup(Record, frozen=True, kw_only=True):
    """How a victim is started."""

    database: str
    data: str
    ledger: str
    provider_url: str
    settings: WorkerSettings
    point: Point | None = None
    # A descriptor that everything it starts keeps open.
    kept_open: int | None = None
    # Whether it works from the start, or only when it is told to.
    working: bool = True


class Order(Record, frozen=True, kw_only=True):
    number: int
    kind: str
    chat_id: ChatId | None = None
    key: str | None = None
    command: msgspec.Raw = msgspec.Raw(b"null")


class Told(Record, frozen=True, kw_only=True):
    """What a request is answered with; stored under its key."""

    chat_id: ChatId
    message_id: MessageId | None = None
    item_id: QueueItemId | None = None


class Counts(Record, frozen=True, kw_only=True):
    """What the victim counted since it was started."""

    refused: int
    leases_lost: int


class Dump(Record, frozen=True, kw_only=True):
    """Everything the database has about one chat."""

    chat: Chat
    view: View
    messages: tuple[Message, ...]
    calls: tuple[Call, ...]
    steps: tuple[Step, ...]
    turns: tuple[Turn, ...]


class Answer(Record, frozen=True, kw_only=True):
    """Number 0: the victim is ready. Live parts come by themselves, under the number of the watch."""

    number: int
    told: Told | None = None
    refusal: Refusal | None = None
    # The answer was stored with an earlier request under this key.
    replayed: bool = False
    chats: tuple[Chat, ...] = ()
    # Ends of sub-agents that nobody was told of.
    untold: int = 0
    dumps: tuple[Dump, ...] = ()
    counts: Counts | None = None
    live: LiveParts | None = None


encode = msgspec.json.Encoder().encode
read_order = msgspec.json.Decoder(Order).decode
read_answer = msgspec.json.Decoder(Answer).decode
