"""Bytes of a file as text and back, exactly: what is not changed in the text is not changed in the file.
UTF-8 (invalid bytes are preserved) and UTF-16 with a byte order mark are text, everything with a NUL is
not."""

from typing import Literal

from holdfast.core.shapes import Record

Encoding = Literal["utf-8", "utf-16-le", "utf-16-be"]
MARK = "\ufeff"


class FileText(Record, frozen=True, kw_only=True):
    """`text` starts with the byte order mark if the file does, and keeps its line ends."""

    text: str
    encoding: Encoding = "utf-8"


def decode(data: bytes) -> FileText | None:
    """None: this is not text."""
    encoding = encoding_of(data)
    if encoding is None:
        return None
    text = data.decode(encoding, _errors(encoding))
    return FileText(text=text, encoding=encoding) if encode(text, encoding) == data else None


def encode(text: str, encoding: Encoding) -> bytes:
    return text.encode(encoding, _errors(encoding))


def encoding_of(data: bytes) -> Encoding | None:
    """Judged by the data given: the whole file, or its beginning."""
    if data.startswith(b"\xff\xfe") and not data.startswith(b"\xff\xfe\0\0"):
        return "utf-16-le"
    if data.startswith(b"\xfe\xff"):
        return "utf-16-be"
    return None if b"\0" in data else "utf-8"


def printable(text: str) -> str:
    """The text without its mark, invalid bytes as U+FFFD."""
    text = text.removeprefix(MARK)
    return text if text.isascii() else text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def line_ends(text: str) -> Literal["lf", "crlf", "mixed"]:
    """`lf` also for a text without any."""
    pairs = text.count("\r\n")
    if not pairs:
        return "lf"
    return "crlf" if pairs == text.count("\n") else "mixed"


def _errors(encoding: Encoding) -> str:
    return "surrogateescape" if encoding == "utf-8" else "surrogatepass"
