"""The line a person types: text, cursor, what was typed before. Pure: keys in, a new line out."""

import re
from dataclasses import dataclass, replace

from holdfast.cli.terminal.keys import Key, Press, Typed

_WORD = re.compile(r"\s*\S*")


@dataclass(frozen=True, slots=True)
class Editor:
    text: str = ""
    cursor: int = 0
    # What was sent before, the oldest first; and how far back one has gone (0: not at all).
    history: tuple[str, ...] = ()
    back: int = 0
    # What was being typed when one began to go back.
    draft: str = ""

    def press(self, press: Press) -> "Editor":
        match press:
            case Typed():
                text = self.text[: self.cursor] + press.text + self.text[self.cursor :]
                return self._with(text, self.cursor + len(press.text))
            case Key("newline"):
                return self.press(Typed("\n"))
            case Key("backspace"):
                return self._without(self.cursor - 1, self.cursor)
            case Key("delete"):
                return self._without(self.cursor, self.cursor + 1)
            case Key("cut_word"):
                return self._without(self._word_before(), self.cursor)
            case Key("cut_before"):
                return self._without(self._line_start(), self.cursor)
            case Key("cut_after"):
                return self._without(self.cursor, self._line_end())
            case Key("left"):
                return self._at(self.cursor - 1)
            case Key("right"):
                return self._at(self.cursor + 1)
            case Key("word_left"):
                return self._at(self._word_before())
            case Key("word_right"):
                return self._at(self._word_after())
            case Key("home"):
                return self._at(self._line_start())
            case Key("end"):
                return self._at(self._line_end())
            case Key("up"):
                return self._up()
            case Key("down"):
                return self._down()
            case _:
                return self

    def replaced(self, start: int, end: int, text: str) -> "Editor":
        """With other text at this place, and the cursor behind it."""
        return self._with(self.text[:start] + text + self.text[end:], start + len(text))

    def holding(self, text: str) -> "Editor":
        """With this text instead of what is there."""
        return self._with(text, len(text))

    def sent(self) -> "Editor":
        """Empty again, with what was typed remembered."""
        text = self.text.strip("\n")
        known = self.history[-1:] == (text,)
        return Editor(history=self.history if known or not text.strip() else (*self.history, text))

    def _with(self, text: str, cursor: int) -> "Editor":
        return replace(self, text=text, cursor=max(0, min(cursor, len(text))), back=0)

    def _at(self, cursor: int) -> "Editor":
        return replace(self, cursor=max(0, min(cursor, len(self.text))))

    def _without(self, start: int, end: int) -> "Editor":
        start = max(start, 0)
        return self._with(self.text[:start] + self.text[end:], start)

    def _line_start(self) -> int:
        return self.text.rfind("\n", 0, self.cursor) + 1

    def _line_end(self) -> int:
        end = self.text.find("\n", self.cursor)
        return len(self.text) if end < 0 else end

    def _word_before(self) -> int:
        before = self.text[: self.cursor].rstrip()
        return max(before.rfind(" "), before.rfind("\n")) + 1

    def _word_after(self) -> int:
        word = _WORD.match(self.text, self.cursor)
        return self.cursor if word is None else word.end()

    def _up(self) -> "Editor":
        """A line up, and from the first one back to what was sent before."""
        start = self._line_start()
        if start > 0:
            above = self.text.rfind("\n", 0, start - 1) + 1
            return self._at(min(above + self.cursor - start, start - 1))
        if self.back >= len(self.history):
            return self
        draft = self.text if self.back == 0 else self.draft
        text = self.history[-self.back - 1]
        return replace(self, text=text, cursor=len(text), back=self.back + 1, draft=draft)

    def _down(self) -> "Editor":
        end = self._line_end()
        if end < len(self.text):
            below = self.text.find("\n", end + 1)
            length = (len(self.text) if below < 0 else below) - end - 1
            return self._at(end + 1 + min(self.cursor - self._line_start(), length))
        if self.back == 0:
            return self
        text = self.draft if self.back == 1 else self.history[-self.back + 1]
        return replace(self, text=text, cursor=len(text), back=self.back - 1)
