"""Spans: the timed things of a trace, as clients see them."""

from datetime import datetime
from typing import Literal

from holdfast.core.calls import Approval
from holdfast.core.failures import Failure
from holdfast.core.ids import ChatId, MessageId
from holdfast.core.segments import StepCache
from holdfast.core.shapes import Json, Record
from holdfast.core.usage import Usage

SpanKind = Literal[
    "turn", "step", "model_call", "tool_call", "agent", "compaction", "check", "title", "summary", "hook"
]


class Span(Record, frozen=True, kw_only=True):
    """One timed thing. Its id is the same at its start and at its end. Input and output are cut to 2 000
    characters; `truncated` says so."""

    id: str
    parent_id: str | None
    chat_id: ChatId
    message_id: MessageId | None = None
    turn: int
    kind: SpanKind
    name: str
    input: Json = None
    output: Json = None
    truncated: bool = False
    # When the model asked for a call; it begins when nothing is before it and nobody has to approve it.
    asked_at: datetime | None = None
    started_at: datetime | None = None
    finished_at: datetime | None = None
    duration_ms: int | None = None
    # Nobody saw both its start and its end, or the clocks of those who did disagree.
    estimated: bool = False
    usage: Usage | None = None
    cache: StepCache | None = None
    # What a call changed in files, cut like its output.
    diff: str | None = None
    outcome: str | None = None
    failure: Failure | None = None
    approved_by: Approval | None = None
