"""Reading a range of lines of a file of any size: memory use does not depend on the file, and what is shown
fits into a prompt."""

import io
import os
import stat
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from hashlib import sha256

from holdfast.core.errors import InvalidInput
from holdfast.core.shapes import Record
from holdfast.workspaces.files.encoding import FileText, decode, encoding_of, line_ends, printable
from holdfast.workspaces.files.file_root import FilePlace, Tree, explained, kind_of
from holdfast.workspaces.files.paths import Parts, shown_path
from holdfast.workspaces.search.prompt_fit import SHOWN_CHARACTERS

# Files up to this size can be edited, and are compared by content.
WHOLE_BYTES = 4 * 1024 * 1024
# How far a line is looked for in a larger file.
SCAN_BYTES = 1024 * 1024 * 1024
_CHUNK = 1024 * 1024

Read = Callable[[int], bytes]


class FileExcerpt(Record, frozen=True, kw_only=True):
    """Lines of a file, as they are shown. `notes` say what a reader could not know from the text."""

    text: str
    notes: tuple[str, ...] = ()
    # Of the whole file, to notice changes.
    fingerprint: str


@contextmanager
def open_file(place: FilePlace, parts: Parts) -> Generator[int]:
    """An ordinary file for reading; anything else is refused at once, without blocking."""
    with explained(parts, lambda: place.near(parts)):
        info = os.stat(place.name, dir_fd=place.directory, follow_symlinks=False)
        _check_ordinary(info, parts)
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
        descriptor = os.open(place.name, flags, dir_fd=place.directory)
    try:
        # Checked again on what was opened: it may have been swapped in between.
        _check_ordinary(os.fstat(descriptor), parts)
        with explained(parts):
            place.check_open(os.fstat(descriptor))
        yield descriptor
    finally:
        os.close(descriptor)


def read_lines(tree: Tree, parts: Parts, first: int | None = None, last: int | None = None) -> FileExcerpt:
    start = 1 if first is None else first
    if start < 1 or (last is not None and last < start):
        raise InvalidInput("Lines are counted from 1, and end_line must not be before start_line.")
    with tree.place(parts) as place, open_file(place, parts) as descriptor, explained(parts):
        info = os.fstat(descriptor)
        data = read_up_to(descriptor, WHOLE_BYTES + 1)
        if len(data) <= WHOLE_BYTES:
            return _from_whole(data, parts, start, last)
        return _from_large(descriptor, info, data[:_CHUNK], parts, start, last)


def read_whole(place: FilePlace, parts: Parts) -> bytes:
    """All of a file that is small enough to be changed here."""
    with open_file(place, parts) as descriptor, explained(parts):
        data = read_up_to(descriptor, WHOLE_BYTES + 1)
    if len(data) > WHOLE_BYTES:
        raise InvalidInput(
            f"{shown_path(parts)} is larger than {WHOLE_BYTES // 2**20} MiB and cannot be edited here. "
            "Change it with a command (sed, a small script)."
        )
    return data


def text_of(data: bytes, parts: Parts) -> FileText:
    if (text := decode(data)) is None:
        raise _binary(parts, len(data))
    return text


def read_up_to(descriptor: int, size: int) -> bytes:
    pieces: list[bytes] = []
    while size > 0 and (piece := os.read(descriptor, min(size, _CHUNK))):
        pieces.append(piece)
        size -= len(piece)
    return b"".join(pieces)


def fingerprint_of(data: bytes) -> str:
    return sha256(data).hexdigest()


def fingerprint_of_large(info: os.stat_result) -> str:
    return f"{info.st_ino}:{info.st_size}:{info.st_mtime_ns}:{info.st_ctime_ns}"


def _check_ordinary(info: os.stat_result, parts: Parts) -> None:
    if stat.S_ISREG(info.st_mode):
        return
    advice = "Look into it with list." if stat.S_ISDIR(info.st_mode) else "Only ordinary files can be used."
    raise InvalidInput(f"{shown_path(parts)} is {kind_of(info.st_mode)}. {advice}")


def _binary(parts: Parts, size: int) -> InvalidInput:
    return InvalidInput(
        f"{shown_path(parts)} is a binary file of {size} bytes, not text. Look into it with a command "
        "(file, xxd, strings), or attach it."
    )


