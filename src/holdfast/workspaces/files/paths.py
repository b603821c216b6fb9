"""Paths as a model or a caller writes them: text in, names below the workspace's root out, or a refusal that
says what to write instead. Pure: `file_root` checks what is really there."""

import re
from collections.abc import Iterable

from holdfast.core.errors import InvalidInput

Parts = tuple[str, ...]

# Linux's limits; depth is bounded because a walk holds a descriptor for every directory on its way.
PATH_BYTES = 4096
NAME_BYTES = 255
DEPTH = 200

RELATIVE = "Write it relative to the workspace, for example src/main.py."

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:/")
_VARIABLE = re.compile(r"\$(\{\w+\}|[A-Z_][A-Z0-9_]*)(/|$)|%\w+%")
_ENCODED = re.compile(r"%(2e|2f|5c|00)", re.IGNORECASE)
# Control characters and those that change the order or the shape of the text around them: never shown as they
# are.
_UNSHOWABLE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\U000e0000-\U000e007f\ud800-\udfff]"
)


def parse_path(path: str, roots: Iterable[str] = ()) -> Parts:
    """The names from the workspace's root down to what is meant; none: the root itself. `roots` are the
    spellings of the root that an absolute path may start with."""
    if trouble := _trouble(path):
        raise InvalidInput(f"{_quoted(path)} {trouble}")
    names: list[str] = []
    for name in _below(path, roots).split("/"):
        if name == "..":
            if not names:
                raise InvalidInput(f"{_quoted(path)} leads out of the workspace. {RELATIVE}")
            names.pop()
        elif name not in ("", "."):
            if len(name.encode()) > NAME_BYTES:
                raise InvalidInput(f"{_quoted(name)} is longer than the {NAME_BYTES} bytes a name may have.")
            names.append(name)
    if len(names) > DEPTH:
        raise InvalidInput(f"The path is nested deeper than {DEPTH} directories.")
    return tuple(names)


def join(parts: Iterable[str]) -> str:
    """How a path is written: `.` is the root."""
    return "/".join(parts) or "."


def shown(name: str) -> str:
    """A name that can be shown: what is not text, or would disturb the text around it, is escaped."""
    return _UNSHOWABLE.sub(_escaped, name)


def shown_path(parts: Iterable[str]) -> str:
    return shown(join(parts))


def _trouble(path: str) -> str | None:
    """What is wrong with the path, whatever the file system contains."""
    if any(ord(character) < 32 or 127 <= ord(character) < 160 for character in path):
        return "has a control character in it, and these tools refuse such names."
    try:
        size = len(path.encode())
    except UnicodeEncodeError:
        return "is not valid text. A name that is not UTF-8 can be listed but not be used here."
    if size > PATH_BYTES:
        return f"is longer than the {PATH_BYTES} bytes a path may have."
    if path.startswith("~"):
        return f"begins with ~, which is not expanded. {RELATIVE} (A name that really begins with ~: ./~name)"
    if _SCHEME.match(path):
        return f"is a URL or names a drive, not a path. {RELATIVE}"
    if _ENCODED.search(path):
        return "is percent-encoded, and that is not decoded. Write the characters themselves."
    if _VARIABLE.match(path):
        return f"begins with a variable, and variables are not expanded. {RELATIVE}"
    if "\\" in path:
        return "has a backslash in it. Separate directories with / and do not escape characters."
    return None


def _below(path: str, roots: Iterable[str]) -> str:
    if not path.startswith("/"):
        return path
    for root in roots:
        root = root.rstrip("/")
        if path == root or path.startswith(f"{root}/"):
            return path[len(root) :]
    raise InvalidInput(f"{_quoted(path)} is outside the workspace. {RELATIVE}")


def _quoted(path: str) -> str:
    text = shown(path)
    return f'"{text}"' if len(text) <= 200 else f'"{text[:150]}…"'


def _escaped(found: re.Match[str]) -> str:
    code = ord(found.group())
    if 0xDC80 <= code <= 0xDCFF:  # a byte that is not UTF-8, as `os.fsdecode` gives it
        return f"\\x{code - 0xDC00:02x}"
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
