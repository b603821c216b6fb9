"""Text of models, tools and people as a terminal may show it. Nothing in it is an order to the terminal:
control characters are shown as pictures; what turns, hides or imitates text is shown as its code."""

from holdfast.core.text import clean
from holdfast.core.visible import folded, visible

_KEPT = {"\n", "\t"}
_TABLE = {code: 0x2400 + code for code in range(0x20) if chr(code) not in _KEPT} | {0x7F: 0x2421}
# Parts of a picture that is typed: alone they look suspicious, together they are one sign.
_JOINING = frozenset("\u200c\u200d\ufe0e\ufe0f")


def neutral(text: str, *, strictly: bool = False) -> str:
    return visible(clean(text).replace("\r\n", "\n").translate(_TABLE), strictly=strictly)


def neutral_char(char: str) -> str:
    """One character that a person types."""
    return char if char in _JOINING else neutral(char)


def neutral_request(text: str) -> str:
    """What somebody is asked to let happen: nothing in it is out of sight behind empty lines or spaces."""
    return folded(neutral(text, strictly=True))


def neutral_line(text: str, limit: int) -> str:
    """On one line of at most `limit` characters."""
    line = " ".join(neutral(text).split())
    return line if len(line) <= limit else line[: max(limit - 1, 0)].rstrip() + "…"
