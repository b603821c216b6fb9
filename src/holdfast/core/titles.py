"""A chat's initial title: the first line of its first message, as plain text. Anything that looks like a
secret is left out, because titles appear in lists, notifications and file names."""

import re
import unicodedata

from holdfast.core.parts import File, Parts, Text
from holdfast.core.text import one_line

LONGEST = 80
# Only the beginning is looked at.
_SEEN = 4000
_FENCE = re.compile(r"\s*(```|~~~)")
_LEADING = re.compile(r"^(?:\s*(?:#{1,6}|>|[-*+]|\d{1,3}[.)])\s+)+")
_LINK = re.compile(r"!?\[([^\[\]]{0,200})\]\([^()\s]{0,500}\)")
_EMPHASIS = re.compile(r"(\*\*|__|~~|`)")
_BOLD = re.compile(r"\s*(?:\*\*|__)(.{1,200}?)(?:\*\*|__)")
# To the first full stop that a space or the end follows.
_SENTENCE = re.compile(r".{1,400}?[.!?。](?=\s|$)")
_SECRET_FIELD = re.compile(r"(?i)\b(token|secret|password|passwd|api_?key|authorization)(\s*[=:]\s*)\S+")
_SECRET_WORD = re.compile(r"(?:sk-|ghp_|gho_|xox[a-z]-|AKIA|eyJ)[A-Za-z0-9_.-]{12,}|\b[A-Za-z0-9_-]{40,}")


def first_title(parts: Parts) -> str:
    """The title from a chat's first message; empty if there is no text to take it from."""
    for part in parts:
        if isinstance(part, Text) and (title := title_of(part.text)):
            return title
    return next((one_line(part.name, LONGEST) for part in parts if isinstance(part, File)), "")


def title_of(text: str) -> str:
    """The first line with content."""
    for line in text[:_SEEN].splitlines():
        if _FENCE.match(line):
            continue
        if title := _cleaned(line):
            return title
    return ""


def reasoning_title(text: str) -> str | None:
    """What reasoning is about: its first line in bold, else its first sentence."""
    lines = [line for line in text[:_SEEN].splitlines() if line.strip()]
    if not lines:
        return None
    bold = _BOLD.match(lines[0])
    sentence = _SENTENCE.match(lines[0])
    line = bold[1] if bold else sentence[0] if sentence else lines[0]
    return _cleaned(line) or None


def _cleaned(line: str) -> str:
    line = "".join(sign if _is_shown(sign) else " " for sign in line)
    line = _EMPHASIS.sub("", _LINK.sub(r"\1", _LEADING.sub("", line)))
    line = _SECRET_WORD.sub("…", _SECRET_FIELD.sub(r"\1\2…", line))
    return one_line(line, LONGEST)


def _is_shown(sign: str) -> bool:
    """Drops characters that move or hide text."""
    return sign == "\N{ZERO WIDTH JOINER}" or unicodedata.category(sign) not in ("Cc", "Cf", "Co")
