"""A request cut into segments, and put together again. The contents of all segments, joined, are the request
in our own encoding: nothing that a model is shown is outside of them."""

from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from typing import cast

import msgspec

from holdfast.core.ids import MessageId
from holdfast.core.parts import File, Notice, Part, Text, ToolCall, ToolResult
from holdfast.core.segments import Segment, SegmentKind, Segments, estimated_tokens
from holdfast.core.shapes import Json, Record, encode
from holdfast.prompt.notices import INSTRUCTIONS
from holdfast.prompt.sources import Told
from holdfast.prompt.summaries import BOUNDARY
from holdfast.providers.interface import ModelRequest, PromptMessage, ToolSpec

BYTES_A_TOKEN = 4
# The estimated tokens of a picture or a document page.
PICTURE_TOKENS = 1200
DOCUMENT_BYTES_A_TOKEN = 40
LABEL_CHARACTERS = 60


class SegmentContent(Record, frozen=True, kw_only=True):
    """A segment with its content."""

    segment: Segment
    content: bytes


def pieces(request: ModelRequest, labels: Sequence[str] = ()) -> tuple[SegmentContent, ...]:
    """The pieces of a whole request. `labels` name the parts of its system prompt."""
    return (
        *system_pieces(request.system, labels),
        *tool_pieces(request.tools),
        *(piece for message in request.messages for piece in message_pieces(message)),
    )


class Rebuilt(Record, frozen=True, kw_only=True):
    system: tuple[str, ...]
    tools: tuple[ToolSpec, ...]
    messages: tuple[PromptMessage, ...]


def request_of(contents: Iterable[SegmentContent]) -> Rebuilt:
    """The request that the pieces were cut from."""
    by_kind: dict[str, list[bytes]] = {"system": [], "tools": [], "message": []}
    for piece in contents:
        kind = piece.segment.kind if piece.segment.kind in ("system", "tools") else "message"
        by_kind[kind].append(piece.content)
    return Rebuilt(
        system=tuple(msgspec.json.decode(line, type=str) for line in _lines(by_kind["system"])),
        tools=tuple(msgspec.json.decode(line, type=ToolSpec) for line in _lines(by_kind["tools"])),
        messages=tuple(msgspec.json.decode(line, type=PromptMessage) for line in _lines(by_kind["message"])),
    )


def _lines(contents: Iterable[bytes]) -> list[bytes]:
    """Each value of a request ends with a line feed, which never occurs inside its JSON."""
    return b"".join(contents).splitlines()


def estimate(request: ModelRequest) -> int:
    """An estimate of its tokens."""
    return estimated_tokens(segments_of(pieces(request)))


def segments_of(found: Iterable[SegmentContent]) -> Segments:
    return tuple(piece.segment for piece in found)


# --- the three regions of a request ---


def system_pieces(system: Sequence[str], labels: Sequence[str] = ()) -> Iterator[SegmentContent]:
    for number, text in enumerate(system):
        label = labels[number] if number < len(labels) else f"part {number + 1}"
        yield _piece("system", label, encode(text) + b"\n")


def tool_pieces(tools: Sequence[ToolSpec]) -> Iterator[SegmentContent]:
    """One piece for each group of consecutive tools from the same source."""
    group, content, count = "", b"", 0
    for tool in tools:
        name = _source_of(tool.name)
        if content and name != group:
            yield _piece("tools", f"{group} ({count})", content)
            content, count = b"", 0
        group, count = name, count + 1
        content += encode(tool) + b"\n"
    if content:
        yield _piece("tools", f"{group} ({count})", content)


def _source_of(name: str) -> str:
    """The source of a tool; tools of an MCP server are named after it."""
    server, found, _ = name.removeprefix("mcp__").partition("__")
    return server_label(server) if found else "tools"


def server_label(server: str) -> str:
    return f"MCP server {server}"


def is_of_server(segment: Segment, server: str) -> bool:
    return segment.kind == "tools" and segment.label.startswith(f"{server_label(server)} (")


