"""How the indentation of a passage differs from that of the lines it stands for, if it differs in the same
way for all of them: something more in front, something less, or tabs for spaces. None in case of doubt."""

from collections.abc import Callable, Iterable

# A line with its indentation changed; None: this line cannot be changed that way.
Shift = Callable[[str], str | None]

_TAB_WIDTHS = (4, 2, 8, 3)


def shift_between(passage: list[str], there: list[str]) -> Shift | None:
    """What turns the passage's indentation into the one that is there."""
    pairs = [
        (_indent(mine), _indent(theirs)) for mine, theirs in zip(passage, there, strict=True) if mine.strip()
    ]
    if not pairs:
        return None
    mine, theirs = pairs[0]
    if theirs.endswith(mine) and all(b == theirs[: len(theirs) - len(mine)] + a for a, b in pairs):
        return _deeper(theirs[: len(theirs) - len(mine)])
    if mine.endswith(theirs) and all(a == mine[: len(mine) - len(theirs)] + b for a, b in pairs):
        return _shallower(mine[: len(mine) - len(theirs)])
    return _tabs(pairs)


def _tabs(pairs: Iterable[tuple[str, str]]) -> Shift | None:
    pairs = list(pairs)
    for width in _TAB_WIDTHS:
        spaces = " " * width
        if all(a == b.replace("\t", spaces) and b.strip("\t") == "" for a, b in pairs):
            return _to_tabs(spaces)
        if all(a.replace("\t", spaces) == b and a.strip("\t") == "" for a, b in pairs):
            return _to_spaces(spaces)
    return None


def _deeper(more: str) -> Shift:
    return lambda line: more + line if line.strip() else line


def _shallower(less: str) -> Shift:
    def shift(line: str) -> str | None:
        if not line.strip():
            return line
        return line[len(less) :] if line.startswith(less) else None

    return shift


def _to_tabs(spaces: str) -> Shift:
    def shift(line: str) -> str | None:
        indent = _indent(line)
        if not line.strip():
            return line
        if "\t" in indent or len(indent) % len(spaces):
            return None
        return indent.replace(spaces, "\t") + line[len(indent) :]

    return shift


def _to_spaces(spaces: str) -> Shift:
    def shift(line: str) -> str | None:
        indent = _indent(line)
        if not line.strip():
            return line
        if " " in indent:
            return None
        return indent.replace("\t", spaces) + line[len(indent) :]

    return shift


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip(" \t"))]
