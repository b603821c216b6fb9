"""The catalogue of feed events: each event's name, the shape of its data, and which feeds send it. Frames,
the OpenAPI document, the command line and the page's types are all generated from it. Clients ignore events
they do not know, so one may be added at any time."""

from typing import Literal, NamedTuple, get_args

import msgspec

from holdfast.core.calls import Action
from holdfast.core.changes import ChangedFile
from holdfast.core.chats import Chat, Status, Waiting
from holdfast.core.collisions import Collision
from holdfast.core.debug_runs import DebugRun
from holdfast.core.events import Episode
from holdfast.core.failures import Failure, Retry
from holdfast.core.flow_shapes import FlowLineShown, FlowRunData, FlowStepShown
from holdfast.core.ids import ChatId
from holdfast.core.messages import Message, QueueItem, Role
from holdfast.core.parts import LivePart
from holdfast.core.run_shapes import CallShown, LineShown, RunData
from holdfast.core.runs import RunPhase
from holdfast.core.shapes import Record
from holdfast.core.spans import Span
from holdfast.core.usage import Budget, Usage

# chat: what happens in one chat.  chats: a user's list of chats.  run: a workflow run.  flow_run: a flow's.
FeedKind = Literal["chat", "chats", "run", "flow_run"]
EventName = Literal[
    "action_required",
    "budget",
    "call",
    "caught_up",
    "changed",
    "chat",
    "closing",
    "collision",
    "changes",
    "created",
    "debug",
    "failed",
    "history_reset",
    "log",
    "message",
    "needs_you",
    "part",
    "phase",
    "preview_reset",
    "queue",
    "removed",
    "retry",
    "run",
    "span",
    "status",
    "step",
    "usage",
]
# closing: the server is stopping.  deleted: there is nothing left to watch.  access: the watcher lost its
# permission.  slow: it did not read fast enough.  failed: an error of ours.  over: nothing more will ever
# happen.
ClosingReason = Literal["closing", "deleted", "access", "slow", "failed", "over"]


class Replaces(Record, frozen=True, kw_only=True):
    """The episode whose preview is replaced by a message."""

    history_version: int
    attempt: int


class MessageData(Record, frozen=True, kw_only=True):
    message: Message
    replaces: Replaces | msgspec.UnsetType = msgspec.UNSET


class PartData(Record, frozen=True, kw_only=True):
    """One live part, or the parts `first` to `n` joined."""

    history_version: int
    attempt: int
    n: int
    first: int | msgspec.UnsetType = msgspec.UNSET
    role: Role
    part: LivePart

    @property
    def begin(self) -> int:
        return self.n if self.first is msgspec.UNSET else self.first

    @property
    def episode(self) -> Episode:
        return Episode(history_version=self.history_version, attempt=self.attempt)


class QueueData(Record, frozen=True, kw_only=True):
    items: tuple[QueueItem, ...]


class ChangesData(Record, frozen=True, kw_only=True):
    """Files that were changed in the newest turn, or whose change was decided on, since the event before."""

    items: tuple[ChangedFile, ...]


class DebugData(Record, frozen=True, kw_only=True):
    """A debug record that moved."""

    debug_run: DebugRun


class StatusData(Record, frozen=True, kw_only=True):
    status: Status
    waiting: Waiting | None = None


class RemovedData(Record, frozen=True, kw_only=True):
    id: ChatId


class PreviewReset(Record, frozen=True, kw_only=True):
    """The preview of the current message is withdrawn."""


class HistoryReset(Record, frozen=True, kw_only=True):
    """History was removed; the remaining visible history follows."""


class CaughtUp(Record, frozen=True, kw_only=True):
    """Everything that was missed has been sent."""


class Closing(Record, frozen=True, kw_only=True):
    """The feed ends here."""

    reason: ClosingReason = "closing"


class FeedEvent(NamedTuple):
    name: EventName
    data: type[Record]
    feeds: tuple[FeedKind, ...]


CATALOGUE: tuple[FeedEvent, ...] = (
    FeedEvent("chat", Chat, ("chat",)),
    FeedEvent("message", MessageData, ("chat",)),
    FeedEvent("part", PartData, ("chat",)),
    FeedEvent("queue", QueueData, ("chat",)),
    FeedEvent("status", StatusData, ("chat",)),
    FeedEvent("retry", Retry, ("chat",)),
    FeedEvent("failed", Failure, ("chat",)),
    FeedEvent("action_required", Action, ("chat",)),
    FeedEvent("preview_reset", PreviewReset, ("chat",)),
    FeedEvent("history_reset", HistoryReset, ("chat",)),
    FeedEvent("span", Span, ("chat",)),
    FeedEvent("usage", Usage, ("chat",)),
    FeedEvent("collision", Collision, ("chat",)),
    FeedEvent("changes", ChangesData, ("chat",)),
    FeedEvent("debug", DebugData, ("chat",)),
    FeedEvent("created", Chat, ("chats",)),
    FeedEvent("changed", Chat, ("chats",)),
    FeedEvent("removed", RemovedData, ("chats",)),
    FeedEvent("needs_you", Chat, ("chats",)),
    FeedEvent("run", RunData, ("run",)),
    FeedEvent("phase", RunPhase, ("run",)),
    FeedEvent("log", LineShown, ("run",)),
    FeedEvent("call", CallShown, ("run",)),
    FeedEvent("budget", Budget, ("run",)),
    FeedEvent("run", FlowRunData, ("flow_run",)),
    FeedEvent("step", FlowStepShown, ("flow_run",)),
    FeedEvent("log", FlowLineShown, ("flow_run",)),
    FeedEvent("caught_up", CaughtUp, get_args(FeedKind)),
    FeedEvent("closing", Closing, get_args(FeedKind)),
)


def events_of(feed: FeedKind) -> dict[str, type[Record]]:
    """The events of one feed with the shapes of their data."""
    return {event.name: event.data for event in CATALOGUE if feed in event.feeds}
