"""The instruction files, skills and MCP servers of a chat, by name: which of them changed since the model was
told, what is wrong with them, and a person's wish that the model is told anew."""

from typing import Literal

from litestar import Response, Router, post

from holdfast.api.bodies import JsonRequest
from holdfast.api.chat_answers import moved
from holdfast.api.commands import command
from holdfast.api.problems import Problem
from holdfast.api.services import By, InPath, Services, With, needs, own_chat
from holdfast.chats.commands import Notify
from holdfast.core.chats import Chat
from holdfast.core.errors import HoldfastError
from holdfast.core.ids import ChatId, MessageId
from holdfast.core.messages import HistoryEntry
from holdfast.core.shapes import Record
from holdfast.prompt.drift import Drift, Given, drift, given
from holdfast.prompt.notices import INSTRUCTIONS_RENEWED, RENEWED_TEXT
from holdfast.prompt.sources import PromptChat, WorkspaceText
from holdfast.store import messages as stored_messages
from holdfast.tools.mcp.pins import judged

# none: the next step gives them, or there are none.  renewing: the text of now enters with the next step.
InstructionsState = Literal["none", "unchanged", "changed", "renewing"]


class ChatInstructions(Record, frozen=True, kw_only=True):
    state: InstructionsState
    # The message that the model has them in.
    message_id: MessageId | None = None
    drift: tuple[Drift, ...] = ()
    # What is wrong, by place and name.
    errors: dict[tuple[str, str], str]


async def instructions_of(
    services: Services, chat: Chat, entries: tuple[HistoryEntry, ...]
) -> ChatInstructions:
    where = PromptChat(chat_id=chat.id, owner_id=chat.owner_id, workspace_id=chat.workspace_id)
    now, trouble = WorkspaceText(), dict[tuple[str, str], str]()
    try:
        now = await services.surroundings.instructions(where)
    except HoldfastError as error:
        trouble["instructions", "workspace"] = error.text
    except OSError as error:
        trouble["instructions", "workspace"] = error.strerror or "It cannot be read."
    errors = trouble | {
        (passage.place, passage.label): passage.error for passage in now.passages if passage.error is not None
    }
    found = given(entries)
    if found is None or found.workspace_id != (chat.workspace_id or ""):
        return ChatInstructions(state="none", errors=errors)
    # What cannot be read now is not said to be gone.
    differences = () if trouble else drift(found.notice, now)
    return ChatInstructions(
        state=await _state(services, chat.id, found, differences),
        message_id=found.entry.id,
        drift=differences,
        errors=errors,
    )


async def _state(
    services: Services, chat_id: ChatId, found: Given, differences: tuple[Drift, ...]
) -> InstructionsState:
    if found.renewed:
        return "renewing"
    view = await services.store.view(chat_id)
    waiting = () if view is None else view.inbox
    named = {"message_id": found.entry.id}
    if any(notice.source == INSTRUCTIONS_RENEWED and notice.data == named for notice in waiting):
        return "renewing"
    return "changed" if differences else "unchanged"


async def servers_in_trouble(services: Services, chat: Chat) -> dict[str, str]:
    """What is wrong with the MCP servers that the chat has, by their names."""
    if services.mcp.is_empty():
        return {}
    entries = await services.mcp.entries(chat.owner_id, chat.workspace_id)
    known = await services.mcp.all_known(chat.owner_id)
    found: dict[str, str] = {}
    for entry in entries:
        if not entry.fields.enabled:
            continue
        error = services.mcp.status(entry, chat.owner_id, chat.workspace_id).error
        tools = known.get(entry.id)
        waiting = 0 if tools is None else sum(one.state in ("changed", "new") for one in judged(tools))
        if error is None and waiting:
            error = f"{waiting} of its tools wait for approval."
        if error is not None:
            found[entry.name] = error
    return found


@post("/chats/{chat_id:str}/context/instructions", guards=[needs("chats:write")], status_code=202)
async def renew_instructions(
    request: JsonRequest, chat_id: InPath, services: With, caller: By
) -> Response[Chat]:
    """Give the model the instruction files and skills as they are now, with its next step. Asked for again
    before that, it changes nothing; refused while they are as the model knows them."""
    chat = await own_chat(services, caller, chat_id)
    if chat.archived:
        raise Problem("wrong_state", "The chat is archived. Unarchive it first.")
    entries = await services.store.read(stored_messages.prompt(chat.id))
    known = await instructions_of(services, chat, entries)
    if known.state in ("none", "unchanged"):
        raise Problem("wrong_state", "The instructions are not different from what the model was told.")
    if known.message_id is None:
        raise Problem("wrong_state", "The model was given no instructions yet.")
    wish = Notify(
        source=INSTRUCTIONS_RENEWED,
        # Again after an edit that removed the new text.
        key=f"{INSTRUCTIONS_RENEWED}:{known.message_id}:{chat.history_version}",
        text=RENEWED_TEXT,
        data={"message_id": known.message_id},
    )
    if known.state == "renewing":
        return Response(chat, status_code=202)
    return await command(
        services, caller, request, chat.id, wish, answer=lambda applied: (202, moved(chat, applied))
    )


router = Router("/", route_handlers=[renew_instructions], tags=["chats"])
