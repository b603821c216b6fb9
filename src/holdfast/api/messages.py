"""Messages of a chat: its history, sending a message, and editing one."""

from typing import Annotated, Literal

from litestar import Response, Router, get, patch, post
from litestar.openapi.datastructures import ResponseSpec
from litestar.params import FromQuery, JSONBody
from msgspec import Meta

from holdfast.api.bodies import Content, JsonRequest
from holdfast.api.chat_answers import queue_item
from holdfast.api.checks import Effort, ModelName, check_model
from holdfast.api.commands import command
from holdfast.api.message_files import said
from holdfast.api.pages import Cursor, Limit, Page, unknown_cursor
from holdfast.api.problems import invalid, not_found
from holdfast.api.services import By, InPath, With, needs, own_chat
from holdfast.chats.commands import Edit, Send
from holdfast.core.ids import MessageId, is_uuid7
from holdfast.core.messages import Busy, Message, QueueItem
from holdfast.core.shapes import Border, Record
from holdfast.feed.watch import shown
from holdfast.store import messages
from holdfast.store.interface import Applied

Id = Annotated[str, Meta(max_length=36)]


class SendMessage(Border, frozen=True, kw_only=True):
    content: Content
    busy: Busy = "queue"
    model: ModelName | None = None
    effort: Effort | None = None


class EditMessage(Border, frozen=True, kw_only=True):
    content: Content
    model: ModelName | None = None
    effort: Effort | None = None


class Sent(Record, frozen=True, kw_only=True, omit_defaults=True):
    """`message` if it entered the history, `queued` if it waits."""

    message: Message | None = None
    queued: QueueItem | None = None


@get("/chats/{chat_id:str}/messages", guards=[needs("chats:read")])
async def list_messages(
    chat_id: InPath,
    services: With,
    caller: By,
    limit: Limit = 50,
    cursor: Cursor = None,
    after: FromQuery[Id | None] = None,
    before: FromQuery[Id | None] = None,
    removed: FromQuery[bool] = False,
    visibility: FromQuery[Literal["both", "all"]] = "both",
) -> Page[Message]:
    """The history, ascending: from the start, after a message, or the last ones before one."""
    chat = await own_chat(services, caller, chat_id)
    for name, value in (("after", after), ("before", before)):
        if value is not None and not is_uuid7(value):
            raise invalid(name, "not the id of a message")
    if cursor is not None:
        # The cursor contains the `after` and `before` of the first request.
        after, before = _places(cursor)
    found = await services.store.read(
        messages.page(
            chat.id,
            after=None if after is None else MessageId(after),
            before=None if before is None else MessageId(before),
            limit=limit + 1,
            removed=removed,
            for_model=visibility == "all",
        )
    )
    found = tuple(shown(message) for message in found)
    if before is not None and after is None:
        items = found[-limit:]
        return Page(items=items, next_cursor=f"before.{items[0].id}" if len(found) > limit else None)
    items = found[:limit]
    until = "" if before is None else f".before.{before}"
    return Page(items=items, next_cursor=f"after.{items[-1].id}{until}" if len(found) > limit else None)


def _places(cursor: str) -> tuple[str | None, str | None]:
    """`after.<id>`, `before.<id>` or `after.<id>.before.<id>`."""
    match cursor.split("."):
        case ["after", after] if is_uuid7(after):
            return after, None
        case ["before", before] if is_uuid7(before):
            return None, before
        case ["after", after, "before", before] if is_uuid7(after) and is_uuid7(before):
            return after, before
        case _:
            raise unknown_cursor()


@get("/chats/{chat_id:str}/messages/{message_id:str}", guards=[needs("chats:read")])
async def read_message(chat_id: InPath, message_id: InPath, services: With, caller: By) -> Message:
    """One message in full, however long it is."""
    chat = await own_chat(services, caller, chat_id)
    found = (
        await services.store.read(messages.message(chat.id, MessageId(message_id)))
        if is_uuid7(message_id)
        else None
    )
    if found is None:
        raise not_found("message")
    return shown(found)


@post(
    "/chats/{chat_id:str}/messages",
    guards=[needs("chats:write")],
    status_code=201,
    responses={
        202: ResponseSpec(Sent, description="It waits in the queue.", generate_examples=False),
    },
)
async def send_message(
    request: JsonRequest, chat_id: InPath, data: JSONBody[SendMessage], services: With, caller: By
) -> Response[Sent]:
    """Send a message: 201 if it entered the history, 202 if it waits in the queue. `busy` says what to do
    while the agent is working: queue it, interrupt the turn, or steer it."""
    chat = await own_chat(services, caller, chat_id)
    check_model(services, data.model, data.effort, otherwise=chat.model)

    def answer(applied: Applied) -> tuple[int, object]:
        match applied.change.answer:
            case Message() as message:
                return 201, Sent(message=message)
            case None:
                return 202, Sent()
            case item:
                return 202, Sent(queued=queue_item(applied, item))

    send = Send(
        parts=await said(services, caller, chat.id, data.content, data.model or chat.model),
        busy=data.busy,
        model=data.model,
        effort=data.effort,
        created_by=caller.user.id,
        queue_limit=services.config().limits.queue,
    )
    return await command(services, caller, request, chat.id, send, answer=answer)


@patch("/chats/{chat_id:str}/messages/{message_id:str}", guards=[needs("chats:write")])
async def edit_message(
    request: JsonRequest,
    chat_id: InPath,
    message_id: InPath,
    data: JSONBody[EditMessage],
    services: With,
    caller: By,
) -> Response[Sent]:
    """Edit a person's message: the history from there on is removed, and the turn runs again."""
    chat = await own_chat(services, caller, chat_id)
    if not is_uuid7(message_id):
        raise not_found("message")
    check_model(services, data.model, data.effort, otherwise=chat.model)

    def answer(applied: Applied) -> tuple[int, object]:
        entered = applied.change.answer
        return 200, Sent(message=entered if isinstance(entered, Message) else None)

    edit = Edit(
        message_id=MessageId(message_id),
        parts=await said(services, caller, chat.id, data.content, data.model or chat.model),
        model=data.model,
        effort=data.effort,
        created_by=caller.user.id,
    )
    return await command(services, caller, request, chat.id, edit, answer=answer)


router = Router(
    "/", route_handlers=[list_messages, read_message, send_message, edit_message], tags=["messages"]
)
