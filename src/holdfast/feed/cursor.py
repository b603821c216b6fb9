"""Event ids. Each says exactly what a client that has seen the event holds, so that a returning client gets
what it missed, and nothing twice. They are checked, not secret: an altered id, or one of another chat, is
meaningless; a forged one can only hurt its sender."""

import re
from dataclasses import dataclass
from zlib import crc32

from holdfast.core.events import Episode
from holdfast.core.ids import ChatId, MessageId, UserId


@dataclass(frozen=True, slots=True)
class Position:
    """What a watcher has: every visible message up to `message_id`, minus what was removed up to `version`;
    the spans of all versions up to `spans`, where a `span` limits those of that last version; and the first
    `n` live parts of an episode."""

    version: int = 0
    message_id: MessageId | None = None
    spans: int = 0
    span: str = ""
    episode: Episode | None = None
    n: int = 0

    @property
    def spans_from(self) -> int:
        """The first version whose spans may be missing."""
        return self.spans if self.span else self.spans + 1


START = Position()


class Stem:
    """The ids of all events at one position, which differ only in the number of the live part: the cheap form
    for every part that streams."""

    __slots__ = ("_seed", "_text")

    def __init__(self, chat_id: ChatId, position: Position) -> None:
        episode = position.episode
        self._text = (
            f"1.{position.version}.{position.message_id or ''}.{position.spans}.{position.span}."
            f"{episode.history_version if episode else 0}.{episode.attempt if episode else 0}"
        )
        self._seed = _seed(chat_id, self._text)

    def id(self, n: int) -> str:
        return f"{self._text}.{n}.{crc32(b'%d' % n, self._seed):08x}"


def encode(chat_id: ChatId, position: Position) -> str:
    return Stem(chat_id, position).id(position.n)


def decode(chat_id: ChatId, cursor: str) -> Position | None:
    """None: it is not an id of this chat's feed."""
    match = _CURSOR.fullmatch(cursor)
    if match is None or crc32(match["n"].encode(), _seed(chat_id, match["text"])) != int(match["sum"], 16):
        return None
    attempt = int(match["attempt"])
    return Position(
        version=int(match["version"]),
        message_id=MessageId(match["message"]) if match["message"] else None,
        spans=int(match["spans"]),
        span=match["span"],
        episode=Episode(history_version=int(match["history"]), attempt=attempt) if attempt else None,
        n=int(match["n"]),
    )


def encode_list(owner_id: UserId, active_at: int, chat_id: str) -> str:
    """The id of an event of a chat list: everything up to this chat's last activity was sent."""
    text = f"1.{active_at}.{chat_id}"
    return f"{text}.{_seed(owner_id, text):08x}"


def decode_list(owner_id: UserId, cursor: str) -> tuple[int, str] | None:
    match = _LIST_CURSOR.fullmatch(cursor)
    if match is None or _seed(owner_id, match["text"]) != int(match["sum"], 16):
        return None
    return int(match["active"]), match["chat"]


def _seed(whose: str, text: str) -> int:
    return crc32(text.encode(), crc32(whose.encode()))


_NUMBER = "[0-9]{1,18}"
_UUID = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_CURSOR = re.compile(
    rf"(?P<text>1\.(?P<version>{_NUMBER})\.(?P<message>(?:{_UUID})?)\.(?P<spans>{_NUMBER})\."
    rf"(?P<span>[A-Za-z0-9_-]{{0,60}})\.(?P<history>{_NUMBER})\.(?P<attempt>{_NUMBER}))"
    rf"\.(?P<n>{_NUMBER})\.(?P<sum>[0-9a-f]{{8}})"
)
_LIST_CURSOR = re.compile(rf"(?P<text>1\.(?P<active>{_NUMBER})\.(?P<chat>{_UUID}))\.(?P<sum>[0-9a-f]{{8}})")
