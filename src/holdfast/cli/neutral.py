"""Text of models, tools and people as a terminal may show it. Nothing in it is an order to the terminal:
control characters are shown as pictures, marks that turn the reading direction as a replacement
character."""

from holdfast.core.text import REPLACEMENT, clean

_KEPT = {"\n", "\t"}
_PICTURES = {code: 0x2400 + code for code in range(0x20) if chr(code) not in _KEPT}
# C1: with UTF-8 some terminals take U+009B for the beginning of a command, as ESC [ is.
_EIGHT_BIT = dict.fromkeys(range(0x80, 0xA0), REPLACEMENT)
_DIRECTIONS = dict.fromkeys(
    [0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)], REPLACEMENT
)
_TABLE = _PICTURES | {0x7F: 0x2421} | _EIGHT_BIT | _DIRECTIONS


def neutral(text: str) -> str:
    return clean(text).replace("\r\n", "\n").translate(_TABLE)


def neutral_line(text: str, limit: int) -> str:
    """On one line of at most `limit` characters."""
    line = " ".join(neutral(text).split())
    return line if len(line) <= limit else line[: max(limit - 1, 0)].rstrip() + "…"
