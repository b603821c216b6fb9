"""Looking for something that was typed before (Ctrl-R): every letter narrows the search. Pure."""

from dataclasses import dataclass, replace

from holdfast.cli.terminal.keys import Key, Press, Typed


@dataclass(frozen=True, slots=True)
class Search:
    """`back`: how many matches were passed over."""

    history: tuple[str, ...]
    query: str = ""
    back: int = 0

    @property
    def match(self) -> str:
        """The newest one that has the words, whatever their case; empty when none has."""
        found = self._matches()
        return found[min(self.back, len(found) - 1)] if found else ""

    def press(self, press: Press) -> "Search | None":
        """None: the key is not for the search, which is over."""
        match press:
            case Typed():
                return replace(self, query=self.query + press.text.replace("\n", " "), back=0)
            case Key("backspace"):
                return replace(self, query=self.query[:-1], back=0)
            case Key("search"):
                return replace(self, back=min(self.back + 1, max(len(self._matches()) - 1, 0)))
            case _:
                return None

    def _matches(self) -> list[str]:
        wanted = self.query.lower()
        found = (text for text in reversed(self.history) if wanted in text.lower())
        return list(dict.fromkeys(found)) if wanted else []
