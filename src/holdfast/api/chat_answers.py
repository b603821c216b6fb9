"""Chats as they are shown directly after a commit, without another database read."""

from msgspec.structs import replace

from holdfast.chats.view import Queued, View
from holdfast.core.accounts import NamedAgent
from holdfast.core.calls import Action
from holdfast.core.chats import Chat, Settings
from holdfast.core.messages import Message, QueueItem
from holdfast.store.interface import Applied
from holdfast.store.queue import item_of


def created(applied: Applied, settings: Settings, agent: NamedAgent | None) -> Chat:
    """A chat created by this commit, to run as this agent."""
    view = _view(applied)
    state = view.chat
    model, effort = _used(settings, agent)
    return Chat(
        id=state.id,
        title=settings.title,
        summary=settings.summary,
        status=state.status,
        waiting="capacity" if state.status == "running" else None,
        archived=state.archived,
        model=model,
        effort=effort,
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
        origin=state.origin,
        max_steps=settings.max_steps,
        provider_tools=settings.provider_tools,
        debug=settings.debug,
        web=settings.web,
        mode=state.mode,
        writes=state.writes,
    )


def moved(chat: Chat, applied: Applied) -> Chat:
    """A chat that was read before the commit, updated with what the commit changed."""
    view = _view(applied)
    state = view.chat
    if state.version == chat.version:
        # There was nothing to do, and what was read says more: whether it waits for sub-agents.
        return chat
    # Its own calls that still wait, and those of sub-agents.
    waiting = {call.call_id for call in view.calls if call.state == "waiting"}
    asked = tuple(
        call
        for call in (() if chat.action is None else chat.action.calls)
        if call.chat_id != chat.id or (state.status == "requires_action" and call.call_id in waiting)
    )
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
        mode=state.mode,
        writes=state.writes,
    )


def chosen(chat: Chat, settings: Settings, agent: NamedAgent | None) -> Chat:
    """A chat that was read before, and runs as this agent, with its new settings."""
    budget, used = settings.budget, chat.usage
    if budget is not None:
        budget = replace(budget, spent_tokens=used.total, spent_usd_micros=used.cost_usd_micros)
    model, effort = _used(settings, agent)
    return replace(
        chat,
        title=settings.title,
        summary=settings.summary,
        model=model,
        effort=effort,
        workspace_id=settings.workspace_id,
        labels=settings.labels,
        pinned=settings.pinned,
        budget=budget,
        max_steps=settings.max_steps,
        provider_tools=settings.provider_tools,
        debug=settings.debug,
        web=settings.web,
    )


def _used(settings: Settings, agent: NamedAgent | None) -> tuple[str | None, str | None]:
    """The model and the effort of the next turn."""
    if agent is None:
        return settings.model, settings.effort
    return settings.model or agent.model, settings.effort or agent.effort


def queue_item(applied: Applied, item: Queued, *, with_token: bool = False) -> QueueItem:
    places = [other.id for other in _view(applied).queue]
    position = places.index(item.id) if item.id in places else 0
    return item_of(item, position, with_token=with_token)


def entered_item(item: Queued, message: Message) -> QueueItem:
    """An item as it was when it left the queue and became this message."""
    return item_of(replace(item, parts=message.parts, hold_token=None, hold_until=None), 0)


def _view(applied: Applied) -> View:
    assert applied.view is not None, "a deleted chat is not shown"
    return applied.view
