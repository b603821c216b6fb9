"""The queue of a chat: messages that wait."""

from typing import Annotated

from litestar import Response, Router, delete, get, patch, post
from litestar.params import JSONBody
from msgspec import UNSET, Meta, UnsetType

from holdfast.api.bodies import Content, JsonRequest
from holdfast.api.chat_answers import entered_item, moved, queue_item
from holdfast.api.commands import command
from holdfast.api.message_files import said
from holdfast.api.pages import Cursor, Limit, Page, page_of
from holdfast.api.problems import invalid, not_found
from holdfast.api.services import By, InPath, With, needs, own_chat
from holdfast.chats.commands import (
    Command,
    DeleteQueued,
    EditQueued,
    HoldQueued,
    MoveQueued,
    Promote,
    ReleaseQueued,
)
from holdfast.core.chats import Chat
from holdfast.core.ids import QueueItemId, is_uuid7
from holdfast.core.messages import Message, QueueItem
from holdfast.core.shapes import Border
from holdfast.store import queue
from holdfast.store.interface import Applied
from holdfast.store.queue import item_of


class ChangeQueued(Border, frozen=True, kw_only=True):
    """Omitted fields stay as they are. `held: true` takes a hold, or renews it with its token; the answer has
    the token, which is needed to edit or release a held item."""

    content: Content | UnsetType = UNSET
    position: Annotated[int, Meta(ge=0, le=1_000_000)] | UnsetType = UNSET
    held: bool | UnsetType = UNSET
    hold_token: Annotated[str, Meta(max_length=100)] | None = None


@get("/chats/{chat_id:str}/queue", guards=[needs("chats:read")])
async def list_queue(
    chat_id: InPath, services: With, caller: By, limit: Limit = 50, cursor: Cursor = None
) -> Page[QueueItem]:
    """The waiting messages, in order."""
    chat = await own_chat(services, caller, chat_id)
    items = await services.store.read(queue.queue(chat.id))
    shown = [item_of(item, position) for position, item in enumerate(items)]
    return page_of(shown, limit, cursor, lambda item: item.id)


@patch("/chats/{chat_id:str}/queue/{item_id:str}", guards=[needs("chats:write")])
async def change_queued(
    request: JsonRequest,
    chat_id: InPath,
    item_id: InPath,
    data: JSONBody[ChangeQueued],
    services: With,
    caller: By,
) -> Response[QueueItem]:
    """Edit, move, hold or release a waiting item."""
    chat = await own_chat(services, caller, chat_id)
    item = _item(item_id)
    commands: list[Command] = []
    if data.content is not UNSET:
        parts = await said(services, caller, chat.id, data.content, chat.model)
        commands.append(EditQueued(item_id=item, parts=parts, hold_token=data.hold_token))
    if data.position is not UNSET:
        commands.append(MoveQueued(item_id=item, position=data.position))
    if data.held is True:
        commands.append(HoldQueued(item_id=item, hold_token=data.hold_token))
    elif data.held is False:
        commands.append(ReleaseQueued(item_id=item, hold_token=data.hold_token))
    if not commands:
        raise invalid("body", "name at least one of content, position and held")
    waiting = {known.id: known for known in await services.store.read(queue.queue(chat.id))}

    def answer(applied: Applied) -> tuple[int, object]:
        match applied.change.answer:
            case Message() as entered:
                # It was at the head of an idle chat and is no longer held: it is now in the history.
                return 200, entered_item(waiting[item], entered)
            case None:
                return 200, None
            case changed:
                # For the client that takes or has the hold.
                holder = data.held is True or changed.hold_token == data.hold_token
                return 200, queue_item(applied, changed, with_token=holder)

    return await command(services, caller, request, chat.id, *commands, answer=answer)


@delete("/chats/{chat_id:str}/queue/{item_id:str}", guards=[needs("chats:write")], status_code=204)
async def delete_queued(
    request: JsonRequest, chat_id: InPath, item_id: InPath, services: With, caller: By
) -> None:
    """Remove an item from the queue. If it was already sent: 409 with the message it became."""
    chat = await own_chat(services, caller, chat_id)
    wanted = DeleteQueued(item_id=_item(item_id))
    await command(services, caller, request, chat.id, wanted, answer=lambda _: (204, None))


@post("/chats/{chat_id:str}/queue/{item_id:str}/promote", guards=[needs("chats:write")], status_code=202)
async def promote_queued(
    request: JsonRequest, chat_id: InPath, item_id: InPath, services: With, caller: By
) -> Response[Chat]:
    """Send now: the running turn is interrupted and this item is next."""
    chat = await own_chat(services, caller, chat_id)
    return await command(
        services,
        caller,
        request,
        chat.id,
        Promote(item_id=_item(item_id)),
        answer=lambda applied: (202, moved(chat, applied)),
    )


def _item(item_id: str) -> QueueItemId:
    if not is_uuid7(item_id):
        raise not_found("queue item")
    return QueueItemId(item_id)


router = Router(
    "/", route_handlers=[list_queue, change_queued, delete_queued, promote_queued], tags=["queue"]
)
