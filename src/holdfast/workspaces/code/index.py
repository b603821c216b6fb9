"""The symbols of a whole workspace, kept in a file. Only files that changed are parsed again; a file that
ended the process once is not parsed again until it changes."""

import hashlib
import os
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec

from holdfast.workspaces.code.grammars import language_of, parser
from holdfast.workspaces.code.symbols import FileSymbols, read_symbols
from holdfast.workspaces.files.file_root import Tree
from holdfast.workspaces.files.hidden import identity_of
from holdfast.workspaces.files.paths import shown
from holdfast.workspaces.search.gitignore import Ignoring
from holdfast.workspaces.search.walk import WalkedFile, walk

# Raised when what is read from a file changes: indexes of older versions are made anew.
VERSION = 1
FILE_BYTES = 1024 * 1024
MOST_FILES = 50_000
_INDEX, _CURRENT = "index", "current"

Stamp = tuple[int, int, int, int]


class IndexedFile(msgspec.Struct, frozen=True, array_like=True, gc=False):
    stamp: Stamp
    digest: bytes
    symbols: FileSymbols
    # Why it was not read; empty: it was.
    problem: str = ""


class Index(msgspec.Struct, array_like=True):
    version: int
    files: dict[str, IndexedFile]
    # Files that were not looked at: there were too many, or the time was over.
    left_out: int = 0


def refresh(tree: Tree, kept: Path, seconds: float) -> Index:
    """The index as the files are now. When the time is over, the rest is left for the next call."""
    before, until = _load(kept), time.monotonic() + seconds
    crashed = _crashed(kept)
    index = Index(VERSION, {})
    changed = False
    current = os.open(kept / _CURRENT, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        with tree.directory(()) as start:
            for file in _source_files(start, tree):
                known = before.files.get(file.path)
                if len(index.files) >= MOST_FILES or (known is None and time.monotonic() > until):
                    index.left_out += 1
                    continue
                entry = _entry(file, tree, known, current, crashed)
                if entry is not None:
                    index.files[file.path] = entry
                    changed = changed or entry is not known
    finally:
        os.close(current)
    if changed or index.files.keys() != before.files.keys():
        _save(kept, index)
    return index


def _source_files(start: int, tree: Tree) -> Iterator[WalkedFile]:
    """A name that cannot be shown as it is, is not one that anybody could ask for."""
    for file in walk(start, Ignoring(), "", tree.hidden):
        if language_of(file.path) is not None and shown(file.path) == file.path:
            yield file


def _entry(
    file: WalkedFile, tree: Tree, known: IndexedFile | None, current: int, crashed: tuple[str, Stamp] | None
) -> IndexedFile | None:
    """None: it is gone, or not for us to read."""
    try:
        if (
            known is not None
            and _stamp(os.stat(file.name, dir_fd=file.directory, follow_symlinks=False)) == known.stamp
        ):
            return known
        descriptor = file.open()
    except OSError:
        return None
    with os.fdopen(descriptor, "rb", buffering=0) as opened:
        status = os.fstat(descriptor)
        if identity_of(status) in tree.hidden:
            return None
        stamp = _stamp(status)
        if crashed == (file.path, stamp):
            return IndexedFile(stamp, b"", FileSymbols(parsed=False), "parsing it failed")
        if status.st_size > FILE_BYTES:
            return IndexedFile(stamp, b"", FileSymbols(), f"larger than {FILE_BYTES // 1024} KiB")
        source = opened.read(FILE_BYTES + 1)
    digest = hashlib.blake2b(source, digest_size=16).digest()
    if known is not None and known.digest == digest:
        return IndexedFile(stamp, digest, known.symbols, known.problem)
    language = language_of(file.path)
    found = None if language is None else parser(language)
    if found is None:
        return IndexedFile(stamp, digest, FileSymbols(), "its grammar is not installed")
    _mark(current, file.path, stamp)
    symbols = read_symbols(found, source)
    _mark(current, "", stamp)
    return IndexedFile(stamp, digest, symbols, "" if symbols.parsed else "not valid source code")


def _stamp(status: os.stat_result) -> Stamp:
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino


def _mark(current: int, path: str, stamp: Stamp) -> None:
    """Which file is being parsed, for whoever comes after a crash."""
    data = msgspec.msgpack.encode((path, stamp)) if path else b""
    os.pwrite(current, len(data).to_bytes(4, "big") + data, 0)


def _crashed(kept: Path) -> tuple[str, Stamp] | None:
    try:
        data = (kept / _CURRENT).read_bytes()
        length = int.from_bytes(data[:4], "big")
        return msgspec.msgpack.decode(data[4 : 4 + length], type=tuple[str, Stamp]) if length else None
    except (OSError, msgspec.DecodeError):
        return None


def _load(kept: Path) -> Index:
    try:
        index = msgspec.msgpack.decode((kept / _INDEX).read_bytes(), type=Index)
    except (OSError, msgspec.DecodeError):
        return Index(VERSION, {})
    return index if index.version == VERSION else Index(VERSION, {})


def _save(kept: Path, index: Index) -> None:
    written = kept / f"{_INDEX}.new"
    written.write_bytes(msgspec.msgpack.encode(index))
    written.replace(kept / _INDEX)
