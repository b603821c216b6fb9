"""How much a feed reads and keeps, and how long it waits. Tests make all of it small."""

from dataclasses import dataclass

_KIB = 1024
_MIB = 1024 * _KIB


@dataclass(frozen=True, slots=True)
class PageSize:
    """Messages and the bytes of their parts; rows of each table that are spans."""

    messages: int
    bytes: int
    spans: int = 32


@dataclass(frozen=True, slots=True)
class FeedLimits:
    # What no hint told of is found after so long.
    poll_seconds: float = 2.0
    # Live parts that are missing are asked for so often.
    ask_seconds: float = 1.0
    asks: int = 3
    # Changes of one chat that a list tells as one.
    gather_seconds: float = 0.25
    # Read for those who come in, while the others wait; and by a watcher that missed more, for itself.
    door_page: PageSize = PageSize(messages=200, bytes=256 * _KIB)
    own_page: PageSize = PageSize(messages=500, bytes=512 * _KIB)
    # Calls, and lines, of a run that are read at once.
    run_page: int = 200
    # Live parts of an episode that are kept for who comes later.
    kept_bytes: int = _MIB
    # Who is so far behind is cut; before that, parts that wait are joined for who is slow.
    backlog_bytes: int = 4 * _MIB
    slow_bytes: int = 256 * _KIB
    # Sent at once, unless one event is larger; and how long sending it may take.
    batch_bytes: int = 64 * _KIB
    send_seconds: float = 30.0


LIMITS = FeedLimits()
