"""Chats as they are shown directly after a commit, without another look at the database."""

from msgspec.structs import replace

from holdfast.chats.view import Queued, View
from holdfast.core.calls import Action
from holdfast.core.chats import Chat, Settings
from holdfast.core.messages import QueueItem
from holdfast.store.interface import Applied
from holdfast.store.queue import item_of


def created(applied: Applied, settings: Settings) -> Chat:
    """A chat that this commit made."""
    view = _view(applied)
    state = view.chat
    return Chat(
        id=state.id,
        title=settings.title,
        summary=settings.summary,
        status=state.status,
        waiting="capacity" if state.status == "running" else None,
        archived=state.archived,
        model=settings.model,
        effort=settings.effort,
        owner_id=state.owner_id,
        parent_id=state.parent_id,
        parent_call_id=state.parent_call_id,
        root_id=state.root_id,
        run_id=state.run_id,
        workspace_id=settings.workspace_id,
        labels=settings.labels,
        pinned=settings.pinned,
        version=state.version,
        history_version=state.history_version,
        queue_length=len(view.queue),
        last_error=state.last_error,
        retry=state.retry,
        action=None,
        budget=settings.budget,
        usage=state.usage,
        created_at=state.created_at,
        updated_at=state.updated_at,
    )


def moved(chat: Chat, applied: Applied) -> Chat:
    """A chat that was read before the commit, with what the commit moved."""
    view = _view(applied)
    state = view.chat
    # What its own calls waited for is over; sub-agents may still ask.
    asked = () if chat.action is None else chat.action.calls
    if state.status != "requires_action":
        asked = tuple(call for call in asked if call.chat_id != chat.id)
    busy = state.status in ("running", "interrupting")
    held = state.status == "idle" and bool(view.queue)
    return replace(
        chat,
        status=state.status,
        waiting="capacity" if busy and state.lease is None else "held" if held else None,
        archived=state.archived,
        version=state.version,
        history_version=state.history_version,
        queue_length=len(view.queue),
        last_error=state.last_error,
        retry=state.retry,
        action=Action(calls=asked) if asked else None,
        updated_at=state.updated_at,
    )


def queue_item(applied: Applied, item: Queued, *, with_token: bool = False) -> QueueItem:
    places = [other.id for other in _view(applied).queue]
    position = places.index(item.id) if item.id in places else 0
    return item_of(item, position, with_token=with_token)


def _view(applied: Applied) -> View:
    assert applied.view is not None, "a deleted chat is not shown"
    return applied.view
