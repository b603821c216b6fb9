"""What a file is, judged by its content and never by what somebody claims; and a name that is safe wherever
it is shown, sent or stored."""

import codecs
import re
from collections.abc import Iterable
from urllib.parse import quote

from holdfast.core.text import one_line

PICTURES = ("image/png", "image/jpeg", "image/gif", "image/webp")
PDF = "application/pdf"
TEXT = "text/plain"
ACCEPTED = "png, jpeg, gif, webp, pdf or text (UTF-8)"
HEAD_BYTES = 16
NAME_CHARACTERS = 200

_SEPARATORS = re.compile(r"[/\\]")
# Controls, and characters that change the order of the text around them.
_UNSAFE = re.compile(r'[\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff"<>|:*?]')
# Names that Windows treats as devices.
_DEVICES = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)", re.IGNORECASE)


def type_by_head(head: bytes) -> str | None:
    """By the first bytes; None: they match no known kind."""
    if head.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if head.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if head.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "image/webp"
    if head.startswith(b"%PDF-"):
        return PDF
    return None


def is_text(pieces: Iterable[bytes]) -> bool:
    """UTF-8 without NUL. Escape sequences are text to a model, and harmless in a download."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        for piece in pieces:
            if b"\0" in piece:
                return False
            decoder.decode(piece)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True


def safe_name(name: str) -> str:
    """The last part of a path, without characters that are special anywhere; never empty, never a device."""
    last = _SEPARATORS.split(name)[-1]
    kept = one_line(_UNSAFE.sub("_", last), NAME_CHARACTERS).strip(" .")
    if not kept:
        return "file"
    return f"_{kept}" if _DEVICES.match(kept) else kept


def disposition(name: str) -> str:
    """The header that makes a browser save the file and never show it (RFC 6266)."""
    plain = re.sub(r"[^A-Za-z0-9 ._-]", "_", name)
    return f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe='')}"
