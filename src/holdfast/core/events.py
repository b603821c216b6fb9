"""The messages on the bus. Any of them may be lost, duplicated or late: they say where to look, never what is
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
    """The chat moved to this version, or its settings changed at it, or it was deleted."""

    chat_id: ChatId
    owner_id: UserId
    version: int
    history_version: int
    status: Status | None
    # It is running or interrupting and nobody owns it: a worker may take it.
    wanted: bool = False
    # A delivery waits for this chat.
    delivery: bool = False
    # The turns that ended with it: for the process that committed, which hears it from its own store.
    ended: tuple[int, ...] = ()


class RunHint(_Event, frozen=True, kw_only=True, tag="w"):
    """The workflow run moved to this version."""

    run_id: RunId
    owner_id: UserId
    version: int
    # Nobody executes it: a worker may take it.
    wanted: bool = False
    # It has ended and will never change again.
    over: bool = False


class Episode(Record, frozen=True, kw_only=True, array_like=True):
    """One attempt at one step; live parts belong to it."""

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
    """A step in progress: sent when an attempt starts and about twice a second while it streams. Its usage is
    what the provider has reported so far, and an estimate for the rest; it comes on top of the chat's own
    usage. `telemetry.spans.under_way` makes spans of it."""

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
    """Live parts that were too large to send: ask the owner to repeat them, or wait for the commit."""

    chat_id: ChatId
    episode: Episode
    first: int
    count: int


class Repeat(_Event, frozen=True, kw_only=True, tag="r"):
    """A watcher is missing the parts from `first` on; the chat's owner sends them again."""

    chat_id: ChatId
    episode: Episode
    first: int


class DebugHint(_Event, frozen=True, kw_only=True, tag="d"):
    """The debug record of this chat moved."""

    chat_id: ChatId


class Configured(_Event, frozen=True, kw_only=True, tag="c"):
    """Providers or models in the database were changed."""


class Reread(_Event, frozen=True, kw_only=True, tag="a"):
    """Anything may have been missed: re-read everything you watch."""

    reason: Literal["connected", "overflow"]


BusEvent = Hint | RunHint | LiveParts | LiveStep | Skipped | Repeat | DebugHint | Configured | Reread
# Events that matter only to watchers of a chat and may be dropped, because the commit supersedes them.
LIVE = (LiveParts, LiveStep, Skipped)

encoder = msgspec.json.Encoder()
decoder = msgspec.json.Decoder(tuple[BusEvent, ...])
