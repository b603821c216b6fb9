"""How a chat is written into a file. Everything a person or a model wrote is data: escaped in HTML, fenced in
Markdown, so that no file runs or loads anything."""

import re
from collections.abc import AsyncGenerator, Callable
from html import escape

import msgspec

from holdfast.core.chats import Chat
from holdfast.core.messages import Message
from holdfast.core.parts import File, Notice, Part, Reasoning, Source, Text, ToolCall, ToolResult
from holdfast.core.shapes import Json, encode, encode_text

History = AsyncGenerator[Message]
Format = Callable[[Chat, History], AsyncGenerator[bytes]]

EXPORT_VERSION = 1
_FENCE = re.compile(r"`{3,}")

_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:50rem;margin:2rem auto;padding:0 1rem;color:#1a1a1a;"
    "background:#fff}article{border-top:1px solid #ddd;padding:1rem 0}h2{font-size:.9rem;color:#555;margin:0}"
    "pre{white-space:pre-wrap;overflow-wrap:anywhere;background:#f6f6f6;padding:.75rem;border-radius:6px}"
    "@media(prefers-color-scheme:dark){body{color:#e6e6e6;background:#161616}h2{color:#aaa}"
    "article{border-color:#333}pre{background:#222}}"
)


async def json_lines(chat: Chat, history: History) -> AsyncGenerator[bytes]:
    """One JSON object, written as it is read: a long chat is never in memory as a whole."""
    yield b'{"holdfast_export":%d,"chat":%s,"messages":[' % (EXPORT_VERSION, encode(chat))
    separator = b"\n"
    async for message in history:
        yield separator + encode(message)
        separator = b",\n"
    yield b"\n]}\n"


async def markdown(chat: Chat, history: History) -> AsyncGenerator[bytes]:
    title = _one_line(chat.title) or "Chat"
    yield f"# {title}\n\n{chat.created_at:%Y-%m-%d %H:%M} UTC · {chat.id}\n".encode()
    async for message in history:
        shown = "\n\n".join(_markdown_part(part) for part in message.parts)
        mark = " (interrupted)" if message.interrupted else ""
        yield f"\n## {message.role.capitalize()}{mark}\n\n{shown}\n".encode()


async def html(chat: Chat, history: History) -> AsyncGenerator[bytes]:
    title = escape(_one_line(chat.title) or "Chat")
    yield (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title>'
        f'<meta name="viewport" content="width=device-width"><style>{_STYLE}</style><h1>{title}</h1>\n'
    ).encode()
    async for message in history:
        shown = "".join(_html_part(part) for part in message.parts)
        mark = " (interrupted)" if message.interrupted else ""
        yield (
            f'<article id="{escape(message.id)}"><h2>{message.role.capitalize()}{mark} · '
            f"{message.created_at:%Y-%m-%d %H:%M:%S}</h2>{shown}</article>\n"
        ).encode()
    yield b"</html>\n"


def _markdown_part(part: Part) -> str:
    match part:
        case Text():
            return part.text
        case Reasoning():
            return "\n".join(f"> {line}" for line in part.text.splitlines())
        case ToolCall():
            return f"**{_one_line(part.name)}**\n\n{_fenced(_written(part.input))}"
        case ToolResult():
            said = part.diff or _written(part.output)
            return f"*{_one_line(part.name)}: {part.outcome}*\n\n{_fenced(said)}"
        case File():
            return f"[file: {_one_line(part.name)}, {part.size} bytes]"
        case Source():
            return f"[source: {_one_line(part.url)}]"
        case Notice():
            return f"*{_one_line(part.text)}*"


def _html_part(part: Part) -> str:
    match part:
        case Text():
            return f"<pre>{escape(part.text)}</pre>"
        case Reasoning():
            return _folded("Reasoning", part.text)
        case ToolCall():
            return _folded(part.name, _written(part.input))
        case ToolResult():
            said = escape(part.diff or _written(part.output))
            return (
                f"<details><summary>{escape(part.name)}: {part.outcome}</summary><pre>{said}</pre></details>"
            )
        case File():
            return f"<p>File: {escape(part.name)}, {part.size} bytes</p>"
        case Source():
            return f"<p>Source: {escape(part.url)}</p>"
        case Notice():
            return f"<p><em>{escape(part.text)}</em></p>"


def _folded(title: str, text: str) -> str:
    return f"<details><summary>{escape(title)}</summary><pre>{escape(text)}</pre></details>"


def _fenced(text: str) -> str:
    """In a fence longer than any inside."""
    longest = max((len(found) for found in _FENCE.findall(text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}\n{text}\n{fence}"


def _written(value: Json) -> str:
    if isinstance(value, str):
        return value
    return msgspec.json.format(encode_text(value), indent=2)


def _one_line(text: str) -> str:
    return " ".join(text.split())
