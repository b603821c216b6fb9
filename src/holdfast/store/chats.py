"""Chats as clients see them: by id, as a page of a list, as a family, and counted."""

import re
from dataclasses import dataclass

from msgspec.structs import replace

from holdfast.core.calls import Action, ActionCall
from holdfast.core.chats import Chat, LastTurn, Status, Waiting
from holdfast.core.clock import from_micros
from holdfast.core.errors import InvalidInput
from holdfast.core.ids import ChatId, RunId, UserId
from holdfast.core.parts import ToolCall
from holdfast.core.usage import Usage
from holdfast.store.chat_rows import (
    EXECUTION,
    EXECUTION_FROM,
    EXECUTION_WIDTH,
    IDENTITY,
    MOVING,
    SETTINGS,
    execution_of,
    settings_of,
    usage_of,
)
from holdfast.store.columns import listed, moment
from holdfast.store.named_agents import EFFORT_USED, MODEL_USED
from holdfast.store.query import Query, Row, Rows, Value, at_most_one, each, joined, query
from holdfast.store.rows import decode_json, has_trait, parts_of


@dataclass(frozen=True, slots=True)
class Only:
    """Which chats to list. Sub-agents and agents of runs are listed only by their parent or run."""

    archived: bool | None = False
    parent_id: ChatId | None = None
    run_id: RunId | None = None
    label: str | None = None
    status: Status | None = None
    pinned: bool | None = None


LISTED_ONLY = Only()


@dataclass(frozen=True, slots=True)
class ChatPage:
    items: tuple[Chat, ...]
    next_cursor: str | None


@dataclass(frozen=True, slots=True)
class Counts:
    """Chats by status, including sub-agents and agents of runs; `listed` counts unarchived top-level chats,
    up to COUNT_LIMIT."""

    running: int
    interrupting: int
    requires_action: int
    error: int
    listed: int


@dataclass(frozen=True, slots=True)
class Standing:
    """A chat's place in its family: its depth (0 for a root), the number of its children, and how many of
    them are busy."""

    depth: int
    children: int
    busy_children: int


COUNT_LIMIT = 1000

_LAST_TURN = (
    "(SELECT t.%s FROM turns t WHERE t.chat_id = c.id AND t.outcome IS NOT NULL "
    "ORDER BY t.number DESC LIMIT 1)"
)
_EXECUTION = (
    f"SELECT {EXECUTION}, {listed(SETTINGS, 's')}, w.expires_at > now_micros(), {MODEL_USED}, {EFFORT_USED}, "
    f"{_LAST_TURN % 'outcome'}, {_LAST_TURN % 'finished_at'}, "
    "(SELECT count(*) FROM chats k WHERE k.parent_id = c.id)"
)
_EXECUTION_FROM = f"FROM {EXECUTION_FROM} JOIN settings s ON s.chat_id = c.id"
_QUEUE_LENGTH = len(IDENTITY) + MOVING.index("queue_length")

# %s is replaced by the ids of the chats.
CHATS = f"{_EXECUTION} {_EXECUTION_FROM} WHERE c.id IN (%s) ORDER BY c.active_at DESC, c.id DESC"
_BELOW = (
    "WITH RECURSIVE below (top, id) AS (SELECT k.id, k.id FROM chats k WHERE k.id IN (%s) "
    "UNION ALL SELECT b.top, k.id FROM below b JOIN chats k ON k.parent_id = b.id) "
)
USAGE_BELOW = (
    _BELOW + "SELECT b.top, c.usage FROM below b JOIN chats c ON c.id = b.id WHERE c.id <> b.top "
    "UNION ALL SELECT b.top, s.usage FROM below b JOIN side_spending s ON s.chat_id = b.id"
)
WAITING = _BELOW + (
    "SELECT b.top, a.chat_id, a.call_id, a.waits_for, a.name, a.deadline_at, m.parts, a.input FROM below b "
    "JOIN calls a ON a.chat_id = b.id AND a.state <> 'answered' AND a.state = 'waiting' AND NOT a.abandoned "
    "JOIN chats c ON c.id = a.chat_id AND c.status = 'requires_action' "
    "JOIN messages m ON m.chat_id = a.chat_id AND m.id = a.message_id ORDER BY a.message_id, a.position"
)
# A chat that is running only calls with this trait does nothing but wait.
WAITS_FOR_CHILDREN = (
    "SELECT a.chat_id FROM calls a WHERE a.chat_id IN (%s) AND a.state <> 'answered' AND a.state = 'started' "
    "AND NOT a.abandoned GROUP BY a.chat_id "
    f"HAVING count(CASE WHEN {has_trait('a', 'waits_for_children')} THEN 1 END) = count(*)"
)
STANDING = (
    "SELECT c.depth, count(k.id), "
    "count(CASE WHEN k.status IN ('running', 'interrupting', 'requires_action') THEN 1 END) "
    "FROM chats c LEFT JOIN chats k ON k.parent_id = c.id WHERE c.id = $1 GROUP BY c.id, c.depth"
)
NOT_IDLE = (
    "SELECT status, count(*) FROM chats "
    "WHERE owner_id = $1 AND status <> 'idle' AND NOT archived GROUP BY status"
)
# Starts from the users, few of whom are suspended: an index has their chats that are not idle.
BUSY_OF_SUSPENDED = (
    "SELECT c.id FROM users u JOIN chats c ON c.owner_id = u.id "
    "WHERE u.suspended_at IS NOT NULL AND c.status IN ('running', 'requires_action') AND c.status <> 'idle' "
    "LIMIT $1"
)
LISTED = (
    "SELECT count(*) FROM (SELECT 1 FROM chats c "
    "WHERE c.owner_id = $1 AND c.parent_id IS NULL AND c.run_id IS NULL "
    f"AND NOT c.archived LIMIT {COUNT_LIMIT}) AS counted"
)


