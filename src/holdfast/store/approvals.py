"""What a person said of a tool for the whole chat, found on the calls it was said about."""

import msgspec

from holdfast.core.calls import Approval
from holdfast.core.ids import ChatId
from holdfast.store.query import Query, Rows, query

# How an approval for the whole chat is written; who gave it is looked at when it is read.
SAID = (
    "SELECT name, outcome, approval FROM calls WHERE chat_id = $1 "
    """AND approval LIKE '%"scope":"chat"%' ORDER BY message_id, position"""
)

_approval = msgspec.json.Decoder(Approval).decode


def said_for_chat(chat_id: ChatId) -> Query[dict[str, bool]]:
    """Whether each tool that somebody decided on is allowed; the newest word counts."""
    return query(SAID, chat_id, read=_verdicts)


def _verdicts(rows: Rows) -> dict[str, bool]:
    verdicts: dict[str, bool] = {}
    for name, outcome, written in rows:
        approval = _approval(written)
        if approval.by == "person" and approval.scope == "chat":
            verdicts[name] = outcome != "denied"
    return verdicts
