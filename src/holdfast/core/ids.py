"""Ids. UUIDv7 as lower-case strings, so that text order is time order; typed, so that one kind is never taken
for another. Within a chat ids rise strictly in commit order, whatever the clocks of the machines say: see
`after`."""

import re
import secrets
from datetime import datetime
from random import Random
from typing import NewType, Protocol

from holdfast.core.clock import to_micros

UserId = NewType("UserId", str)
ChatId = NewType("ChatId", str)
MessageId = NewType("MessageId", str)
QueueItemId = NewType("QueueItemId", str)
NoticeId = NewType("NoticeId", str)
StepId = NewType("StepId", str)
WorkerId = NewType("WorkerId", str)
RunId = NewType("RunId", str)
WorkspaceId = NewType("WorkspaceId", str)
FileId = NewType("FileId", str)
# Ours, unique within a chat, short enough for every provider.
CallId = NewType("CallId", str)

_UUID7 = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
_CALL_ID = re.compile(r"[A-Za-z0-9_-]{1,40}")


def is_uuid7(text: str) -> bool:
    return _UUID7.fullmatch(text) is not None


def is_call_id(text: str) -> bool:
    return _CALL_ID.fullmatch(text) is not None


class Ids(Protocol):
    """Where fresh ids and secrets come from; tests pass a counted one."""

    def uuid7(self, now: datetime, after: str | None = None) -> str: ...

    def token(self) -> str: ...


class RandomIds:
    """Ids need to be unique, not secret, so they take the quick generator; tokens take the operating
    system's."""

    def __init__(self) -> None:
        self._randbits = Random(secrets.randbits(128)).getrandbits

    def uuid7(self, now: datetime, after: str | None = None) -> str:
        """A fresh id for this moment; with `after`, one that is greater than it even if the clock went
        back."""
        payload = (to_micros(now) // 1000) << 74 | self._randbits(74)
        if after is not None:
            payload = max(payload, _payload(after) + 1 + self._randbits(32))
        return _format(payload)

    def token(self) -> str:
        return secrets.token_urlsafe(18)


# An id is 122 free bits (48 of milliseconds, 74 random) with the version and variant bits put between.
def _format(payload: int) -> str:
    value = payload >> 74 << 80 | 7 << 76 | (payload >> 62 & 0xFFF) << 64 | 2 << 62 | payload & (1 << 62) - 1
    digits = f"{value:032x}"
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def _payload(text: str) -> int:
    value = int(text.replace("-", ""), 16)
    return value >> 80 << 74 | (value >> 64 & 0xFFF) << 62 | value & (1 << 62) - 1
