"""Events for bus tests, short to write."""

from holdfast.core.chats import Status
from holdfast.core.events import Episode, Hint, LiveParts
from holdfast.core.ids import ChatId, UserId
from holdfast.core.parts import Text

CHAT = ChatId("0190a000-0000-7000-8000-000000000001")
OTHER = ChatId("0190a000-0000-7000-8000-000000000002")
OWNER = UserId("0190a000-0000-7000-8000-00000000000a")
STRANGER = UserId("0190a000-0000-7000-8000-00000000000b")
EPISODE = Episode(history_version=3, attempt=1)


def hint(
    version: int,
    chat_id: ChatId = CHAT,
    owner_id: UserId = OWNER,
    *,
    status: Status | None = "running",
    wanted: bool = False,
    delivery: bool = False,
) -> Hint:
    return Hint(
        chat_id=chat_id,
        owner_id=owner_id,
        version=version,
        history_version=version,
        status=status,
        wanted=wanted,
        delivery=delivery,
    )


def parts(first: int, *texts: str, chat_id: ChatId = CHAT, episode: Episode = EPISODE) -> LiveParts:
    return LiveParts(
        chat_id=chat_id,
        episode=episode,
        first=first,
        role="assistant",
        parts=tuple(Text(text=text) for text in texts),
    )


def chat(number: int) -> ChatId:
    return ChatId(f"0190a000-0000-7000-8000-{number:012x}")
