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
FlowRunId = NewType("FlowRunId", str)
WorkspaceId = NewType("WorkspaceId", str)
FileId = NewType("FileId", str)
TokenId = NewType("TokenId", str)
NamedAgentId = NewType("NamedAgentId", str)
AuditId = NewType("AuditId", str)
GrantId = NewType("GrantId", str)
RuleId = NewType("RuleId", str)
EditId = NewType("EditId", str)
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
        digits = (to_micros(now) // 1000 << 80 | self._randbits(80)).to_bytes(16, "big").hex()
        fresh = f"{digits[:8]}-{digits[8:12]}-7{digits[13:16]}-8{digits[17:20]}-{digits[20:]}"
        return fresh if after is None or fresh > after else _above(after, self._randbits(32))

    def token(self) -> str:
        return secrets.token_urlsafe(18)


def named_uuid7(moment: datetime, name: bytes) -> str:
    """The id that has this name, a digest, and no other: the same each time."""
    digits = (min(max(0, to_micros(moment) // 1000), 2**48 - 1) << 80).to_bytes(16, "big").hex()[:12]
    digits += name[:10].hex()
    return f"{digits[:8]}-{digits[8:12]}-7{digits[13:16]}-8{digits[17:20]}-{digits[20:]}"


def _above(text: str, distance: int) -> str:
    """The id that is so much, and one, greater. An id is 122 free bits (48 of milliseconds, 12 and 62 random)
    with those of its version and its variant put between."""
    value = int(text.replace("-", ""), 16)
    low = (1 << 62) - 1
    free = (value >> 80 << 74 | (value >> 64 & 0xFFF) << 62 | value & low) + 1 + distance
    digits = f"{free >> 74 << 80 | 7 << 76 | (free >> 62 & 0xFFF) << 64 | 2 << 62 | free & low:032x}"
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"
