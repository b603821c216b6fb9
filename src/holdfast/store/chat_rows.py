"""How a chat maps to columns and back, once for both engines: its execution state (`chats`) and its settings
(`settings`)."""

import msgspec

from holdfast.chats.view import Execution, Lease, View
from holdfast.core.chats import ClientTool, ProviderTool, Settings
from holdfast.core.clock import from_micros, to_micros
from holdfast.core.failures import Failure, Retry
from holdfast.core.ids import CallId, ChatId, RunId
from holdfast.core.origins import PERSON, FromChat, FromRun, Origin
from holdfast.core.shapes import encode_text
from holdfast.core.usage import Budget, Usage
from holdfast.store.columns import Written, columns, listed, text
from holdfast.store.query import Row

_origin = msgspec.json.Decoder(Origin).decode
_PERSON = encode_text(PERSON)
_usage = msgspec.json.Decoder(Usage).decode
_failure = msgspec.json.Decoder(Failure).decode
_retry = msgspec.json.Decoder(Retry).decode
_labels = msgspec.json.Decoder(tuple[str, ...]).decode
_client_tools = msgspec.json.Decoder(tuple[ClientTool, ...]).decode
_provider_tools = msgspec.json.Decoder(tuple[ProviderTool, ...]).decode
_json = msgspec.json.Decoder().decode

# Written once. `depth` is the store's own: the parent's plus one.
IDENTITY = columns("id owner_id parent_id parent_call_id root_id run_id origin depth created_at")
# Changes with nearly every transition; not in any index.
MOVING = columns(
    "version history_version queue_version retry_version attempt turn turn_kind "
    "turn_model turn_effort turn_steps compaction last_message_id answer_id message_count "
    "queue_length spent_tokens spent_usd_micros updated_at usage last_error retry mode writes"
)
# Changes when a turn starts or ends or the owner changes; in an index.
INDEXED = columns("status archived active_at lease_worker_id lease_number")


def identity_row(chat: Execution, depth: int) -> Written:
    return (
        chat.id,
        chat.owner_id,
        chat.parent_id,
        chat.parent_call_id,
        chat.root_id,
        chat.run_id,
        encode_text(chat.origin),
        depth,
        to_micros(chat.created_at),
    )


def moving_row(view: View) -> Written:
    chat = view.chat
    usage = chat.usage
    return (
        chat.version,
        chat.history_version,
        chat.queue_version,
        chat.retry_version,
        chat.attempt,
        chat.turn,
        chat.turn_kind,
        chat.turn_model,
        chat.turn_effort,
        chat.turn_steps,
        chat.compaction,
        chat.last_message_id,
        chat.answer_id,
        chat.message_count,
        len(view.queue),
        usage.total,
        usage.cost_usd_micros,
        to_micros(chat.updated_at),
        encode_text(usage),
        text(chat.last_error),
        text(chat.retry),
        chat.mode,
        chat.writes,
    )


def indexed_row(chat: Execution) -> Written:
    return (
        chat.status,
        chat.archived,
        to_micros(chat.active_at),
        None if chat.lease is None else chat.lease.worker_id,
        chat.lease_number,
    )


def indexed_moved(before: Execution, after: Execution) -> bool:
    """Whether an INDEXED column differs."""
    return (
        before.status != after.status
        or before.archived != after.archived
        or before.active_at != after.active_at
        or before.lease_number != after.lease_number
        or (before.lease is None) != (after.lease is None)
    )


# For reading a chat's execution state, with `chats` as c and the worker that leases it, if any, as w.
EXECUTION = f"{listed(IDENTITY, 'c')}, {listed(MOVING, 'c')}, {listed(INDEXED, 'c')}, w.expires_at"
EXECUTION_FROM = "chats c LEFT JOIN workers w ON w.id = c.lease_worker_id"
EXECUTION_WIDTH = len(IDENTITY) + len(MOVING) + len(INDEXED) + 1