def message_pieces(message: PromptMessage, message_id: MessageId | None = None) -> Iterator[SegmentContent]:
    """Usually one piece per message. Workspace instructions have one per source, and files have one each."""
    told = _told(message, message_id)
    if told is not None:
        yield from told
        return
    if not any(isinstance(part, File) for part in message.parts):
        yield _piece(_kind(message), _label(message), encode(message) + b"\n", message_id)
        return
    head, tail = _around(message)
    content, kind, label = head, _kind(message), _label(message)
    for number, part in enumerate(message.parts):
        content += b"," if number else b""
        if isinstance(part, File):
            yield _piece(kind, label, content, message_id)
            yield _file_piece(part, encode(part), message_id)
            content = b""
        else:
            content += encode(part)
    yield _piece(kind, label, content + tail, message_id)


def _around(message: PromptMessage) -> tuple[bytes, bytes]:
    """The text before the first part and after the last."""
    empty = encode(msgspec.structs.replace(message, parts=()))
    head, _, tail = empty.partition(b'"parts":[]')
    return head + b'"parts":[', b"]" + tail + b"\n"


def _told(message: PromptMessage, message_id: MessageId | None) -> list[SegmentContent] | None:
    """Instructions, skills and memory, each by its name."""
    if len(message.parts) != 1 or not isinstance(notice := message.parts[0], Notice):
        return None
    if notice.code != INSTRUCTIONS:
        return None
    sources = told_sources(notice)
    if not sources:
        return [_piece("instructions", "workspace", encode(message) + b"\n", message_id)]
    whole = encode(message) + b"\n"
    text = encode(notice.text)[1:-1]
    head, _, tail = whole.partition(text)
    found: list[SegmentContent] = []
    at = 0
    for number, source in enumerate(sources):
        end = at + source.length
        content = encode(notice.text[at:end])[1:-1]
        # What is beside the text is for people.
        tokens = -(-len(content) // BYTES_A_TOKEN)
        if number == 0:
            content = head + content
        if number == len(sources) - 1:
            content += tail
        found.append(_piece(_place(source.place), source.label, content, message_id, tokens=tokens))
        at = end
    return found


def told_sources(notice: Notice) -> tuple[Told, ...]:
    """The sources that the text lists, if their lengths add up."""
    data: Json = notice.data
    if not isinstance(data, dict):
        return ()
    try:
        sources = msgspec.convert(cast(dict[str, Json], data).get("sources", ()), tuple[Told, ...])
    except msgspec.ValidationError:
        return ()
    return sources if sum(source.length for source in sources) == len(notice.text) else ()


def _place(place: str) -> SegmentKind:
    match place:
        case "skills" | "memory":
            return place
        case _:
            return "instructions"


def _kind(message: PromptMessage) -> SegmentKind:
    first = message.parts[0] if message.parts else None
    summary = isinstance(first, Text) and message.role == "user" and first.text.startswith(BOUNDARY)
    return "summary" if summary else "message"


def _label(message: PromptMessage) -> str:
    """A short, stable label for lists of segments."""
    words = next((text for part in message.parts if (text := _words(part))), "")
    return f"{message.role}: {words}" if words else message.role


def _words(part: Part) -> str:
    match part:
        case Text(text=text) | Notice(text=text):
            return " ".join(text[: 2 * LABEL_CHARACTERS].split())[:LABEL_CHARACTERS]
        case ToolCall(name=name) | ToolResult(name=name):
            return name
        case _:
            return ""


def _file_piece(file: File, content: bytes, message_id: MessageId | None) -> SegmentContent:
    if file.media_type.startswith("text/"):
        tokens = file.size // BYTES_A_TOKEN
    elif file.media_type.startswith("image/"):
        tokens = PICTURE_TOKENS
    else:
        tokens = max(file.size // DOCUMENT_BYTES_A_TOKEN, PICTURE_TOKENS)
    return _piece("files", file.name, content, message_id, tokens=tokens)


def _piece(
    kind: SegmentKind,
    label: str,
    content: bytes,
    message_id: MessageId | None = None,
    *,
    tokens: int | None = None,
) -> SegmentContent:
    return SegmentContent(
        segment=Segment(
            kind=kind,
            label=label,
            hash=blake2b(content, digest_size=8).hexdigest(),
            tokens=-(-len(content) // BYTES_A_TOKEN) if tokens is None else tokens,
            message_id=message_id,
        ),
        content=content,
    )
