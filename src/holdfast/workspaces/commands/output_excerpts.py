"""As much of an output as fits into an answer, as plain text: its beginning and its end with the omitted part
stated, or a piece from a given byte on."""

from pathlib import Path

from holdfast.core.shapes import Record
from holdfast.workspaces.commands.output_files import Piece, printed, read
from holdfast.workspaces.commands.plain_text import plain, whole_characters


class OutputExcerpt(Record, frozen=True, kw_only=True):
    text: str
    # Of the whole output so far.
    printed: int
    # The offset of the first omitted byte; None: nothing was omitted.
    left_out_from: int | None = None


def head_and_tail(limit: int, output: Path) -> OutputExcerpt:
    """At most `limit` bytes: a third from the beginning, the rest from the end, where errors usually are."""
    total = printed(output)
    if total <= limit:
        return OutputExcerpt(text=plain(read(output, 0, limit).data), printed=total)
    head = whole_characters(read(output, 0, limit // 3))
    rest = limit - limit // 3
    last = whole_characters(read(output, total - rest, rest))
    begin = head.start + len(head.data)
    named = f"\n[... {last.start - begin} bytes left out, from byte {begin} on ...]\n"
    return OutputExcerpt(
        text=f"{plain(head.data)}{named}{plain(last.data)}", printed=total, left_out_from=begin
    )


def tail(limit: int, output: Path) -> str:
    """Only its end."""
    total = printed(output)
    piece = read(output, max(0, total - limit), limit)
    return plain((whole_characters(piece) if total > limit else piece).data)


def stretch(start: int, limit: int, output: Path) -> OutputExcerpt:
    """What follows from byte `start` on. Bytes that were not kept are stated."""
    total = printed(output)
    piece = _cut(read(output, start, limit), total)
    end = piece.start + len(piece.data)
    missing = (
        f"[... bytes {start} to {piece.start} were not kept ...]\n"
        if piece.data and piece.start > start
        else ""
    )
    return OutputExcerpt(
        text=missing + plain(piece.data),
        printed=total,
        left_out_from=end if end < total and piece.data else None,
    )


def _cut(piece: Piece, total: int) -> Piece:
    """Cut at the last line end, so that the next piece starts with a line; a long line is cut anywhere."""
    end = piece.start + len(piece.data)
    if end >= total:
        return piece
    lines = piece.data.rfind(b"\n") + 1
    return Piece(start=piece.start, data=piece.data[:lines]) if lines else whole_characters(piece)
