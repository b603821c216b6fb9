"""Chats as they were stored before they had an origin: a handful of ids that may be missing."""

from holdfast.core.ids import CallId, ChatId, RunId
from holdfast.core.origins import PERSON, FromChat, FromRun

_ID = "019a0000-0000-7000-8000-00000000000"
TOP, CHILD, WITHOUT_CALL, AGENT, RUN = (f"{_ID}{n}" for n in range(5))

# id, parent_id, parent_call_id, run_id
OLD_CHATS: tuple[tuple[str, str | None, str | None, str | None], ...] = (
    (TOP, None, None, None),
    (CHILD, TOP, "call_1", None),
    (WITHOUT_CALL, TOP, None, None),
    (AGENT, None, None, RUN),
)
ORIGINS = [
    PERSON,
    FromChat(chat_id=ChatId(TOP), call_id=CallId("call_1")),
    FromChat(chat_id=ChatId(TOP)),
    FromRun(run_id=RunId(RUN)),
]

_PLAIN = [
    "depth",
    "created_at",
    "version",
    "history_version",
    "queue_version",
    "retry_version",
    "attempt",
    "lease_number",
    "turn",
    "turn_steps",
    "message_count",
    "queue_length",
    "spent_tokens",
    "spent_usd_micros",
    "updated_at",
    "active_at",
]


def old_chat(chat_id: str, parent_id: str | None, call_id: str | None, run_id: str | None) -> str:
    """A statement of both engines that inserts one, without its origin."""
    texts = {
        "id": chat_id,
        "owner_id": f"{_ID}9",
        "parent_id": parent_id,
        "parent_call_id": call_id,
        "root_id": TOP if parent_id else chat_id,
        "run_id": run_id,
        "status": "idle",
        "turn_kind": "message",
        "usage": "{}",
    }
    names = [*texts, *_PLAIN, "archived"]
    values = ["NULL" if text is None else f"'{text}'" for text in texts.values()]
    values += ["0"] * len(_PLAIN) + ["FALSE"]
    return f"INSERT INTO chats ({', '.join(names)}) VALUES ({', '.join(values)})"
