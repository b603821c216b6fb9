"""PostgreSQL's notifications on their way to a client: lost, duplicated, late and out of order. Reads just
enough of the wire protocol to know where a message ends."""

import struct
from random import Random
from typing import Literal

# pass: as they come.  lost: none arrives.  mixed: three times each, late, in the wrong order.
Manner = Literal["pass", "lost", "mixed"]

NOTIFICATION = b"A"
# What may answer a client's first question, whether it may encrypt; it is no message.
ONE_BYTE = (b"N", b"S")
HEAD_BYTES = 5
# Held back until so many wait, or nothing was held back for so many other messages.
MOST_HELD = 8


class Notifications:
    """Shared by all connections through one proxy; `manner` may change at any time."""

    def __init__(self, chance: Random) -> None:
        self.manner: Manner = "pass"
        self.seen = 0
        self._chance = chance

    def for_connection(self) -> "Filter":
        return Filter(self, self._chance)


class Filter:
    """The answers of one connection, in pieces as they come."""

    def __init__(self, shared: Notifications, chance: Random) -> None:
        self._shared = shared
        self._chance = chance
        self._pending = b""
        self._begun = False
        self._held: list[bytes] = []

    def __call__(self, data: bytes) -> bytes:
        self._pending += data
        passed: list[bytes] = []
        if not self._begun and self._pending:
            self._begun = True
            if self._pending[:1] in ONE_BYTE and len(self._pending) == 1:
                passed.append(self._take(1))
        while (message := self._message()) is not None:
            passed += self._changed(message) if message[:1] == NOTIFICATION else [message, *self._let_go()]
        return b"".join(passed)

    def _message(self) -> bytes | None:
        if len(self._pending) < HEAD_BYTES:
            return None
        length: int = struct.unpack_from("!I", self._pending, 1)[0] + 1
        return self._take(length) if len(self._pending) >= length else None

    def _take(self, length: int) -> bytes:
        taken, self._pending = self._pending[:length], self._pending[length:]
        return taken

    def _changed(self, notification: bytes) -> list[bytes]:
        self._shared.seen += 1
        match self._shared.manner:
            case "pass":
                return [notification]
            case "lost":
                return []
            case "mixed":
                self._held += [notification] * 3
                return self._let_go() if len(self._held) > MOST_HELD * 3 else []

    def _let_go(self) -> list[bytes]:
        """Some of what was held back; all of it when the manner has changed. Only between messages that
        belong to no question under way, which those before and after a notification do not."""
        if not self._held:
            return []
        if self._shared.manner != "mixed":
            held, self._held = self._held, []
            return held
        self._chance.shuffle(self._held)
        number = self._chance.randint(0, len(self._held))
        gone, self._held = self._held[:number], self._held[number:]
        return gone