def _from_whole(data: bytes, parts: Parts, first: int, last: int | None) -> FileExcerpt:
    text = text_of(data, parts)
    plain = printable(text.text)
    notes = list(_oddities(text, plain))
    total = plain.count("\n") + (not plain.endswith("\n") and plain != "")
    if total == 0:
        notes.append("the file is empty")
    elif first > total:
        raise InvalidInput(f"{shown_path(parts)} has {total} lines; line {first} is not there.")
    source = io.BytesIO(plain.replace("\r\n", "\n").encode())
    shown = _shown(source.read, parts, first, last, f"of {total}")
    return FileExcerpt(text=shown[0], notes=(*shown[1], *notes), fingerprint=fingerprint_of(data))


def _from_large(
    descriptor: int, info: os.stat_result, head: bytes, parts: Parts, first: int, last: int | None
) -> FileExcerpt:
    if encoding_of(head) != "utf-8":
        raise _binary(parts, info.st_size)
    os.lseek(descriptor, 0, os.SEEK_SET)
    text, notes = _shown(
        lambda size: os.read(descriptor, size), parts, first, last, f"of a file of {info.st_size} bytes"
    )
    if "\0" in text:
        raise _binary(parts, info.st_size)
    return FileExcerpt(text=printable(text), notes=notes, fingerprint=fingerprint_of_large(info))


def _oddities(text: FileText, plain: str) -> Iterator[str]:
    if text.encoding != "utf-8":
        yield "the file is UTF-16; edit_files keeps that, write_file would write UTF-8"
    elif "\ufffd" in plain and "\ufffd" not in text.text:
        yield "some bytes are not UTF-8 and are shown as \ufffd"
    match line_ends(plain):
        case "crlf":
            yield "lines end with CRLF; edit_files keeps that"
        case "mixed":
            yield "some lines end with CRLF and some with LF"
        case "lf":
            pass


def _shown(read: Read, parts: Parts, first: int, last: int | None, of: str) -> tuple[str, tuple[str, ...]]:
    """The lines as far as they fit, and a note if that is not the whole file."""
    data = _from_line(read, parts, first)
    wanted = None if last is None else last - first + 1
    # A character has at most four bytes; one more line than is shown tells whether there is more.
    text = (data + _fill(read, 4 * SHOWN_CHARACTERS + 4 - len(data))).decode("utf-8", "replace")
    lines = text.split("\n")
    kept = lines if wanted is None else lines[:wanted]
    shown = "\n".join(kept) + ("\n" if len(kept) < len(lines) else "")
    if len(shown) <= SHOWN_CHARACTERS:
        if first == 1 and shown == text:
            return shown, ()
        end = first + shown.count("\n") - shown.endswith("\n")
        return shown, (f"lines {first} to {end} {of}",)
    return _cut(shown, first, of)


def _cut(text: str, first: int, of: str) -> tuple[str, tuple[str, ...]]:
    end = text.rfind("\n", 0, SHOWN_CHARACTERS) + 1
    if not end:
        note = (
            f"line {first} {of} is cut after {SHOWN_CHARACTERS} characters; find a place in it with grep, "
            f"read what follows it with start_line={first + 1}"
        )
        return text[:SHOWN_CHARACTERS], (note,)
    following = first + text.count("\n", 0, end)
    return text[:end], (f"lines {first} to {following - 1} {of}; read on with start_line={following}",)


def _from_line(read: Read, parts: Parts, first: int) -> bytes:
    """What was read from the beginning of a line on, after skipping everything before it."""
    line, scanned = 1, 0
    while piece := read(_CHUNK):
        ends = piece.count(b"\n")
        if line + ends >= first:
            rest = piece.split(b"\n", first - line)[-1]
            if rest or line + ends > first:
                return rest
        line += ends
        scanned += len(piece)
        if scanned > SCAN_BYTES:
            raise InvalidInput(
                f"Line {first} of {shown_path(parts)} is more than {SCAN_BYTES // 2**20} MiB away. Find the "
                "place with grep, or cut the file with a command (tail, sed)."
            )
    if line < first or first == line > 1:
        raise InvalidInput(f"{shown_path(parts)} ends before line {first}.")
    return b""


def _fill(read: Read, room: int) -> bytes:
    pieces: list[bytes] = []
    while room > 0 and (piece := read(room)):
        pieces.append(piece)
        room -= len(piece)
    return b"".join(pieces)
