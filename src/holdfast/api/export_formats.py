"""How a chat is written to a file as JSON or Markdown. Everything a person or a model wrote is data: it is
fenced, so that no file runs or loads anything. For HTML see `export_html`."""

import re
from collections.abc import AsyncGenerator, Callable

from holdfast.api.export_text import History, one_line, written
from holdfast.core.chats import Chat
from holdfast.core.parts import File, Notice, Part, Reasoning, Source, Text, ToolCall, ToolResult
from holdfast.core.shapes import encode

Format = Callable[[Chat, History], AsyncGenerator[bytes]]

EXPORT_VERSION = 1
_FENCE = re.compile(r"`{3,}")


async def json_lines(chat: Chat, history: History) -> AsyncGenerator[bytes]:
    """One JSON object, written while it is read: a long chat is never completely in memory."""
    yield b'{"holdfast_export":%d,"chat":%s,"messages":[' % (EXPORT_VERSION, encode(chat))
    separator = b"\n"
    async for message in history:
        yield separator + encode(message)
        separator = b",\n"
    yield b"\n]}\n"


async def markdown(chat: Chat, history: History) -> AsyncGenerator[bytes]:
    title = one_line(chat.title) or "Chat"
    yield f"# {title}\n\n{chat.created_at:%Y-%m-%d %H:%M} UTC · {chat.id}\n".encode()
    async for message in history:
        shown = "\n\n".join(_markdown_part(part) for part in message.parts)
        mark = " (interrupted)" if message.interrupted else ""
        yield f"\n## {message.role.capitalize()}{mark}\n\n{shown}\n".encode()


def _markdown_part(part: Part) -> str:
    match part:
        case Text():
            return part.text
        case Reasoning():
            return "\n".join(f"> {line}" for line in part.text.splitlines())
        case ToolCall():
            return f"**{one_line(part.name)}**\n\n{_fenced(written(part.input))}"
        case ToolResult():
            said = part.diff or written(part.output)
            return f"*{one_line(part.name)}: {part.outcome}*\n\n{_fenced(said)}"
        case File():
            return f"[file: {one_line(part.name)}, {part.size} bytes]"
        case Source():
            return f"[source: {one_line(part.url)}]"
        case Notice():
            return f"*{one_line(part.text)}*"


def _fenced(text: str) -> str:
    """In a fence longer than any inside."""
    longest = max((len(found) for found in _FENCE.findall(text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}\n{text}\n{fence}"
