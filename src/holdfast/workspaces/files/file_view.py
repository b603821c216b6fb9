"""A file as a person reads it: its text with normalised line ends, cut where it is very long. Opened like the
file tools do, so nothing outside the root is reached and nothing blocks."""

import os

from holdfast.core.shapes import Record
from holdfast.workspaces.files.encoding import decode, printable
from holdfast.workspaces.files.file_root import Root, explained
from holdfast.workspaces.files.line_ranges import open_file, read_up_to
from holdfast.workspaces.files.paths import shown_path

VIEW_BYTES = 1024 * 1024


class FileView(Record, frozen=True, kw_only=True):
    """`path` is relative to the directory that the chat works in. A binary file has no text."""

    path: str
    text: str
    size: int
    truncated: bool
    binary: bool


def view_file(root: Root, path: str) -> FileView:
    """Raises InvalidInput and NotFound, with words for people."""
    parts = root.parse(path)
    with (
        root.open() as tree,
        tree.place(parts) as place,
        open_file(place, parts) as descriptor,
        explained(parts),
    ):
        size = os.fstat(descriptor).st_size
        data = read_up_to(descriptor, VIEW_BYTES + 1)
    truncated = len(data) > VIEW_BYTES
    text = decode(_whole_lines(data[:VIEW_BYTES]) if truncated else data)
    return FileView(
        path=shown_path(parts),
        text="" if text is None else printable(text.text).replace("\r\n", "\n"),
        size=max(size, len(data)),
        truncated=truncated,
        binary=text is None,
    )


def _whole_lines(data: bytes) -> bytes:
    """Without the line that was cut, unless it is the only one."""
    end = data.rfind(b"\n") + 1
    # In UTF-16 a line feed has two bytes, and only whole pairs are characters.
    end += end % 2 if data[:2] in (b"\xff\xfe", b"\xfe\xff") else 0
    return data[:end] if end > 0 else data