def execution_of(row: Row) -> Execution:
    """From the EXECUTION columns at the start of a row. A lease without a worker row ended long ago."""
    (
        id_,
        owner_id,
        parent_id,
        parent_call_id,
        root_id,
        run_id,
        origin,
        _depth,
        created_at,
        version,
        history_version,
        queue_version,
        retry_version,
        attempt,
        turn,
        turn_kind,
        turn_model,
        turn_effort,
        turn_steps,
        compaction,
        last_message_id,
        answer_id,
        message_count,
        _queue_length,
        _spent_tokens,
        _spent_usd_micros,
        updated_at,
        usage,
        last_error,
        retry,
        mode,
        writes,
        status,
        archived,
        active_at,
        lease_worker_id,
        lease_number,
        expires_at,
    ) = row[:EXECUTION_WIDTH]
    return Execution(
        id=id_,
        owner_id=owner_id,
        origin=origin_of(origin, parent_id, parent_call_id, run_id),
        root_id=root_id,
        status=status,
        archived=bool(archived),
        version=version,
        history_version=history_version,
        queue_version=queue_version,
        retry_version=retry_version,
        attempt=attempt,
        lease=None
        if lease_worker_id is None
        else Lease(worker_id=lease_worker_id, number=lease_number, expires_at=from_micros(expires_at or 0)),
        lease_number=lease_number,
        turn=turn,
        turn_kind=turn_kind,
        turn_model=turn_model,
        turn_effort=turn_effort,
        turn_steps=turn_steps,
        compaction=compaction,
        mode=mode,
        writes=writes,
        last_error=None if last_error is None else _failure(last_error),
        retry=None if retry is None else _retry(retry),
        last_message_id=last_message_id,
        answer_id=answer_id,
        message_count=message_count,
        usage=_usage(usage),
        created_at=from_micros(created_at),
        updated_at=from_micros(updated_at),
        active_at=from_micros(active_at),
    )


def origin_of(
    origin: str | None, parent_id: ChatId | None, parent_call_id: CallId | None, run_id: RunId | None
) -> Origin:
    if origin == _PERSON:
        return PERSON
    try:
        if origin is not None:
            return _origin(origin)
    except msgspec.ValidationError:
        pass  # a kind that only a later version knows
    # None if a replica of an earlier version wrote the row: then the ids tell.
    if parent_id is not None:
        return FromChat(chat_id=parent_id, call_id=parent_call_id)
    return PERSON if run_id is None else FromRun(run_id=run_id)


def usage_of(value: str) -> Usage:
    return _usage(value)


# --- settings ---

SETTINGS = columns(
    "chat_id title title_source summary model effort workspace_id agent pinned "
    "budget_tokens budget_usd_micros labels tools client_tools instructions max_steps provider_tools debug "
    "web"
)


def settings_row(chat_id: ChatId, settings: Settings) -> Written:
    budget = settings.budget
    return (
        chat_id,
        settings.title,
        settings.title_source,
        settings.summary,
        settings.model,
        settings.effort,
        settings.workspace_id,
        settings.agent,
        settings.pinned,
        None if budget is None else budget.tokens,
        None if budget is None else budget.cost_usd_micros,
        encode_text(settings.labels),
        encode_text(settings.tools),
        encode_text(settings.client_tools),
        settings.instructions,
        settings.max_steps,
        None if settings.provider_tools is None else encode_text(settings.provider_tools),
        settings.debug,
        settings.web,
    )


def settings_of(row: Row, at: int = 0) -> Settings:
    """The spent part of a budget is not known here and stays 0."""
    tokens, cost = row[at + 9], row[at + 10]
    return Settings(
        title=row[at + 1],
        title_source=row[at + 2],
        summary=row[at + 3],
        model=row[at + 4],
        effort=row[at + 5],
        workspace_id=row[at + 6],
        agent=row[at + 7],
        pinned=bool(row[at + 8]),
        budget=None if tokens is None and cost is None else Budget(tokens=tokens, cost_usd_micros=cost),
        labels=_labels(row[at + 11]),
        tools=_json(row[at + 12]),
        client_tools=_client_tools(row[at + 13]),
        instructions=row[at + 14],
        max_steps=row[at + 15],
        provider_tools=None if row[at + 16] is None else _provider_tools(row[at + 16]),
        debug=bool(row[at + 17]),
        web=bool(row[at + 18]),
    )
