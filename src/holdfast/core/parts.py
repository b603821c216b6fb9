"""Parts: the pieces messages are made of, tagged by `type`."""

from datetime import datetime
from typing import Literal

import msgspec

from holdfast.core.ids import CallId, FileId
from holdfast.core.shapes import Json, Record

Outcome = Literal["succeeded", "failed", "denied", "cancelled", "expired", "uncertain"]


class _Part(Record, frozen=True, kw_only=True, tag_field="type"):
    pass


class Text(_Part, frozen=True, kw_only=True, tag="text"):
    text: str
    # What the provider wants back with it (a signature, which phase of the answer it belongs to).
    provider_data: Json | msgspec.UnsetType = msgspec.UNSET


class Reasoning(_Part, frozen=True, kw_only=True, tag="reasoning"):
    text: str
    # What it is about, in a line, for when it is folded. None while it streams, and of encrypted reasoning.
    title: str | None = None
    started_at: datetime | None = None
    finished_at: datetime | None = None
    # What the provider must get back verbatim (a signature, an encrypted block).
    provider_data: Json | msgspec.UnsetType = msgspec.UNSET


class ToolCall(_Part, frozen=True, kw_only=True, tag="tool_call"):
    call_id: CallId
    name: str
    input: Json
    provider_executed: bool = False
    # The provider's own id of the call, and anything else it must get back.
    provider_data: Json | msgspec.UnsetType = msgspec.UNSET


class ToolResult(_Part, frozen=True, kw_only=True, tag="tool_result"):
    call_id: CallId
    name: str
    output: Json
    outcome: Outcome
    diff: str | None = None
    truncated: bool = False
    started_at: datetime | None = None
    finished_at: datetime | None = None


class File(_Part, frozen=True, kw_only=True, tag="file"):
    file_id: FileId
    media_type: str
    name: str
    size: int


class Source(_Part, frozen=True, kw_only=True, tag="source"):
    url: str
    title: str | None = None


class Notice(_Part, frozen=True, kw_only=True, tag="notice"):
    code: str
    text: str
    data: Json = None


class ToolCallDelta(_Part, frozen=True, kw_only=True, tag="tool_call_delta"):
    """A piece of a call's input while it streams. Live only, never stored."""

    call_id: CallId
    name: str
    text: str


Part = Text | Reasoning | ToolCall | ToolResult | File | Source | Notice
LivePart = Part | ToolCallDelta
Parts = tuple[Part, ...]
