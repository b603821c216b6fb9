"""What travels on the bus. Everything here may be lost, doubled or late: it says where to look, never what is
true."""

from datetime import datetime
from typing import Literal

import msgspec

from holdfast.core.chats import Status
from holdfast.core.failures import Failure
from holdfast.core.ids import ChatId, RunId, UserId
from holdfast.core.messages import Role
from holdfast.core.parts import LivePart
from holdfast.core.shapes import Record
from holdfast.core.steps import StepKind
from holdfast.core.usage import Usage


class _Event(Record, frozen=True, kw_only=True, tag_field="t"):
    pass


class Hint(_Event, frozen=True, kw_only=True, tag="h"):
    """The chat moved to this version (or its settings changed at it, or it is gone)."""

    chat_id: ChatId
    owner_id: UserId
    version: int
    history_version: int
    status: Status | None
    # running or interrupting, and nobody owns it: a worker may come and take it.
    wanted: bool = False
    # A delivery waits for this chat.
    delivery: bool = False


class RunHint(_Event, frozen=True, kw_only=True, tag="w"):
    """The run of a workflow moved to this version."""

    run_id: RunId
    owner_id: UserId
    version: int
    # Nobody runs it: a worker may come and take it.
    wanted: bool = False
    # It has ended and never changes again.
    over: bool = False


class Episode(Record, frozen=True, kw_only=True, array_like=True):
    """One try at one step: what live parts belong to."""

    history_version: int
    attempt: int


class LiveParts(_Event, frozen=True, kw_only=True, tag="p"):
    """Parts `first`, `first`+1, ... of an episode."""

    chat_id: ChatId
    episode: Episode
    first: int
    role: Role
    parts: tuple[LivePart, ...]


class LiveStep(_Event, frozen=True, kw_only=True, tag="l"):
    """A step under way: sent when an attempt begins and about twice a second while it streams. Its usage is
    what the provider reported so far and an estimate beyond, to be added to the chat's own. The spans that
    follow from it: `telemetry.spans.under_way`."""

    chat_id: ChatId
    episode: Episode
    turn: int
    number: int
    kind: StepKind
    model: str | None
    failures: tuple[Failure, ...]
    usage: Usage
    started_at: datetime


class Skipped(_Event, frozen=True, kw_only=True, tag="s"):
    """Live parts that were too large to travel: ask the owner to repeat them, or wait for the commit."""

    chat_id: ChatId
    episode: Episode
    first: int
    count: int


class Repeat(_Event, frozen=True, kw_only=True, tag="r"):
    """A watcher misses parts from `first` on; whoever owns the chat sends them again."""

    chat_id: ChatId
    episode: Episode
    first: int


class Configured(_Event, frozen=True, kw_only=True, tag="c"):
    """Providers or models of the database were changed."""


class Reread(_Event, frozen=True, kw_only=True, tag="a"):
    """Anything may have been missed: read everything you watch again."""

    reason: Literal["connected", "overflow"]


BusEvent = Hint | RunHint | LiveParts | LiveStep | Skipped | Repeat | Configured | Reread
# What only those who watch a chat care for, and may be dropped: the commit says better.
LIVE = (LiveParts, LiveStep, Skipped)

encoder = msgspec.json.Encoder()
decoder = msgspec.json.Decoder(tuple[BusEvent, ...])
