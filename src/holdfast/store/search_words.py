"""What is searched: text as folded words, identical on both engines because neither engine's own notion of a
word is used. People's queries become words too, so there is nothing to escape."""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import cast

from holdfast.core.messages import Message
from holdfast.core.parts import Notice, Part, Reasoning, Source, Text, ToolCall, ToolResult
from holdfast.core.shapes import Json

# Only this much of each message is searched.
TEXT_LIMIT = 200_000
# Longer words are indexed by their beginning.
WORD_LIMIT = 64
SEARCHED_WORDS = 16

# Scripts written without spaces: every character is a word.
_SIGNS = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
_WORD = re.compile(rf"[{_SIGNS}]|[^\W_{_SIGNS}]+")


@dataclass(frozen=True, slots=True)
class Sought:
    """All `words` and, if there is one, any word that begins with `prefix`."""

    words: tuple[str, ...]
    prefix: str | None


def folded(text: str) -> Iterator[str]:
    """Words without case and accents, in order."""
    if not text.isascii():
        # Accents are separated from their letters and dropped; \W would split the word at them.
        text = unicodedata.normalize("NFKC", text.translate(_Bare()))
    for match in _WORD.finditer(text.casefold()):
        yield match.group()[:WORD_LIMIT]


class _Bare(dict[int, str]):
    """Each character without its combining marks. One at a time, because normalising a whole text sorts its
    marks in quadratic time: minutes for a message of nothing else."""

    def __missing__(self, sign: int) -> str:
        apart = unicodedata.normalize("NFKD", chr(sign))
        self[sign] = bare = "".join(c for c in apart if not unicodedata.combining(c))
        return bare


def words_of(texts: Iterable[str]) -> tuple[str, ...]:
    """Each word once, up to the limit."""
    found: dict[str, None] = {}
    left = TEXT_LIMIT
    for text in texts:
        if left <= 0:
            break
        found.update(dict.fromkeys(folded(text[:left])))
        left -= len(text)
    return tuple(found)


def sought(text: str) -> Sought | None:
    """A person's query; None: nothing to search for. A last word that is not followed by a space may be a
    prefix."""
    words = list(dict.fromkeys(folded(text[:1000])))[:SEARCHED_WORDS]
    if not words:
        return None
    last = words[-1]
    if len(last) < 2 or text[-1:].isspace():
        return Sought(tuple(words), None)
    return Sought(tuple(words[:-1]), last)


def words_of_message(message: Message) -> tuple[str, ...]:
    return words_of(text for part in message.parts for text in _texts(part))


def _texts(part: Part) -> Iterator[str]:
    match part:
        case Text(text=text) | Reasoning(text=text) | Notice(text=text):
            yield text
        case ToolCall(name=name, input=given):
            yield name
            yield from _strings(given)
        case ToolResult(output=output):
            yield from _strings(output)
        case Source(url=url, title=title):
            yield url
            yield title or ""
        case _:
            yield part.name


def _strings(value: Json) -> Iterator[str]:
    """Every key and scalar of a JSON value."""
    if isinstance(value, dict):
        for key, item in cast(dict[str, Json], value).items():
            yield key
            yield from _strings(item)
    elif isinstance(value, list):
        for item in cast(list[Json], value):
            yield from _strings(item)
    elif value is not None:
        yield str(value)


def matching_line(message: Message, wanted: Sought, limit: int = 160) -> str:
    """The line of a message with most of the words, cut around the first of them; empty if no line has
    any."""
    best, best_count = "", 0
    left = TEXT_LIMIT
    for text in (text for part in message.parts for text in _texts(part)):
        for line in text[: max(0, left)].splitlines():
            count = _count(line, wanted)
            if count > best_count:
                best, best_count = line, count
        left -= len(text)
    return _around(" ".join(best.split()), wanted, limit)


def _count(line: str, wanted: Sought) -> int:
    words = set(folded(line))
    found = sum(1 for word in wanted.words if word in words)
    return found + (wanted.prefix is not None and any(word.startswith(wanted.prefix) for word in words))


def _around(line: str, wanted: Sought, limit: int) -> str:
    if len(line) <= limit:
        return line
    low = line.casefold()
    sought_for = (*wanted.words, *(() if wanted.prefix is None else (wanted.prefix,)))
    at = min((place for word in sought_for if (place := low.find(word)) >= 0), default=0)
    start = max(0, min(at - limit // 4, len(line) - limit))
    return ("…" if start > 0 else "") + line[start : start + limit].strip() + "…"
