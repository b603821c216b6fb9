"""A terminal, as far as our screen uses one: what a person would see after everything that was written.
Whatever it does not know fails the test, so that no escape sequence goes unnoticed."""

import re

_SEQUENCE = re.compile(r"\x1b\[(\??)([0-9;]*)([A-Za-z])")


class Emulator:
    """Lines that scrolled away stay in `lines`, above those of the screen."""

    def __init__(self, columns: int, rows: int) -> None:
        self.columns, self.rows = columns, rows
        self.lines: list[str] = [""]
        self.row, self.column = 0, 0
        self._begun = ""

    @property
    def text(self) -> str:
        return "\n".join(line.rstrip() for line in self.lines)

    @property
    def top(self) -> int:
        """The first line that is on the screen."""
        return max(len(self.lines) - self.rows, 0)

    def feed(self, text: str) -> None:
        text, self._begun = self._begun + text, ""
        at = 0
        while at < len(text):
            if text[at] != "\x1b":
                self._put(text[at])
                at += 1
            elif match := _SEQUENCE.match(text, at):
                self._obey(*match.groups())
                at = match.end()
            elif len(text) - at < 16 and re.fullmatch(r"\x1b(\[\??[0-9;]*)?", text[at:]):
                self._begun = text[at:]
                return
            else:
                raise AssertionError(f"an escape sequence that we never send: {text[at : at + 20]!r}")

    def _put(self, char: str) -> None:
        match char:
            case "\r":
                self.column = 0
            case "\n":
                self.row += 1
                self._make_line()
            case "\t":
                # The terminal itself echoes what is typed in the moment between two prompts.
                self.column = (self.column // 8 + 1) * 8
            case _:
                assert char.isprintable(), repr(char)
                if self.column >= self.columns:
                    self.column = 0
                    self.row += 1
                    self._make_line()
                line = self.lines[self.row].ljust(self.column)
                self.lines[self.row] = line[: self.column] + char + line[self.column + 1 :]
                self.column += 1

    def _make_line(self) -> None:
        while self.row >= len(self.lines):
            self.lines.append("")

    def _obey(self, private: str, numbers: str, letter: str) -> None:
        number = int(numbers or 1) if ";" not in numbers else 1
        match private, letter:
            case "", "A":
                assert self.row - number >= self.top, "the cursor went above the screen"
                self.row -= number
            case "", "C":
                self.column += number
            case "", "K":
                self.lines[self.row] = self.lines[self.row][: self.column]
            case "", "J" if numbers in ("", "0"):
                self.lines[self.row] = self.lines[self.row][: self.column]
                del self.lines[self.row + 1 :]
            case ("", "m") | ("?", "h" | "l"):
                pass
            case _:
                raise AssertionError(f"an escape sequence that we never send: {private}{numbers}{letter}")