def chat(chat_id: ChatId) -> Query[Chat | None]:
    return joined(_chats("$1", chat_id), read=lambda found: found[0] if found else None)


def chats(chat_ids: tuple[ChatId, ...]) -> Query[tuple[Chat, ...]]:
    """Those that exist, in the order asked for."""
    ids = ", ".join(f"${n}" for n in range(1, len(chat_ids) + 1)) or "NULL"

    def read(found: tuple[Chat, ...]) -> tuple[Chat, ...]:
        by_id = {item.id: item for item in found}
        return tuple(by_id[chat_id] for chat_id in chat_ids if chat_id in by_id)

    return joined(_chats(ids, *chat_ids), read=read)


def page(
    owner_id: UserId, only: Only = LISTED_ONLY, *, limit: int = 50, cursor: str | None = None
) -> Query[ChatPage]:
    """The owner's chats, most recently active first."""
    condition, args = condition_of(owner_id, only)
    if cursor is not None:
        args.extend(_place(cursor))
        condition += f" AND (c.active_at, c.id) < (${len(args) - 1}, ${len(args)})"
    args.append(limit + 1)
    ids = (
        f"SELECT c.id FROM chats c WHERE {condition} ORDER BY c.active_at DESC, c.id DESC LIMIT ${len(args)}"
    )

    def read(found: tuple[Chat, ...], places: dict[ChatId, int]) -> ChatPage:
        items = found[:limit]
        last = items[-1].id if len(found) > limit else None
        return ChatPage(items, None if last is None else f"{places[last]}.{last}")

    places = query(
        f"SELECT id, active_at FROM chats WHERE id IN ({ids})",
        *args,
        read=lambda rows: {row[0]: row[1] for row in rows},
    )
    return joined(_chats(ids, *args), places, read=read)


def family(root_id: ChatId) -> Query[tuple[Chat, ...]]:
    """The chat and all chats that have it as their root: a tree by `parent_id`, in order of creation."""
    ids = "SELECT f.id FROM chats f WHERE f.id = $1 OR (f.root_id = $1 AND f.parent_id IS NOT NULL)"
    return joined(_chats(ids, root_id), read=lambda found: tuple(sorted(found, key=lambda item: item.id)))


def busy_of_suspended(limit: int) -> Query[tuple[ChatId, ...]]:
    """Chats that are running or waiting although their owner is suspended."""
    return query(BUSY_OF_SUSPENDED, limit, read=each(lambda row: row[0]))


def standing(chat_id: ChatId) -> Query[Standing | None]:
    return query(STANDING, chat_id, read=at_most_one(lambda row: Standing(row[0], row[1], row[2])))


def counts(owner_id: UserId) -> Query[Counts]:
    def read(by_status: dict[str, int], listed: int) -> Counts:
        return Counts(
            running=by_status.get("running", 0),
            interrupting=by_status.get("interrupting", 0),
            requires_action=by_status.get("requires_action", 0),
            error=by_status.get("error", 0),
            listed=listed,
        )

    return joined(
        query(NOT_IDLE, owner_id, read=lambda rows: {row[0]: row[1] for row in rows}),
        query(LISTED, owner_id, read=lambda rows: rows[0][0]),
        read=read,
    )


