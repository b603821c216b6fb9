"""`holdfast` as chaos runs it: the same program, with a clock that can be set, a place at which it can be
frozen, and threads that can be refused. Files in the directory that CHAOS_ORDERS names say what happens."""

import os
import signal
import sys
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

from holdfast.cli.start import main
from holdfast.core.clock import SystemClock
from holdfast.worker.owned_chat import OwnedChat

# How many seconds the clock on the wall is wrong by.
CLOCK = "clock"
# While it is there, the next look at the lease is followed by a freeze.
FREEZE = "freeze"
# While it is there, no thread can be started.
NO_THREADS = "no-threads"
# How often a thread was refused: one line each.
REFUSED = "refused-threads"


def disturb(orders: Path) -> None:
    ready, start = OwnedChat.ready, threading.Thread.start

    def now(self: SystemClock) -> datetime:
        try:
            wrong = float((orders / CLOCK).read_text() or 0)
        except FileNotFoundError:
            wrong = 0.0
        return datetime.now(UTC) + timedelta(seconds=wrong)

    async def ready_and_frozen(self: OwnedChat) -> None:
        await ready(self)
        try:
            (orders / FREEZE).unlink()
        except FileNotFoundError:
            return
        os.kill(os.getpid(), signal.SIGSTOP)

    def start_or_not(self: threading.Thread) -> None:
        if (orders / NO_THREADS).exists():
            with (orders / REFUSED).open("a") as refused:
                refused.write(f"{self.name}\n")
            raise RuntimeError("can't start new thread")
        start(self)

    SystemClock.now = now
    threading.Thread.start = start_or_not
    OwnedChat.ready = ready_and_frozen


if __name__ == "__main__":
    disturb(Path(os.environ["CHAOS_ORDERS"]))
    sys.exit(main())
