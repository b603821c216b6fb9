"""Users' rules on tools, for all their chats in one workspace. One rule per tool and subject: the newest
decision counts."""

from holdfast.core.calls import UserRule
from holdfast.core.clock import from_micros
from holdfast.core.ids import ChatId, RuleId, UserId
from holdfast.core.text import clean_deep
from holdfast.store.columns import columns, listed, micros, placeholders
from holdfast.store.query import Query, Row, at_most_one, each, query

RULE = columns("id user_id tool workspace_id host path allowed created_at")
_RULES = ", ".join(f"r.{name}" for name in RULE)
_SAME = "(user_id, tool, COALESCE(CAST(workspace_id AS text), ''), COALESCE(host, ''), COALESCE(path, ''))"

INSERT = (
    f"INSERT INTO approval_rules ({listed(RULE)}) VALUES ({placeholders(len(RULE))}) "
    f"ON CONFLICT {_SAME} DO UPDATE SET allowed = excluded.allowed, created_at = excluded.created_at"
)
# At most this many are read for every turn.
MOST = 500
FOR_CHAT = (
    f"SELECT {_RULES} FROM chats c JOIN settings s ON s.chat_id = c.id "
    "JOIN approval_rules r ON r.user_id = c.owner_id WHERE c.id = $1 AND "
    "COALESCE(CAST(r.workspace_id AS text), '') = COALESCE(CAST(s.workspace_id AS text), '') "
    f"ORDER BY r.id DESC LIMIT {MOST}"
)
PAGE = f"SELECT {listed(RULE)} FROM approval_rules WHERE user_id = $1 AND id > $2 ORDER BY id LIMIT $3"
ONE = f"SELECT {listed(RULE)} FROM approval_rules WHERE id = $1 AND user_id = $2"
DELETE = "DELETE FROM approval_rules WHERE id = $1 AND user_id = $2"

_FIRST = RuleId("00000000-0000-0000-0000-000000000000")


def add(new: UserRule) -> Query[None]:
    new = clean_deep(new)
    at = micros(new.created_at)
    row = (new.id, new.user_id, new.tool, new.workspace_id, new.host, new.path, new.allowed, at)
    return query(INSERT, *row, read=lambda _: None)


def for_chat(chat_id: ChatId) -> Query[tuple[UserRule, ...]]:
    """The rules of the chat's owner in the chat's workspace."""
    return query(FOR_CHAT, chat_id, read=each(_rule_of))


def page(user_id: UserId, *, after: RuleId | None = None, limit: int = 50) -> Query[tuple[UserRule, ...]]:
    return query(PAGE, user_id, after or _FIRST, limit, read=each(_rule_of))


def rule(rule_id: RuleId, user_id: UserId) -> Query[UserRule | None]:
    return query(ONE, rule_id, user_id, read=at_most_one(_rule_of))


def delete(rule_id: RuleId, user_id: UserId) -> Query[None]:
    return query(DELETE, rule_id, user_id, read=lambda _: None)


def _rule_of(row: Row) -> UserRule:
    rule_id, user_id, tool, workspace_id, host, path, allowed, created_at = row
    return UserRule(
        id=rule_id,
        user_id=user_id,
        tool=tool,
        workspace_id=workspace_id,
        host=host,
        path=path,
        allowed=bool(allowed),
        created_at=from_micros(created_at),
    )
