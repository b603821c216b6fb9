"""Changing files: a write is complete or did not happen (the new file gets its name only when it is complete
and on disk), keeps the mode bits and the owner, and is refused if the file is not what the caller expects."""

import os
import secrets
import stat
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from heapq import nsmallest

from holdfast.core.errors import HoldfastError, InvalidInput, WrongState
from holdfast.core.shapes import Record
from holdfast.workspaces.files.diffs import Change
from holdfast.workspaces.files.file_root import FilePlace, Tree, explained, kind_of
from holdfast.workspaces.files.git_guard import Guard
from holdfast.workspaces.files.hidden import Identities, identity_of
from holdfast.workspaces.files.line_ranges import (
    WHOLE_BYTES,
    fingerprint_of,
    fingerprint_of_large,
    open_file,
    read_up_to,
    read_whole,
)
from holdfast.workspaces.files.paths import Parts, shown, shown_path
from holdfast.workspaces.files.temporary_files import sweep_litter, temporary_name

LISTED = 1000


class Before(Record, frozen=True, kw_only=True):
    """A file as it was found; `data` is None if it is too large to be held."""

    data: bytes | None
    fingerprint: str


# Refuses, by raising, what was found where the caller wants to write. None: nothing is there.
Check = Callable[[Before | None], None]


class DirectoryEntry(Record, frozen=True, kw_only=True):
    name: str
    kind: str
    # The target of a link, as it is written there.
    target: str | None = None


class Replacement(Record, frozen=True, kw_only=True):
    """What a file is to become, and what it must still be."""

    parts: Parts
    before: bytes
    after: bytes
    # Which lines differ.
    lines: tuple[Change, ...]


def write_file(tree: Tree, parts: Parts, data: bytes, check: Check, guard: Guard) -> Before | None:
    """What was there before. The caller holds the lock, here and below."""
    guard.check_path(tree, parts)
    with tree.place(parts, make=True) as place:
        guard.check_place(tree, place, parts)
        before = _found(place, parts)
        if before is not None and before.data == data:
            return before  # whoever wrote it: there is nothing to do, and nothing to lose
        check(before)
        with explained(parts), prepared(place, data) as put:
            put()
        return before


def delete_file(tree: Tree, parts: Parts, check: Check, guard: Guard) -> Before | None:
    """Removes a file, or a link and not its target. Returns what it was, if it was an ordinary file."""
    with tree.place(parts, follow=False) as place:
        guard.check_place(tree, place, parts)
        with explained(parts):
            info = os.stat(place.name, dir_fd=place.directory, follow_symlinks=False)
        if stat.S_ISDIR(info.st_mode):
            raise InvalidInput(
                f"{shown_path(parts)} is a directory. delete_file removes single files; use a command for "
                "directories."
            )
        before = _found(place, parts) if stat.S_ISREG(info.st_mode) else None
        check(before)
        with explained(parts):
            os.unlink(place.name, dir_fd=place.directory)
            os.fsync(place.directory)
        return before


def replace_files(tree: Tree, replacements: Sequence[Replacement], guard: Guard) -> None:
    """All of them or none. Everything that can fail is done before the first file gets its new content; if a
    later one still fails, the earlier ones get their old content back."""
    with ExitStack() as stack:
        ready: list[tuple[Replacement, FilePlace, Callable[[], None]]] = []
        for each in replacements:
            place = stack.enter_context(tree.place(each.parts))
            guard.check_place(tree, place, each.parts)
            _check_same(place, each)
            with explained(each.parts):
                put = stack.enter_context(prepared(place, each.after))
            ready.append((each, place, put))
        done: list[tuple[Replacement, FilePlace]] = []
        for each, place, put in ready:
            try:
                with explained(each.parts):
                    put()
            except BaseException:
                _put_back(done)
                raise
            done.append((each, place))


def sweep_around(tree: Tree, parts: Parts) -> None:
    """Removes what a killed server left beside this file."""
    with suppress(HoldfastError, OSError), tree.place(parts) as place:
        sweep_litter(place.directory)


