"""Writes files, links and directories by descriptor, each completely or not at all. Directories are made
before their contents and removed after them."""

import os
import secrets
import stat
from collections.abc import Mapping
from contextlib import suppress

from holdfast.changes.entries import Contents, WantedState
from holdfast.changes.objects import Objects
from holdfast.changes.shadow import LARGEST_BYTES
from holdfast.core.changes import FileState
from holdfast.core.errors import HoldfastError, InvalidInput
from holdfast.workspaces.files.file_root import FilePlace, Tree, explained
from holdfast.workspaces.files.git_guard import Guard
from holdfast.workspaces.files.line_ranges import open_file
from holdfast.workspaces.files.paths import Parts
from holdfast.workspaces.files.writes import prepared


def state_at(tree: Tree, path: str, objects: Objects) -> FileState | None:
    """What is at the path now; its content is kept. Raises InvalidInput if it cannot be kept."""
    parts = parts_of(path)
    try:
        with tree.place(parts, follow=False) as place, explained(parts):
            info = place.stat()
            if info is None:
                return None
            mode = stat.S_IMODE(info.st_mode)
            if stat.S_ISDIR(info.st_mode):
                return FileState(kind="directory", mode=mode)
            if stat.S_ISLNK(info.st_mode):
                target = os.fsencode(os.readlink(place.name, dir_fd=place.directory))
                return FileState(kind="link", mode=0, blob=objects.put(target))
            with open_file(place, parts) as descriptor:
                data = _read(descriptor)
    except HoldfastError as error:
        if error.code == "not_found":
            return None
        raise
    return FileState(kind="file", mode=mode, blob="" if data is None else objects.put(data))


def put_all(
    tree: Tree, wanted: Mapping[str, WantedState], contents: Contents, guard: Guard
) -> dict[str, str]:
    """Puts each path into its wanted state; returns the reason for each path that failed."""
    failed: dict[str, str] = {}
    gone = [path for path, want in wanted.items() if want.state is None]
    made = [path for path, want in wanted.items() if want.state is not None]
    for path in (*sorted(gone, key=lambda each: (-each.count("/"), each)), *sorted(made)):
        try:
            put(tree, path, wanted[path], contents, guard)
        except HoldfastError as error:
            failed[path] = error.text
    # Modes of directories last: a read-only directory could not receive its files.
    for path in sorted(made, reverse=True):
        state = wanted[path].state
        if state is not None and state.kind == "directory" and path not in failed:
            with suppress(HoldfastError, OSError), tree.directory(parts_of(path)) as descriptor:
                os.fchmod(descriptor, state.mode)
    return failed


def put(tree: Tree, path: str, want: WantedState, contents: Contents, guard: Guard) -> None:
    parts, state = parts_of(path), want.state
    guard.check_path(tree, parts)
    with tree.place(parts, make=state is not None, follow=False) as place, explained(parts):
        guard.check_place(tree, place, parts)
        found = place.stat()
        if state is None:
            _remove(place, found)
            return
        if found is not None and stat.S_ISDIR(found.st_mode) != (state.kind == "directory"):
            _remove(place, found)
            found = None
        match state.kind:
            case "directory":
                if found is None:
                    os.mkdir(place.name, dir_fd=place.directory)
            case "link":
                target = contents(state.blob)
                if target is None:
                    raise InvalidInput(f"Where {path} led is not kept any more.")
                temporary = f".holdfast-{secrets.token_hex(8)}.tmp"
                os.symlink(target, os.fsencode(temporary), dir_fd=place.directory)
                os.replace(temporary, place.name, src_dir_fd=place.directory, dst_dir_fd=place.directory)
            case "file":
                data = want.data if want.data is not None else contents(state.blob)
                if data is None:
                    raise InvalidInput(f"What {path} held is not kept any more.")
                with prepared(place, data, mode=state.mode) as take_place:
                    take_place()


def _remove(place: FilePlace, found: os.stat_result | None) -> None:
    if found is None:
        return
    if stat.S_ISDIR(found.st_mode):
        # A directory with unexpected contents stays.
        with suppress(OSError):
            os.rmdir(place.name, dir_fd=place.directory)
    else:
        os.unlink(place.name, dir_fd=place.directory)


def parts_of(path: str) -> Parts:
    return tuple(path.split("/"))


def _read(descriptor: int) -> bytes | None:
    """The content; None if it is too large to be kept."""
    pieces: list[bytes] = []
    left = LARGEST_BYTES + 1
    while left > 0 and (piece := os.read(descriptor, min(left, 1 << 20))):
        pieces.append(piece)
        left -= len(piece)
    return b"".join(pieces) if left > 0 else None
