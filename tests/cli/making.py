"""Chats, messages and events as a feed would have them."""

import itertools
from datetime import UTC, datetime, timedelta

from holdfast.core.calls import Action
from holdfast.core.chats import Chat, Status
from holdfast.core.events import Episode
from holdfast.core.failures import Retry
from holdfast.core.feed_events import MessageData, PartData
from holdfast.core.ids import CallId, ChatId, MessageId, UserId
from holdfast.core.messages import Message, Role
from holdfast.core.origins import PERSON
from holdfast.core.parts import LivePart, Part, Reasoning, Text, ToolCall, ToolResult
from holdfast.core.usage import Usage

NOW = datetime(2030, 1, 2, 3, 4, 5, tzinfo=UTC)
CHAT_ID = ChatId("01900000-0000-7000-8000-000000000001")
RETRY = Retry(
    kind="overloaded",
    message="Too busy.",
    retryable=True,
    attempt=2,
    delay_ms=12_000,
    next_at=NOW + timedelta(seconds=12),
)

_numbers = itertools.count(1)


def message(role: Role, *parts: Part, turn: int = 1, interrupted: bool = False) -> MessageData:
    number = next(_numbers)
    return MessageData(
        message=Message(
            id=MessageId(f"01900000-0000-7000-8000-{number:012x}"),
            chat_id=CHAT_ID,
            turn=turn,
            role=role,
            parts=parts,
            revision=number,
            interrupted=interrupted,
            created_at=NOW,
        )
    )


def said(text: str) -> Text:
    return Text(text=text)


def thought(text: str) -> Reasoning:
    return Reasoning(text=text)


def call(name: str = "execute", call_id: str = "c1", **given: object) -> ToolCall:
    return ToolCall(call_id=CallId(call_id), name=name, input=given)


def result(output: str = "done", call_id: str = "c1", name: str = "execute") -> ToolResult:
    return ToolResult(
        call_id=CallId(call_id),
        name=name,
        output=output,
        outcome="succeeded",
        started_at=NOW,
        finished_at=NOW + timedelta(seconds=3),
    )


class Streaming:
    """Live parts of one attempt."""

    def __init__(self, attempt: int = 1, history_version: int = 5) -> None:
        self.episode = Episode(history_version=history_version, attempt=attempt)
        self._n = 0

    def part(self, part: LivePart) -> PartData:
        self._n += 1
        return PartData(
            history_version=self.episode.history_version,
            attempt=self.episode.attempt,
            n=self._n,
            role="assistant",
            part=part,
        )

    def text(self, text: str) -> PartData:
        return self.part(Text(text=text))


def chat(status: Status = "running", action: Action | None = None) -> Chat:
    return Chat(
        id=CHAT_ID,
        title="A title",
        summary="",
        status=status,
        waiting=None,
        archived=False,
        model="demo",
        effort=None,
        owner_id=UserId("01900000-0000-7000-8000-0000000000aa"),
        parent_id=None,
        parent_call_id=None,
        root_id=CHAT_ID,
        run_id=None,
        origin=PERSON,
        workspace_id=None,
        labels=(),
        pinned=False,
        version=5,
        history_version=5,
        queue_length=0,
        last_error=None,
        retry=None,
        action=action,
        budget=None,
        usage=Usage(),
        created_at=NOW,
        updated_at=NOW,
    )
