"""Named agents: found by those who may use them (their owner; everybody once published), changed only by
their owner."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec

from holdfast.core.accounts import NamedAgent
from holdfast.core.clock import from_micros
from holdfast.core.errors import Bug, NotFound, WrongState
from holdfast.core.ids import ChatId, NamedAgentId, UserId, WorkspaceId
from holdfast.core.text import clean_deep
from holdfast.store.columns import Written, columns, listed, micros, placeholders, text
from holdfast.store.query import Query, Row, Rows, at_most_one, each, query

AGENT = columns(
    "id owner_id name description model effort tools published created_at updated_at instructions "
    "workspace_id path digest mode writes"
)
_CHOSEN = columns("name description model effort tools published updated_at instructions mode writes")

_SELECT = f"SELECT {listed(AGENT)} FROM named_agents"
ONE = f"{_SELECT} WHERE id = $1"
USABLE = f"{_SELECT} WHERE id = $1 AND (owner_id = $2 OR published)"
# One's own before somebody else's of the same name, then the oldest.
NAMED = (
    f"{_SELECT} WHERE name = $1 AND workspace_id IS NULL AND (owner_id = $2 OR published) "
    "ORDER BY CASE WHEN owner_id = $2 THEN 0 ELSE 1 END, id LIMIT 1"
)
# For the chat c with the settings s.
_ITS = "CAST(a.id AS text) = s.agent AND (a.owner_id = c.owner_id OR a.published)"
OF_CHAT = (
    f"SELECT {listed(AGENT, 'a')} FROM settings s JOIN chats c ON c.id = s.chat_id "
    f"JOIN named_agents a ON {_ITS} WHERE s.chat_id = $1"
)
# What the next turn of this chat uses by default: its own setting, else that of its named agent. Most chats
# have none, which costs nothing.
_USED = (
    "coalesce(s.{0}, CASE WHEN s.agent IS NOT NULL THEN "
    f"(SELECT a.{{0}} FROM named_agents a WHERE {_ITS}) END)"
)
MODEL_USED, EFFORT_USED = _USED.format("model"), _USED.format("effort")
PAGE = (
    f"{_SELECT} WHERE workspace_id IS NULL AND (owner_id = $1 OR published) AND id > $2 ORDER BY id LIMIT $3"
)
OF_WORKSPACE = f"{_SELECT} WHERE workspace_id = $1 AND owner_id = $2 ORDER BY id LIMIT 1000"
_SAME = "(owner_id, COALESCE(CAST(workspace_id AS text), ''), name)"
# Replaces what was trusted before under this name; running chats use it from their next turn.
TRUST = (
    f"INSERT INTO named_agents ({listed(AGENT)}) VALUES ({placeholders(len(AGENT))}) ON CONFLICT {_SAME} "
    "DO UPDATE SET description = excluded.description, model = excluded.model, tools = excluded.tools, "
    "updated_at = excluded.updated_at, instructions = excluded.instructions, path = excluded.path, "
    "digest = excluded.digest"
)
TRUSTED = f"{_SELECT} WHERE workspace_id = $1 AND owner_id = $2 AND name = $3"
INSERT = (
    f"INSERT INTO named_agents ({listed(AGENT)}) VALUES ({placeholders(len(AGENT))}) ON CONFLICT DO NOTHING"
)
# Only changed columns are written, so that somebody else's concurrent changes stay.
UPDATE = (
    "UPDATE named_agents SET %s WHERE id = $1 AND owner_id = $2 AND NOT EXISTS "
    "(SELECT 1 FROM named_agents o WHERE o.owner_id = $2 AND o.workspace_id IS NULL AND o.name = $3 "
    "AND o.id <> $1) "
    f"RETURNING {listed(AGENT)}"
)
TAKEN = "SELECT 1 FROM named_agents WHERE owner_id = $1 AND workspace_id IS NULL AND name = $2 AND id <> $3"
DELETE = "DELETE FROM named_agents WHERE id = $1 AND owner_id = $2"
# Of an agent of a workspace: nobody has decided on its file any more.
UNDECIDE = (
    "DELETE FROM trust_decisions WHERE kind = 'agent' AND user_id = $2 AND EXISTS "
    "(SELECT 1 FROM named_agents a WHERE a.id = $1 AND a.owner_id = $2 "
    "AND a.workspace_id = trust_decisions.workspace_id AND a.path = trust_decisions.path)"
)
DISTRUST = "DELETE FROM named_agents WHERE workspace_id = $1 AND owner_id = $2 AND path = $3"

_FIRST = NamedAgentId("00000000-0000-0000-0000-000000000000")


def agent(agent_id: NamedAgentId, user_id: UserId | None) -> Query[NamedAgent | None]:
    """If this user may use it. None: whoever owns it."""
    if user_id is None:
        return query(ONE, agent_id, read=at_most_one(agent_of))
    return query(USABLE, agent_id, user_id, read=at_most_one(agent_of))


def named(name: str, user_id: UserId) -> Query[NamedAgent | None]:
    """The agent that this user means by a name."""
    return query(NAMED, name, user_id, read=at_most_one(agent_of))


def of_chat(chat_id: ChatId) -> Query[NamedAgent | None]:
    """The agent that a chat was started as, if its owner may still use it."""
    return query(OF_CHAT, chat_id, read=at_most_one(agent_of))


def page(
    user_id: UserId, *, after: NamedAgentId | None = None, limit: int = 50
) -> Query[tuple[NamedAgent, ...]]:
    """One's own and all published ones."""
    return query(PAGE, user_id, after or _FIRST, limit, read=each(agent_of))