def condition_of(owner_id: UserId, only: Only) -> tuple[str, list[Value]]:
    """The condition for a chat, as c, to be listed."""
    conditions = ["c.owner_id = $1"]
    args: list[Value] = [owner_id]

    def add(condition: str, value: Value) -> None:
        args.append(value)
        conditions.append(condition.replace("?", f"${len(args)}"))

    if only.archived is not None:
        conditions.append("c.archived" if only.archived else "NOT c.archived")
    if only.parent_id is not None:
        add("c.parent_id = ?", only.parent_id)
    if only.run_id is not None:
        add("c.run_id = ?", only.run_id)
    if only.parent_id is None and only.run_id is None:
        conditions.append("c.parent_id IS NULL AND c.run_id IS NULL")
    if only.status is not None:
        add("c.status = ?", only.status)
    if only.pinned is not None:
        pinned = "EXISTS (SELECT 1 FROM settings s WHERE s.chat_id = c.id AND s.pinned)"
        conditions.append(pinned if only.pinned else f"NOT {pinned}")
    if only.label is not None:
        add("EXISTS (SELECT 1 FROM labels l WHERE l.label = ? AND l.chat_id = c.id)", only.label)
    return " AND ".join(conditions), args


def _place(cursor: str) -> tuple[int, str]:
    match = _CURSOR.fullmatch(cursor)
    if match is None:
        raise InvalidInput("The cursor was not issued by this list.", field="cursor")
    return int(match[1]), match[2]


_CURSOR = re.compile(r"([0-9]{1,18})\.([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})", re.ASCII)


def _chats(ids: str, *args: Value) -> Query[tuple[Chat, ...]]:
    statements = tuple((sql % ids, args) for sql in (CHATS, USAGE_BELOW, WAITING, WAITS_FOR_CHILDREN))
    return Query(statements, lambda results: _assemble(*results))


def _assemble(rows: Rows, usage_below: Rows, waiting: Rows, on_children: Rows) -> tuple[Chat, ...]:
    below: dict[str, Usage] = {}
    for top, usage in usage_below:
        below[top] = below.get(top, _NO_USAGE) + usage_of(usage)
    asked: dict[str, list[ActionCall]] = {}
    for row in waiting:
        asked.setdefault(row[0], []).append(_action_call(row))
    parents = {row[0] for row in on_children}
    return tuple(_chat_of(row, below, asked, parents) for row in rows)


_NO_USAGE = Usage()


def _chat_of(
    row: Row, below: dict[str, Usage], asked: dict[str, list[ActionCall]], parents: set[str]
) -> Chat:
    state, settings = execution_of(row), settings_of(row, EXECUTION_WIDTH)
    leased, model, effort, ended, ended_at, children = row[EXECUTION_WIDTH + len(SETTINGS) :]
    calls = asked.get(state.id)
    # Its own usage last, so that what cannot be added up (how full the context is) is its own.
    usage = below[state.id] + state.usage if state.id in below else state.usage
    budget = settings.budget
    return Chat(
        id=state.id,
        title=settings.title,
        summary=settings.summary,
        status=state.status,
        waiting=_waiting(
            state.status,
            leased=bool(leased),
            on_children=state.id in parents,
            queue=row[_QUEUE_LENGTH],
        ),
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
        queue_length=row[_QUEUE_LENGTH],
        last_error=state.last_error,
        retry=state.retry,
        action=Action(calls=tuple(calls)) if calls else None,
        budget=None
        if budget is None
        else replace(budget, spent_tokens=usage.total, spent_usd_micros=usage.cost_usd_micros),
        usage=usage,
        created_at=state.created_at,
        updated_at=state.updated_at,
        last_turn=None if ended is None else LastTurn(outcome=ended, finished_at=from_micros(ended_at)),
        children=children,
        origin=state.origin,
        max_steps=settings.max_steps,
        provider_tools=settings.provider_tools,
        debug=settings.debug,
        web=settings.web,
        mode=state.mode,
        writes=state.writes,
    )


def _waiting(status: Status, *, leased: bool, on_children: bool, queue: int) -> Waiting | None:
    if status in ("running", "interrupting") and not leased:
        return "capacity"
    if status == "running" and on_children:
        return "children"
    return "held" if status == "idle" and queue else None


def _action_call(row: Row) -> ActionCall:
    """The input of a call is in the message that asked for it, unless a hook changed it."""
    asked = next(
        (part for part in parts_of(row[6]) if isinstance(part, ToolCall) and part.call_id == row[2]), None
    )
    return ActionCall(
        chat_id=row[1],
        call_id=row[2],
        kind=row[3],
        name=row[4],
        input=decode_json(row[7]) if row[7] is not None else None if asked is None else asked.input,
        deadline_at=moment(row[5]),
    )
