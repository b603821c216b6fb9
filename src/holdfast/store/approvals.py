"""What a person said of a tool for the whole chat, found on the calls it was said about; and what was taken
back of it. A word is named by its call."""

from collections.abc import Iterator, Sequence

import msgspec

from holdfast.core.calls import Approval, ApprovalRule, UserRule
from holdfast.core.ids import CallId, ChatId, UserId
from holdfast.store import user_rules
from holdfast.store.query import Query, Rows, any_row, joined, query

_FOR_CHAT = """c.chat_id = $1 AND c.approval LIKE '%"scope":"chat"%'"""
_NOT_REVOKED = (
    "NOT EXISTS (SELECT 1 FROM revoked_approvals r WHERE r.chat_id = c.chat_id AND r.call_id = c.call_id)"
)
# How an approval for the whole chat is written; who gave it is looked at when it is read.
SAID = (
    f"SELECT c.call_id, c.name, c.outcome, c.approval FROM calls c WHERE {_FOR_CHAT} AND {_NOT_REVOKED} "
    "ORDER BY c.message_id, c.position"
)
# With every earlier word on the same tool, which would count again otherwise.
REVOKE = (
    "INSERT INTO revoked_approvals (chat_id, call_id, revoked_by, revoked_at) "
    "SELECT c.chat_id, c.call_id, u.id, now_micros() FROM calls c JOIN users u ON u.id = $3 "
    f"WHERE {_FOR_CHAT} AND c.name = (SELECT n.name FROM calls n WHERE n.chat_id = $1 AND n.call_id = $2) "
    "ON CONFLICT DO NOTHING"
)
REVOKED = "SELECT 1 FROM revoked_approvals WHERE chat_id = $1 AND call_id = $2"

_approval = msgspec.json.Decoder(Approval).decode


def said_for_chat(chat_id: ChatId) -> Query[dict[str, bool]]:
    """Whether each tool that somebody decided on is allowed; the newest word counts."""
    return query(SAID, chat_id, read=lambda rows: {rule.tool: rule.allowed for rule in _rules(rows)})


def decided(chat_id: ChatId) -> Query[tuple[dict[str, bool], tuple[UserRule, ...]]]:
    """Everything that people decided for more than one call of this chat."""
    return joined(said_for_chat(chat_id), user_rules.for_chat(chat_id), read=lambda here, all_: (here, all_))


def rules(chat_id: ChatId) -> Query[tuple[ApprovalRule, ...]]:
    """What counts now, one for each tool, by when it was said."""

    def read(rows: Rows) -> tuple[ApprovalRule, ...]:
        newest = {rule.tool: rule for rule in _rules(rows)}
        return tuple(sorted(newest.values(), key=lambda rule: rule.at))

    return query(SAID, chat_id, read=read)


def revoke(chat_id: ChatId, rule_id: CallId, by: UserId) -> Query[bool]:
    """Whether it was there to be taken back."""

    def read(results: Sequence[Rows]) -> bool:
        return any_row(results[1])

    return Query(((REVOKE, (chat_id, rule_id, by)), (REVOKED, (chat_id, rule_id))), read)


def _rules(rows: Rows) -> Iterator[ApprovalRule]:
    for call_id, name, outcome, written in rows:
        approval = _approval(written)
        if approval.by == "person" and approval.scope == "chat":
            yield ApprovalRule(
                id=call_id,
                tool=name,
                allowed=outcome != "denied",
                user_id=approval.user_id,
                note=approval.note,
                at=approval.at,
            )
