"""Content of a workspace that would run or act, as people are asked about it: the exact text, and a hash over
it and over every file of the workspace that its commands and arguments name. Reading blocks: call it in a
thread."""

import hashlib
import os
import re
import shlex
import stat
from collections.abc import Iterable, Iterator

from holdfast.core.errors import HoldfastError, InvalidInput, NotFound
from holdfast.core.shapes import Record
from holdfast.workspaces.files.file_root import Root, Tree
from holdfast.workspaces.files.line_ranges import open_file, read_up_to
from holdfast.workspaces.files.paths import Parts, join

# Of a file that is shown whole; of one that is named, so much is hashed and the head of it is shown.
TEXT_BYTES = 256 * 1024
NAMED_BYTES = 64 * 1024 * 1024
SHOWN_CHARACTERS = 64 * 1024
MAX_NAMED = 100
_CHUNK = 1024 * 1024
# `-r./setup.js`, `-Ifile`: a flag of one letter with its value.
_SHORT_FLAG = re.compile(r"-[A-Za-z](.+)")


class _Unfit(Exception):
    """Why a file that is named cannot be hashed."""


class NamedFile(Record, frozen=True, kw_only=True):
    """A file of the workspace that a command or an argument names."""

    path: str
    hash: str
    # Empty for what is no text.
    text: str
    truncated: bool = False


class TrustItem(Record, frozen=True, kw_only=True):
    """`error`: why it cannot be trusted as it is."""

    kind: str
    path: str
    hash: str
    text: str
    files: tuple[NamedFile, ...] = ()
    error: str | None = None


def read_text(tree: Tree, parts: Parts, limit: int = TEXT_BYTES) -> str | None:
    """The text of a file of the workspace; None: there is no such file. InvalidInput says what is wrong with
    one that is there."""
    try:
        with tree.place(parts) as place:
            if place.stat() is None:
                return None
            with open_file(place, parts) as descriptor:
                data = read_up_to(descriptor, limit + 1)
    except (NotFound, OSError):
        return None
    if len(data) > limit:
        raise InvalidInput(f"{join(parts)} has more than {limit // 1024} KiB.")
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise InvalidInput(f"{join(parts)} is not UTF-8 text.") from None


def trust_item(root: Root, tree: Tree, kind: str, path: str, text: str, words: Iterable[str]) -> TrustItem:
    """`words` are the commands, arguments and values of the environment in it."""
    try:
        files = named_files(root, tree, words)
    except _Unfit as error:
        return TrustItem(kind=kind, path=path, hash=combined_hash(text, ()), text=text, error=str(error))
    return TrustItem(kind=kind, path=path, hash=combined_hash(text, files), text=text, files=files)


def gone_item(kind: str, path: str) -> TrustItem:
    """What stands for content that somebody trusted and that is not there any more."""
    text = "It is gone, or there is nothing in it any more."
    return TrustItem(kind=kind, path=path, hash=combined_hash(text, ()), text=text)


def combined_hash(text: str, files: Iterable[NamedFile]) -> str:
    """Of the text alone where no file is named, as `sha256sum` gives it."""
    digest = hashlib.sha256(text.encode())
    for file in files:
        digest.update(f"\0{file.path}\0{file.hash}".encode())
    return digest.hexdigest()


def named_files(root: Root, tree: Tree, words: Iterable[str]) -> tuple[NamedFile, ...]:
    found: dict[Parts, NamedFile] = {}
    for word in words:
        for name in _candidates(word):
            try:
                parts = root.parse(name)
            except InvalidInput:
                continue  # no path, or one that leads elsewhere
            if parts in found or not parts:
                continue
            if (file := _named(tree, parts)) is not None:
                found[parts] = file
            if len(found) > MAX_NAMED:
                raise _Unfit(f"More than {MAX_NAMED} files of the workspace are named.")
    return tuple(found[parts] for parts in sorted(found))


def _candidates(word: str) -> Iterator[str]:
    """What in a word may be the path of a file: itself, its words, what stands behind `=` or a flag, and the
    modules that `python -m` would run."""
    for piece in dict.fromkeys((word, *_split(word))):
        yield piece
        if "=" in piece:
            yield piece.rpartition("=")[2]
        if (flag := _SHORT_FLAG.fullmatch(piece)) is not None:
            yield flag[1]
        if re.fullmatch(r"\w+(\.\w+)*", piece):
            module = piece.replace(".", "/")
            yield from (f"{module}.py", f"{module}/__main__.py", f"{module}/__init__.py")


def _split(word: str) -> list[str]:
    try:
        return shlex.split(word)
    except ValueError:
        return word.split()


def _named(tree: Tree, parts: Parts) -> NamedFile | None:
    """None: it is no ordinary file, or not one that can be read here."""
    try:
        with tree.place(parts) as place:
            info = place.stat()
            if info is None or not stat.S_ISREG(info.st_mode):
                return None
            with open_file(place, parts) as descriptor:
                return _hashed(descriptor, parts)
    except (HoldfastError, OSError):
        return None


def _hashed(descriptor: int, parts: Parts) -> NamedFile:
    digest, head, size = hashlib.sha256(), b"", 0
    while piece := os.read(descriptor, _CHUNK):
        digest.update(piece)
        head = head or piece[: SHOWN_CHARACTERS + 1]
        size += len(piece)
        if size > NAMED_BYTES:
            raise _Unfit(f"{join(parts)} has more than {NAMED_BYTES // 2**20} MiB.")
    text = "" if b"\0" in head else head[:SHOWN_CHARACTERS].decode("utf-8", "replace")
    return NamedFile(
        path=join(parts), hash=digest.hexdigest(), text=text, truncated=bool(text) and size > SHOWN_CHARACTERS
    )
