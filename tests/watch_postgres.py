"""Runs one PostgreSQL server for exactly as long as the process that owns it lives.

Started by tests/postgres.py and then on its own: however the owner ends, SIGKILL included, the server is
stopped and its directory removed. While it lives it holds the lock on the directory's `alive` file; the file
`pid` names the server.
"""

import argparse
import ctypes
import fcntl
import os
import select
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
PATIENCE_SECONDS = 10


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--owner", type=int, required=True)
    parser.add_argument("--directory", type=Path, required=True)
    parser.add_argument("--user", type=int)
    parser.add_argument("--group", type=int)
    parser.add_argument("command", nargs="+")
    options = parser.parse_args()
    directory: Path = options.directory

    alive = (directory / "alive").open("w")
    fcntl.flock(alive, fcntl.LOCK_EX)
    # Nobody's child from here on: who started the server need not be who stops it. The lock is inherited, so
    # there is no moment at which the server looks dead before it was born.
    if os.fork() != 0:
        os._exit(0)
    _adopt_orphans()

    with (directory / "server.log").open("ab") as log:
        server = subprocess.Popen(
            options.command,
            cwd=directory,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            user=options.user,
            group=options.group,
            extra_groups=None if options.user is None else [],
            preexec_fn=_die_with_parent(),  # noqa: PLW1509  safe: there is no second thread yet
        )
    (directory / "pid").write_text(str(server.pid))

    def stop_server(_number: int, _frame: FrameType | None) -> None:
        server.send_signal(signal.SIGQUIT)

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, stop_server)
    abandoned = threading.Event()
    threading.Thread(target=_stop_without_owner, args=(options.owner, server, abandoned), daemon=True).start()
    server.wait()
    _wait_for_orphans()
    if abandoned.is_set():
        shutil.rmtree(directory, ignore_errors=True)


def _adopt_orphans() -> None:
    """A killed server's children become ours, so that our end means the end of them all (Linux only)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _wait_for_orphans() -> None:
    try:
        while True:
            os.waitpid(-1, 0)
    except ChildProcessError:
        return


def _die_with_parent() -> Callable[[], object] | None:
    """Should this process be killed nobody is left to stop the server, so the kernel must (Linux only)."""
    if sys.platform != "linux":
        return None
    prctl = ctypes.CDLL(None).prctl
    return lambda: prctl(PR_SET_PDEATHSIG, int(signal.SIGQUIT), 0, 0, 0)


def _stop_without_owner(owner: int, server: subprocess.Popen[bytes], abandoned: threading.Event) -> None:
    _wait_for_end(owner)
    abandoned.set()
    server.send_signal(signal.SIGQUIT)
    time.sleep(PATIENCE_SECONDS)
    server.kill()


def _wait_for_end(pid: int) -> None:
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    except (AttributeError, OSError):  # macOS has no such call, some kernels refuse it
        while _exists(pid):
            time.sleep(0.2)
    else:
        select.select([descriptor], [], [])


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


if __name__ == "__main__":
    main()
