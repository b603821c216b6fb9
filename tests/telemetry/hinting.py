"""Hints of one chat, as commits give them."""

from holdfast.core.events import Hint
from holdfast.core.ids import ChatId, UserId


def hint_of(version: int, *, ended: tuple[int, ...] = ()) -> Hint:
    return Hint(
        chat_id=ChatId("chat"),
        owner_id=UserId("u"),
        version=version,
        history_version=version,
        status="idle",
        ended=ended,
    )
