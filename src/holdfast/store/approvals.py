"""People's decisions on tools for a whole chat, stored on the calls they were made on, and the ones they
revoked. A decision is identified by its call."""

from collections.abc import Iterator, Sequence

import msgspec

from holdfast.core.calls import Approval, ApprovalRule, UserRule, said_key
from holdfast.core.ids import CallId, ChatId, UserId
from holdfast.store import user_rules
from holdfast.store.query import Query, Rows, any_row, joined, query

_FOR_CHAT = """c.chat_id = $1 AND c.approval LIKE '%"scope":"chat"%'"""
_NOT_REVOKED = (
    "NOT EXISTS (SELECT 1 FROM revoked_approvals r WHERE r.chat_id = c.chat_id AND r.call_id = c.call_id)"
)
# How an approval for the whole chat is stored; who gave it is checked when it is read.
SAID = (
    f"SELECT c.call_id, c.name, c.outcome, c.approval FROM calls c WHERE {_FOR_CHAT} AND {_NOT_REVOKED} "
    "ORDER BY c.message_id, c.position"
)
# Including every earlier decision on the same tool, which would become effective again otherwise.
REVOKE = (
    "INSERT INTO revoked_approvals (chat_id, call_id, revoked_by, revoked_at) "
    "SELECT c.chat_id, c.call_id, u.id, now_micros() FROM calls c JOIN users u ON u.id = $3 "
    f"WHERE {_FOR_CHAT} AND c.name = (SELECT n.name FROM calls n WHERE n.chat_id = $1 AND n.call_id = $2) "
    "ON CONFLICT DO NOTHING"
)
REVOKED = "SELECT 1 FROM revoked_approvals WHERE chat_id = $1 AND call_id = $2"

_approval = msgspec.json.Decoder(Approval).decode


def said_for_chat(chat_id: ChatId) -> Query[dict[str, bool]]:
    """Whether each tool that somebody decided on is allowed, by `said_key`; the newest decision counts."""
    return query(
        SAID,
        chat_id,
        read=lambda rows: {said_key(rule.tool, rule.host): rule.allowed for rule in _rules(rows)},
    )


def decided(chat_id: ChatId) -> Query[tuple[dict[str, bool], tuple[UserRule, ...]]]:
    """All decisions that apply to more than one call of this chat."""
    return joined(said_for_chat(chat_id), user_rules.for_chat(chat_id), read=lambda here, all_: (here, all_))


def rules(chat_id: ChatId) -> Query[tuple[ApprovalRule, ...]]:
    """The decisions in force, one per tool (of the web: per host), oldest first."""

    def read(rows: Rows) -> tuple[ApprovalRule, ...]:
        newest = {said_key(rule.tool, rule.host): rule for rule in _rules(rows)}
        return tuple(sorted(newest.values(), key=lambda rule: rule.at))

    return query(SAID, chat_id, read=read)


def revoke(chat_id: ChatId, rule_id: CallId, by: UserId) -> Query[bool]:
    """Whether there was such a decision to revoke."""

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
                host=approval.host,
                allowed=outcome != "denied",
                user_id=approval.user_id,
                note=approval.note,
                at=approval.at,
            )