def list_directory(tree: Tree, parts: Parts) -> tuple[list[DirectoryEntry], int]:
    """The first entries by name, and how many there are."""
    with tree.directory(parts) as directory, explained(parts):
        count = 0
        inodes = {inode for _, inode in tree.hidden}

        def counted(found: Iterator[os.DirEntry[str]]) -> Iterator[str]:
            nonlocal count
            for each in found:
                if (each.inode() in inodes) and identity_of(each.stat(follow_symlinks=False)) in tree.hidden:
                    continue
                count += 1
                yield each.name

        with os.scandir(directory) as found:
            names = nsmallest(LISTED, counted(found))
        entries = [entry for name in names if (entry := _entry(name, directory, tree.hidden)) is not None]
        return entries, count


def _entry(name: str, directory: int, hidden: Identities) -> DirectoryEntry | None:
    try:
        info = os.stat(name, dir_fd=directory, follow_symlinks=False)
        if identity_of(info) in hidden:
            return None
        target = os.readlink(name, dir_fd=directory) if stat.S_ISLNK(info.st_mode) else None
    except OSError:
        return None  # gone meanwhile
    return DirectoryEntry(
        name=name, kind=kind_of(info.st_mode), target=None if target is None else shown(target)
    )


def _found(place: FilePlace, parts: Parts) -> Before | None:
    with explained(parts):
        if place.stat() is None:
            return None
    with open_file(place, parts) as descriptor, explained(parts):
        info = os.fstat(descriptor)
        if info.st_size > WHOLE_BYTES:
            return Before(data=None, fingerprint=fingerprint_of_large(info))
        data = read_up_to(descriptor, WHOLE_BYTES)
        return Before(data=data, fingerprint=fingerprint_of(data))


def _check_same(place: FilePlace, each: Replacement) -> None:
    if read_whole(place, each.parts) != each.before:
        raise WrongState(
            f"{shown_path(each.parts)} was changed by somebody else just now. Nothing was written. Read "
            "it again and repeat the edit."
        )


def _put_back(done: Sequence[tuple[Replacement, FilePlace]]) -> None:
    for each, place in reversed(done):
        with suppress(OSError), prepared(place, each.before) as put:
            put()


@contextmanager
def prepared(place: FilePlace, data: bytes, mode: int | None = None) -> Generator[Callable[[], None]]:
    """The new content on disk, waiting for its name; calling the returned function puts it in place.
    `mode`: other bits than those of the file that is there."""
    descriptor, named = _nameless(place.directory)
    name = "" if descriptor is None else temporary_name(descriptor)
    if descriptor is None:
        name = f".holdfast-{secrets.token_hex(8)}.tmp"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor, named = os.open(name, flags, 0o666, dir_fd=place.directory), True
        # Under the name that identifies it as ours, which only the file itself determines.
        first, name = name, temporary_name(descriptor)
        os.rename(first, name, src_dir_fd=place.directory, dst_dir_fd=place.directory)
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(descriptor, view) :]
        _keep_ownership(descriptor, place.stat())
        if mode is not None:
            os.fchmod(descriptor, mode)
        os.fsync(descriptor)

        def put() -> None:
            if not named:
                os.link(f"/proc/self/fd/{descriptor}", name, dst_dir_fd=place.directory, follow_symlinks=True)
            os.replace(name, place.name, src_dir_fd=place.directory, dst_dir_fd=place.directory)
            os.fsync(place.directory)

        yield put
    finally:
        os.close(descriptor)
        with suppress(FileNotFoundError):
            os.unlink(name, dir_fd=place.directory)


def _nameless(directory: int) -> tuple[int | None, bool]:
    """A file without a name, where the system supports it: it disappears by itself if this process is
    killed."""
    flag = getattr(os, "O_TMPFILE", None)
    if flag is None or not os.path.isdir("/proc/self/fd"):
        return None, False
    try:
        return os.open(".", flag | os.O_WRONLY | os.O_CLOEXEC, 0o666, dir_fd=directory), False
    except OSError:
        return None, False  # not on this file system


def _keep_ownership(descriptor: int, old: os.stat_result | None) -> None:
    if old is None or not stat.S_ISREG(old.st_mode):
        return
    mode = stat.S_IMODE(old.st_mode)
    new = os.fstat(descriptor)
    if (new.st_uid, new.st_gid) != (old.st_uid, old.st_gid):
        try:
            os.fchown(descriptor, old.st_uid, old.st_gid)
        except OSError:
            # It is ours from now on, and must not lend our privileges to others.
            mode &= ~(stat.S_ISUID | stat.S_ISGID)
    os.fchmod(descriptor, mode)
