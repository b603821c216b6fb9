"""The terminal's mode while keys are read one by one; what it was before can always come back."""

import sys
import termios

# Pasted text comes in brackets, so that its line ends send nothing.
_PASTE_ON, _PASTE_OFF = "\x1b[?2004h", "\x1b[?2004l"


class RawMode:
    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._before = termios.tcgetattr(fd)

    def enter(self) -> None:
        mode = termios.tcgetattr(self._fd)
        # Output goes on as before: \n is still the beginning of the next line.
        mode[0] &= ~(termios.ICRNL | termios.IXON | termios.INLCR | termios.IGNCR)
        mode[3] &= ~(termios.ICANON | termios.ECHO | termios.ISIG | termios.IEXTEN)
        mode[6][termios.VMIN], mode[6][termios.VTIME] = 1, 0
        termios.tcsetattr(self._fd, termios.TCSADRAIN, mode)
        sys.stdout.write(_PASTE_ON)
        sys.stdout.flush()

    def leave(self) -> None:
        sys.stdout.write(_PASTE_OFF)
        sys.stdout.flush()
        termios.tcsetattr(self._fd, termios.TCSADRAIN, self._before)