def create(new: NamedAgent) -> Query[NamedAgent]:
    """Raises WrongState if the owner already has one of this name."""
    new = clean_deep(new)

    def read(results: Sequence[Rows]) -> NamedAgent:
        if not results[1]:
            raise _taken(new.name)
        return agent_of(results[1][0])

    return Query(((INSERT, _written(AGENT, new)), (ONE, (new.id,))), read)


def change(
    agent_id: NamedAgentId, owner_id: UserId, changes: Mapping[str, Any], now: datetime
) -> Query[NamedAgent]:
    """Omitted fields stay as they are. Raises NotFound, also if it belongs to somebody else, and WrongState
    if the owner has another one of this name."""
    # The name is the statement's first argument; an unchanged name cannot collide.
    changed: dict[str, Any] = {**clean_deep(dict(changes)), "updated_at": micros(now)}
    name = changed.pop("name", None)
    if "tools" in changed:
        changed["tools"] = text(changed["tools"])
    if unknown := changed.keys() - set(_CHOSEN):
        raise Bug(f"an agent has no {', '.join(sorted(unknown))}")
    choices = ["name = coalesce($3, name)", *(f"{column} = ${n}" for n, column in enumerate(changed, 4))]

    def read(results: Sequence[Rows]) -> NamedAgent:
        if results[1]:
            raise _taken(name)
        if not results[0]:
            raise NotFound("There is no such agent.")
        return agent_of(results[0][0])

    update = (UPDATE % ", ".join(choices), (agent_id, owner_id, name, *changed.values()))
    return Query((update, (TAKEN, (owner_id, name, agent_id))), read)


def delete(agent_id: NamedAgentId, owner_id: UserId) -> Query[None]:
    """Chats that were started as it keep what they took from it. Deleting one that does not exist is not an
    error."""
    args = (agent_id, owner_id)
    return Query(((UNDECIDE, args), (DELETE, args)), lambda _: None)


def of_workspace(workspace_id: WorkspaceId, owner_id: UserId) -> Query[tuple[NamedAgent, ...]]:
    """Agents that this user trusted in that workspace."""
    return query(OF_WORKSPACE, workspace_id, owner_id, read=each(agent_of))


def trusted(workspace_id: WorkspaceId, owner_id: UserId, name: str) -> Query[NamedAgent | None]:
    return query(TRUSTED, workspace_id, owner_id, name, read=at_most_one(agent_of))


def trust(new: NamedAgent) -> Query[NamedAgent]:
    """The user trusts this agent of a workspace, in its current form."""
    new = clean_deep(new)
    key = (new.workspace_id, new.owner_id, new.name)
    return Query(((TRUST, _written(AGENT, new)), (TRUSTED, key)), lambda results: agent_of(results[1][0]))


def distrust(workspace_id: WorkspaceId, owner_id: UserId, path: str) -> Query[None]:
    """What this file of the workspace says counts no longer."""
    return query(DISTRUST, workspace_id, owner_id, path, read=lambda _: None)


def _taken(name: str) -> WrongState:
    return WrongState(f"You already have an agent named {name}.")


def agent_of(row: Row) -> NamedAgent:
    fields: dict[str, Any] = dict(zip(AGENT, row, strict=True))
    tools = fields["tools"]
    fields["tools"] = None if tools is None else msgspec.json.decode(tools, type=tuple[str, ...])
    fields["published"] = bool(fields["published"])
    fields["created_at"] = from_micros(fields["created_at"])
    fields["updated_at"] = from_micros(fields["updated_at"])
    return NamedAgent(**fields)


def _written(names: Sequence[str], agent: NamedAgent) -> Written:
    fields: dict[str, Any] = msgspec.structs.asdict(agent)
    fields["tools"] = text(agent.tools)
    fields["created_at"] = micros(agent.created_at)
    fields["updated_at"] = micros(agent.updated_at)
    return tuple(fields[name] for name in names)
