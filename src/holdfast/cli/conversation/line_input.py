"""The line that a person types, with all that helps to type it: what was typed before, the search in it, and
completion. While something is asked, what was being typed is set aside."""

from holdfast.cli.remembered import Remembered
from holdfast.cli.terminal.completion import Offers, Wanted, offered, turned, wanted
from holdfast.cli.terminal.editor import Editor
from holdfast.cli.terminal.history_search import Search
from holdfast.cli.terminal.keys import Key, Press, Typed


class LineInput:
    """`problem` says, once, why what is typed is not remembered."""

    def __init__(self, remembered: Remembered) -> None:
        self.search: Search | None = None
        self.offers: Offers | None = None
        self.problem: str | None = None
        self._remembered = remembered
        self._set_aside: Editor | None = None
        try:
            self.editor = Editor(history=remembered.read())
        except OSError as error:
            self.editor = Editor()
            self._note(error)

    @property
    def text(self) -> str:
        return self.editor.text

    def press(self, press: Press) -> None:
        """Any key that changes the line."""
        self.offers = None
        self.editor = self.editor.press(press)

    def pressed_in_search(self, press: Press) -> bool:
        """Whether the search took the key. Any other key ends it and goes on with what was found."""
        if self.search is None:
            return False
        before, self.search = self.search, self.search.press(press)
        if self.search is not None:
            return True
        if press in (Key("cancel"), Key("interrupt")):
            return True
        if before.match:
            self.editor = self.editor.holding(before.match)
        return False

    def begin_search(self) -> None:
        self.offers, self.search = None, Search(self.editor.history)

    # --- completion ---

    def wanted(self) -> Wanted | None:
        return wanted(self.editor)

    def offer(self, place: Wanted, choices: list[str]) -> None:
        self.editor, self.offers = offered(self.editor, place, choices)

    def turn(self, step: int) -> bool:
        """Whether there is something to choose from."""
        if self.offers is None:
            return False
        self.editor, self.offers = turned(self.editor, self.offers, step)
        return True

    def indent(self) -> None:
        """Tab where nothing is before it on the line."""
        if not self.editor.text[: self.editor.cursor].rpartition("\n")[2].strip():
            self.press(Typed("\t"))

    # --- the whole line ---

    def take(self, *, remember: bool) -> str:
        """What was typed; the line is empty again."""
        text, self.offers = self.editor.text, None
        self.editor = self.editor.sent()
        if remember and text.strip():
            try:
                self._remembered.add(text.strip("\n"))
            except OSError as error:
                self._note(error)
        return text

    def give_back(self, text: str) -> bool:
        """Puts text back that could not be sent. False: something else is being typed."""
        if self._set_aside is not None and not self._set_aside.text:
            self._set_aside = self._set_aside.holding(text)
            return True
        if self._set_aside is not None or self.editor.text:
            return False
        self.editor = self.editor.holding(text)
        return True

    def set_aside(self) -> None:
        """What was being typed was not meant as an answer."""
        if self._set_aside is None:
            self._set_aside = self.editor
        self.editor, self.offers, self.search = Editor(), None, None

    def take_up(self) -> None:
        if self._set_aside is not None:
            self.editor, self._set_aside = self._set_aside, None

    @property
    def unsent(self) -> str:
        """What would be lost by leaving."""
        return (self.editor if self._set_aside is None else self._set_aside).text

    def _note(self, error: OSError) -> None:
        self.problem = f"Your input history cannot be saved ({error.strerror})."
