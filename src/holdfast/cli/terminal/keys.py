"""What a terminal sends as keys: pieces of UTF-8 and escape sequences, cut anywhere."""

import codecs
from dataclasses import dataclass
from typing import Literal

Name = Literal[
    "enter", "newline", "backspace", "delete", "left", "right", "word_left", "word_right", "up", "down",
    "home", "end", "cut_before", "cut_after", "cut_word", "interrupt", "leave", "redraw", "suspend", "steer",
    "now", "tab", "back_tab", "search", "cancel", "output", "other",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Key:
    name: Name


@dataclass(frozen=True, slots=True)
class Typed:
    """Text to put in: typed, or pasted with its lines."""

    text: str


Press = Key | Typed

_CONTROL: dict[str, Name] = {
    "\x01": "home",
    "\x02": "left",
    "\x03": "interrupt",
    "\x04": "leave",
    "\x05": "end",
    "\x06": "right",
    "\x07": "cancel",
    "\x08": "backspace",
    "\t": "tab",
    # What programs that drive a terminal end their lines with.
    "\n": "enter",
    "\x0b": "cut_after",
    "\x0c": "redraw",
    "\r": "enter",
    "\x0e": "down",
    "\x0f": "output",
    "\x10": "up",
    "\x12": "search",
    "\x14": "steer",
    "\x15": "cut_before",
    "\x17": "cut_word",
    "\x18": "now",
    "\x1a": "suspend",
    "\x7f": "backspace",
}
# After ESC [ or ESC O.
_SEQUENCES: dict[str, Name] = {
    "A": "up",
    "B": "down",
    "C": "right",
    "D": "left",
    "F": "end",
    "Z": "back_tab",
    "H": "home",
    "1~": "home",
    "3~": "delete",
    "4~": "end",
    "7~": "home",
    "8~": "end",
    "1;3C": "word_right",
    "1;3D": "word_left",
    "1;5C": "word_right",
    "1;5D": "word_left",
    # Enter with Shift held down, from terminals that tell the two apart.
    "13;2u": "newline",
    "27;2;13~": "newline",
}
# After ESC alone: with Alt held down.
_ALT: dict[str, Name] = {
    "\r": "newline",
    "\n": "newline",
    "b": "word_left",
    "f": "word_right",
    "\x7f": "cut_word",
}
_PASTE_BEGINS, _PASTE_ENDS = "200~", "\x1b[201~"
_LONGEST_SEQUENCE = 32


class KeyReader:
    """Give it what was read; it keeps what is not whole yet."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._text = ""
        self._pasting = False

    def feed(self, data: bytes) -> list[Press]:
        self._text += self._decoder.decode(data)
        presses: list[Press] = []
        while self._text and (press := self._next()) is not None:
            presses.append(press)
        return presses

    def _next(self) -> Press | None:
        """None: what is there is only the beginning of something."""
        if self._pasting:
            return self._pasted()
        first = self._text[0]
        if first == "\x1b":
            return self._escape()
        if first in _CONTROL:
            return self._take(1, Key(_CONTROL[first]))
        if first < " ":
            return self._take(1, Key("other"))
        size = next(
            (at for at, char in enumerate(self._text) if char < " " or char == "\x7f"), len(self._text)
        )
        return self._take(size, Typed(self._text[:size]))

    def _escape(self) -> Press | None:
        if len(self._text) == 1:
            return None
        second = self._text[1]
        if second not in "[O":
            return self._take(2, Key(_ALT.get(second, "other")))
        for at, char in enumerate(self._text[2:_LONGEST_SEQUENCE], 2):
            if "@" <= char <= "~":
                return self._sequence(at + 1)
        return self._take(2, Key("other")) if len(self._text) >= _LONGEST_SEQUENCE else None

    def _sequence(self, size: int) -> Press | None:
        body = self._text[2:size]
        if body == _PASTE_BEGINS:
            self._text, self._pasting = self._text[size:], True
            return self._next() if self._text else None
        return self._take(size, Key(_SEQUENCES.get(body, "other")))

    def _pasted(self) -> Press | None:
        text, end, rest = self._text.partition(_PASTE_ENDS)
        if not end:
            return None
        self._text, self._pasting = rest, False
        return Typed(text.replace("\r\n", "\n").replace("\r", "\n"))

    def _take(self, size: int, press: Press) -> Press:
        self._text = self._text[size:]
        return press
