"""Reasoning that a model writes into its text, between `<think>` and `</think>` at the beginning. The tags
may come in pieces; text that might start one is held back until that is known."""

from typing import Literal

Kind = Literal["text", "reasoning"]
Piece = tuple[Kind, str]

_TAGS = {
    "<think>": "</think>",
    "<thinking>": "</thinking>",
    "<thought>": "</thought>",
    "[THINK]": "[/THINK]",
}


class ThinkTags:
    """`decided`: nothing more will be taken for reasoning, the rest is text as it is."""

    def __init__(self) -> None:
        self.decided = False
        self._held = ""
        self._closing: str | None = None
        self._thought = False

    def feed(self, text: str) -> list[Piece]:
        if self.decided:
            return [("text", text)]
        if self._thought:
            # The lines between the closing tag and the answer are not part of it.
            text = text.lstrip("\n")
            self.decided = bool(text)
            return _piece("text", text)
        self._held += text
        return self._begin() if self._closing is None else self._think()

    def end(self) -> list[Piece]:
        """What was kept back, when nothing more comes."""
        held, self._held, self.decided = self._held, "", True
        return [("text" if self._closing is None else "reasoning", held)] if held else []

    def _begin(self) -> list[Piece]:
        start = self._held.lstrip()
        for opening, closing in _TAGS.items():
            if start.startswith(opening):
                self._closing, self._held = closing, start.removeprefix(opening)
                return self._think()
        if any(opening.startswith(start) for opening in _TAGS):
            return []
        return self.end()

    def _think(self) -> list[Piece]:
        assert self._closing is not None
        thought, closing, rest = self._held.partition(self._closing)
        if closing:
            self._held, self._closing, self._thought = "", None, True
            return [*_piece("reasoning", thought), *self.feed(rest)]
        kept = _beginning_of(self._closing, thought)
        self._held = thought[len(thought) - kept :]
        return _piece("reasoning", thought[: len(thought) - kept])


def _piece(kind: Kind, text: str) -> list[Piece]:
    return [(kind, text)] if text else []


def _beginning_of(tag: str, text: str) -> int:
    """How many of the last characters may be the beginning of the tag."""
    return next((size for size in range(len(tag) - 1, 0, -1) if text.endswith(tag[:size])), 0)
