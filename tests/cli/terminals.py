"""`holdfast` on a terminal of its own, as a person has it: typed keys in, a screen out."""

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.cli.emulator import Emulator
from tests.cli.running import HOLDFAST

PATIENCE_SECONDS = 60.0


class Terminal:
    def __init__(
        self,
        arguments: tuple[str, ...],
        environ: Mapping[str, str],
        columns: int,
        rows: int,
        program: str | Path = HOLDFAST,
    ) -> None:
        self._ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.screen = Emulator(columns, rows)
        self.raw = ""
        self.process = subprocess.Popen(
            [program, *arguments],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env={"PATH": os.environ["PATH"], "TERM": "xterm-256color", **environ},
            start_new_session=True,
            preexec_fn=_take_terminal,  # noqa: PLW1509 - there are no threads here
        )
        os.close(theirs)

    def type(self, text: str) -> None:
        os.write(self._ours, text.encode())

    def enter(self, text: str) -> None:
        """Lines within are begun with Alt-Enter."""
        self.type(text.replace("\n", "\x1b\r") + "\r")

    def wait_for(self, text: str) -> str:
        """Until the text is to be seen; the screen with all that scrolled away."""
        return self.wait_until(lambda shown: text in shown, f"{text!r}")

    def wait_until(self, condition: Callable[[str], bool], what: str = "it") -> str:
        ends = time.monotonic() + PATIENCE_SECONDS
        while not condition(self.screen.text):
            assert time.monotonic() < ends, f"waited for {what} and saw:\n{self.screen.text}"
            assert self._read(0.5), f"waited for {what}, it ended, and there was:\n{self.screen.text}"
        return self.screen.text

    @property
    def mode(self) -> list[object]:
        """How the terminal treats what is typed: editing, echo, signals."""
        return [termios.tcgetattr(self._ours)[at] for at in (0, 1, 3)]

    def resize(self, columns: int, rows: int) -> None:
        fcntl.ioctl(self._ours, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def exit_code(self) -> int:
        ends = time.monotonic() + PATIENCE_SECONDS
        while self._read(0.2) and time.monotonic() < ends:
            pass
        return self.process.wait(PATIENCE_SECONDS)

    def _read(self, seconds: float) -> bool:
        """What was written meanwhile. False: nobody will write any more."""
        ready, _, _ = select.select([self._ours], [], [], seconds)
        if not ready:
            return self.process.poll() is None
        try:
            data = os.read(self._ours, 65_536)
        except OSError:
            return False
        text = data.decode(errors="replace")
        self.raw += text
        self.screen.feed(text)
        return bool(data)

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        os.close(self._ours)


def _take_terminal() -> None:
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


@contextmanager
def terminal(
    *arguments: str,
    environ: Mapping[str, str],
    columns: int = 100,
    rows: int = 30,
    program: str | Path = HOLDFAST,
) -> Generator[Terminal]:
    opened = Terminal(arguments, environ, columns, rows, program)
    try:
        yield opened
    finally:
        opened.close()
