"""A chat as one file to keep: JSON with everything, Markdown to read, HTML to open."""

import re
from collections.abc import AsyncGenerator
from typing import Literal

from litestar import Router, get
from litestar.params import FromQuery
from litestar.response import Stream

from holdfast.api.export_formats import Format, json_lines, markdown
from holdfast.api.export_html import html
from holdfast.api.services import By, InPath, Services, With, needs, own_chat
from holdfast.core.chats import Chat
from holdfast.core.ids import MessageId
from holdfast.core.messages import Message
from holdfast.feed.watch import shown
from holdfast.store import messages

PAGE = 100
_FORMATS: dict[str, tuple[Format, str, str]] = {
    "json": (json_lines, "application/json", "json"),
    "markdown": (markdown, "text/markdown", "md"),
    "html": (html, "text/html", "html"),
}
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")


@get("/chats/{chat_id:str}/export", guards=[needs("chats:read")])
async def export_chat(
    chat_id: InPath,
    services: With,
    caller: By,
    format: FromQuery[Literal["json", "markdown", "html"]] = "json",  # noqa: A002
) -> Stream:
    """Export a chat. JSON includes removed history and what only the model saw; the other formats have what a
    person sees."""
    chat = await own_chat(services, caller, chat_id)
    write, media_type, ending = _FORMATS[format]
    name = _UNSAFE.sub("-", chat.title).strip("-.")[:60] or "chat"
    history = _history(services, chat, everything=format == "json")
    return Stream(
        write(chat, history),
        media_type=media_type,
        headers={
            "Content-Disposition": f'attachment; filename="{name}.{ending}"',
            "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox",
        },
    )


async def _history(services: Services, chat: Chat, *, everything: bool) -> AsyncGenerator[Message]:
    after: MessageId | None = None
    while True:
        page = await services.store.read(
            messages.page(chat.id, after=after, limit=PAGE, removed=everything, for_model=everything)
        )
        for message in page:
            yield shown(message)
        if len(page) < PAGE:
            return
        after = page[-1].id


router = Router("/", route_handlers=[export_chat], tags=["export"])
