"""How much a feed reads and keeps, and how long it waits. Tests make all of it small."""

from dataclasses import dataclass

_KIB = 1024
_MIB = 1024 * _KIB


@dataclass(frozen=True, slots=True)
class PageSize:
    """Messages and the bytes of their parts; rows per table that become spans."""

    messages: int
    bytes: int
    spans: int = 32


@dataclass(frozen=True, slots=True)
class FeedLimits:
    # After this long, changes without a hint are found.
    poll_seconds: float = 2.0
    # How often missing live parts are requested.
    ask_seconds: float = 1.0
    asks: int = 3
    # Changes of one chat within this time are reported as one.
    gather_seconds: float = 0.25
    # Read for joining watchers while the others wait; and by a watcher that missed more, for itself.
    door_page: PageSize = PageSize(messages=200, bytes=256 * _KIB)
    own_page: PageSize = PageSize(messages=500, bytes=512 * _KIB)
    # Calls, and lines, of a run that are read at once.
    run_page: int = 200
    # Live parts of an episode kept for watchers that join later.
    kept_bytes: int = _MIB
    # A watcher this far behind is cut; before that, waiting parts are joined for slow ones.
    backlog_bytes: int = 4 * _MIB
    slow_bytes: int = 256 * _KIB
    # How much is sent at once, unless one event is larger; and how long sending it may take.
    batch_bytes: int = 64 * _KIB
    send_seconds: float = 30.0


LIMITS = FeedLimits()
