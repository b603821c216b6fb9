"""Tools that look into the owner's other chats. Those belong to other work, so a person is asked first;
nobody else's chats are ever found."""

from typing import Annotated

from msgspec import Meta

from holdfast.core.chats import Chat
from holdfast.core.ids import ChatId, MessageId, is_uuid7
from holdfast.core.messages import Message
from holdfast.core.parts import Text, ToolCall
from holdfast.core.shapes import Json
from holdfast.store import chats, messages
from holdfast.store.interface import Store
from holdfast.store.search_words import matching_line, sought
from holdfast.tools.contract import Input, Tool, ToolAnswer, ToolContext, ToolError

MOST_CHATS = 20
PAGE_MESSAGES = 30
_MESSAGE_CHARACTERS = 4_000


class SearchChats(Input, frozen=True, kw_only=True):
    query: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=500,
            description="Words that must all occur in a chat's title, messages or tool output.",
            examples=["login redirect bug"],
        ),
    ]


class ReadChat(Input, frozen=True, kw_only=True):
    chat_id: Annotated[
        str,
        Meta(
            max_length=64,
            description="The id from search_chats.",
            examples=["01890000-0000-7000-8000-000000000001"],
        ),
    ]
    after: Annotated[
        Annotated[str, Meta(max_length=64)] | None,
        Meta(description="Continue after this message: `next` of the previous page."),
    ] = None


def chat_tools(store: Store) -> tuple[Tool, ...]:
    found = ChatTools(store)
    return (
        Tool(
            name="search_chats",
            description=(
                "Search the user's earlier chats by words. Returns titles, the matching line, and ids "
                "for read_chat."
            ),
            input=SearchChats,
            run=found.search,
            effect="read",
            reach="outside",
        ),
        Tool(
            name="read_chat",
            description=f"Read another chat of the user, {PAGE_MESSAGES} messages at a time, oldest first.",
            input=ReadChat,
            run=found.read,
            effect="read",
            reach="outside",
        ),
    )


class ChatTools:
    def __init__(self, store: Store) -> None:
        self._store = store

    async def search(self, context: ToolContext, asked: SearchChats) -> ToolAnswer:
        wanted = sought(asked.query)
        if wanted is None:
            raise ToolError("The query has no word in it.")
        await self._store.index_pending()
        page = await self._store.search(context.owner_id, asked.query, limit=MOST_CHATS)
        listed = await self._store.read(chats.chats(tuple(hit.chat_id for hit in page.hits)))
        lines: dict[ChatId, str] = {}
        for hit in page.hits:
            if hit.message_id is not None:
                message = await self._store.read(messages.message(hit.chat_id, hit.message_id))
                lines[hit.chat_id] = "" if message is None else matching_line(message, wanted)
        return ToolAnswer(
            output={
                "chats": [
                    _listed(chat, lines.get(chat.id, "")) for chat in listed if chat.id != context.chat_id
                ],
                "more": page.next_cursor is not None,
            }
        )

    async def read(self, context: ToolContext, asked: ReadChat) -> ToolAnswer:
        chat = await self._own(context, asked.chat_id)
        if asked.after is not None and not is_uuid7(asked.after):
            raise ToolError("after must be the id of a message, as in `next` of the previous page.")
        after = None if asked.after is None else MessageId(asked.after)
        found = await self._store.read(messages.page(chat.id, after=after, limit=PAGE_MESSAGES + 1))
        shown = found[:PAGE_MESSAGES]
        return ToolAnswer(
            output={
                "title": chat.title,
                "link": _link(chat.id),
                "messages": [
                    said for message in shown if (said := spoken(message, _MESSAGE_CHARACTERS)) is not None
                ],
                "next": shown[-1].id if len(found) > PAGE_MESSAGES else None,
            }
        )

    async def _own(self, context: ToolContext, chat_id: str) -> Chat:
        """For this user, somebody else's chat does not exist."""
        found = await self._store.read(chats.chat(ChatId(chat_id))) if is_uuid7(chat_id) else None
        if found is None or found.owner_id != context.owner_id:
            raise ToolError(f"There is no chat {chat_id[:64]!r}. search_chats finds existing ones.")
        return found


def _listed(chat: Chat, line: str) -> Json:
    return {
        "chat_id": chat.id,
        "title": chat.title,
        "line": line,
        "updated_at": chat.updated_at.isoformat(),
        "link": _link(chat.id),
    }


def _link(chat_id: ChatId) -> str:
    return f"/chats/{chat_id}"


def spoken(message: Message, most: int | None = None) -> Json:
    """What was said and which tools were called; results are left out, because they are long."""
    text = "\n".join(part.text for part in message.parts if isinstance(part, Text))
    called: list[Json] = [part.name for part in message.parts if isinstance(part, ToolCall)]
    if not text and not called:
        return None
    if most is not None and len(text) > most:
        text = f"{text[:most]} [cut]"
    return {"role": message.role, **({"text": text} if text else {}), **({"calls": called} if called else {})}
