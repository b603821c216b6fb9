"""Which paths of a checkout differ from a commit, and what the commit has there. By git behind the wall, with
objects and index of our own: the repository is only read."""

import os
from pathlib import Path

from holdfast.core.errors import InvalidInput
from holdfast.core.shapes import Record
from holdfast.workspaces.blocking import blocking
from holdfast.workspaces.commands.walled_programs import Walled
from holdfast.workspaces.files.file_root import Root
from holdfast.workspaces.files.line_ranges import read_up_to
from holdfast.workspaces.git.borrowed_repository import TAKE_IN, borrowed
from holdfast.workspaces.git.repositories import Repository

GIT_SECONDS = 60.0
MOST_BYTES = 64 * 2**20
_SAID_BYTES = 64 * 1024
# Arguments: the commit, and files for the list and for the contents.
_LIST = f"""{TAKE_IN}
take_in . || exit
git diff-tree -r -z --no-renames "$1" "$(git write-tree)" > "$2" || exit
tr '\\0' '\\n' < "$2" | grep '^:' | cut -d' ' -f3 | grep -v '^0*$' | sort -u | git cat-file --batch > "$3"
"""
_LINK, _EXECUTABLE, _MODULE = "120000", "100755", "160000"


class CommittedFile(Record, frozen=True, kw_only=True):
    """A path that differs, and what the commit has there. `data` None: nothing."""

    path: str
    data: bytes | None
    is_link: bool = False
    is_executable: bool = False


async def changed_since(
    walled: Walled, root: Root, repository: Repository, base: str
) -> tuple[CommittedFile, ...]:
    walled.require("To compare a worktree")
    async with borrowed(walled, repository, root) as own:
        listed, contents = own.directory / "listed", own.directory / "contents"
        asked = ("/bin/sh", "-c", _LIST, "git", base, str(listed), str(contents))
        await own.git(*asked, limit=_SAID_BYTES, seconds=GIT_SECONDS)
        return await blocking(lambda: _files(_read(listed), _blobs(_read(contents))))


def _files(listed: bytes, blobs: dict[bytes, bytes]) -> tuple[CommittedFile, ...]:
    """Names that are not UTF-8, and other repositories, are left out."""
    found: list[CommittedFile] = []
    pieces = iter(listed.split(b"\0"))
    for head in pieces:
        name = next(pieces, b"")
        words = head.decode("ascii", "replace").split()
        if len(words) != 5:
            continue
        mode, sha = words[0].lstrip(":"), words[2]
        if _MODULE in (mode, words[1]):
            continue
        try:
            path = name.decode()
        except UnicodeDecodeError:
            continue
        found.append(
            CommittedFile(
                path=path,
                data=blobs.get(sha.encode()) if sha.strip("0") else None,
                is_link=mode == _LINK,
                is_executable=mode == _EXECUTABLE,
            )
        )
    return tuple(found)


def _blobs(batch: bytes) -> dict[bytes, bytes]:
    """As `cat-file --batch` writes them: a line with name, kind and size, the content, a line end."""
    found: dict[bytes, bytes] = {}
    at = 0
    while (end := batch.find(b"\n", at)) >= 0:
        words = batch[at:end].split(b" ")
        at = end + 1
        if len(words) == 3 and words[2].isdigit():
            size = int(words[2])
            found[words[0]] = batch[at : at + size]
            at += size + 1
    return found


def _read(path: Path) -> bytes:
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        data = read_up_to(descriptor, MOST_BYTES + 1)
    finally:
        os.close(descriptor)
    if len(data) > MOST_BYTES:
        raise InvalidInput(f"More than {MOST_BYTES // 2**20} MiB differ. Commit them, and merge with git.")
    return data
