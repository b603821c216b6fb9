"""Lines of files that match a pattern. Files are read in blocks, so that memory does not depend on their
size, and a block without a match costs one call of the engine."""

import os
import stat
from bisect import bisect_right
from collections.abc import Iterator
from typing import NamedTuple

from holdfast.workspaces.files.encoding import decode, encoding_of
from holdfast.workspaces.files.paths import shown
from holdfast.workspaces.search.re2_engine import Expression

_BLOCK = 1024 * 1024
# UTF-16 is converted to UTF-8 as a whole.
_WIDE_BYTES = 16 * 1024 * 1024
_LINE_BEFORE = 100
_LINE_CHARACTERS = 400


class MatchedLine(NamedTuple):
    number: int
    text: str
    # False: it is context of one that matches.
    matches: bool


def scan(descriptor: int, pattern: Expression, context: int) -> Iterator[MatchedLine]:
    """Ends at once for what is not text. Context does not reach from one block into the next."""
    info = os.fstat(descriptor)
    if not stat.S_ISREG(info.st_mode):
        return
    number = 1
    # One byte more than a small file has: one read then tells that it is complete.
    for block in _blocks(descriptor, min(info.st_size + 1, _BLOCK)):
        if b"\0" in block:
            return
        # `$` must match before CRLF too.
        block = block.replace(b"\r\n", b"\n")
        yield from _scan_block(block, pattern, context, number)
        number += block.count(b"\n")


def _blocks(descriptor: int, size: int) -> Iterator[bytes]:
    """Whole lines, but pieces of a line that is longer than a block."""
    block = os.read(descriptor, size)
    match encoding_of(block):
        case None:
            return
        case "utf-8":
            pass
        case _:
            yield from _wide(descriptor, block)
            return
    whole = 0 < len(block) < size
    block = block.removeprefix(b"\xef\xbb\xbf")
    while not whole and (piece := os.read(descriptor, _BLOCK)):
        end = block.rfind(b"\n") + 1
        if end or len(block) >= _BLOCK:
            yield block[: end or len(block)]
            block = block[end or len(block) :]
        block += piece
    yield block


def _wide(descriptor: int, block: bytes) -> Iterator[bytes]:
    while piece := os.read(descriptor, _BLOCK):
        block += piece
        if len(block) > _WIDE_BYTES:
            return
    if (text := decode(block)) is not None:
        yield text.text[1:].encode("utf-8", "replace")


def _scan_block(block: bytes, pattern: Expression, context: int, first: int) -> Iterator[MatchedLine]:
    found = pattern.find(block)
    if found is None:
        return
    starts = [0]
    at = block.find(b"\n")
    while at >= 0:
        starts.append(at + 1)
        at = block.find(b"\n", at + 1)
    count = len(starts) - (starts[-1] == len(block))
    shown_to = 0
    while found is not None:
        index = bisect_right(starts, found) - 1
        if index >= count:
            return  # an empty match behind the last line end
        for beside in range(max(shown_to, index - context), index):
            yield _line(block, starts, beside, first, None)
        yield _line(block, starts, index, first, found - starts[index])
        shown_to = index + 1
        found = pattern.find(block, starts[shown_to]) if shown_to < count else None
        upcoming = count if found is None else bisect_right(starts, found) - 1
        for beside in range(shown_to, min(index + 1 + context, upcoming, count)):
            yield _line(block, starts, beside, first, None)
            shown_to = beside + 1


def _line(block: bytes, starts: list[int], index: int, first: int, match: int | None) -> MatchedLine:
    end = starts[index + 1] - 1 if index + 1 < len(starts) else len(block)
    begin = starts[index]
    cut_before = max(0, (match or 0) - _LINE_BEFORE) if end - begin > _LINE_CHARACTERS else 0
    raw = block[begin + cut_before : min(end, begin + cut_before + 4 * _LINE_CHARACTERS)]
    # If a character was cut, the rest of it is not text.
    text = raw.decode("utf-8", "ignore" if cut_before else "replace")
    shortened = text[:_LINE_CHARACTERS]
    if len(shortened) < len(text) or begin + cut_before + len(raw) < end:
        shortened += "…"
    return MatchedLine(first + index, ("…" if cut_before else "") + _tabs_kept(shortened), match is not None)


def _tabs_kept(text: str) -> str:
    return "\t".join(shown(piece) for piece in text.split("\t"))
