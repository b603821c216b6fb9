"""A separate program for machines without a wall: runs one command, adopts the processes it leaves behind,
and ends them all when the command ends or the server dies. Uses only the standard library."""

import ctypes
import os
import signal
import sys
from contextlib import suppress

SET_PARENT_DEATH_SIGNAL = 1
SET_CHILD_SUBREAPER = 36


def main(command: list[str]) -> int:
    signal.signal(signal.SIGTERM, _leave)
    if sys.platform == "linux":
        libc = ctypes.CDLL(None)
        libc.prctl(SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        libc.prctl(SET_PARENT_DEATH_SIGNAL, signal.SIGTERM, 0, 0, 0)
    child = _start(command)
    try:
        while True:
            pid, status = os.wait()
            if pid == child:
                break
    finally:
        end_family(child)
    code = os.waitstatus_to_exitcode(status)
    return 128 - code if code < 0 else code


def _leave(number: int, _: object) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    sys.exit(128 + number)


def _start(command: list[str]) -> int:
    os.write(0, b"begun\n")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    child = os.fork()
    if child == 0:
        try:
            # Its own session: signals that the command sends to its group do not reach us.
            os.setsid()
            # Python ignores two of these, and a command expects none to be ignored.
            for number in (signal.SIGTERM, signal.SIGPIPE, signal.SIGXFSZ):
                signal.signal(number, signal.SIG_DFL)
            os.execv(command[0], command)  # noqa: S606
        finally:
            os._exit(127)
    return child


def end_family(child: int) -> None:
    """Kills until there is nothing to wait for. Processes forked meanwhile become ours and are found next."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(child, signal.SIGKILL)
    if sys.platform != "linux":
        return
    with suppress(ChildProcessError):
        while True:
            for pid in descendants(os.getpid()):
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL)
            os.wait()


def descendants(pid: int) -> list[int]:
    parents: dict[int, int] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            with suppress(OSError), open(f"/proc/{name}/stat", "rb") as file:
                parents[int(name)] = int(file.read().rpartition(b")")[2].split()[1])
    found = [pid]
    for known in found:
        found += [child for child, parent in parents.items() if parent == known]
    return found[1:]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
