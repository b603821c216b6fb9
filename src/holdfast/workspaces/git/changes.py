"""What was changed in a workspace since its last commit, by git, and bounded. Nothing of the repository's own
is run or believed (see `borrowed_repository`)."""

import os
from pathlib import Path

from holdfast.core.errors import HoldfastError
from holdfast.core.shapes import Record
from holdfast.workspaces.blocking import blocking
from holdfast.workspaces.commands.walled_programs import Walled
from holdfast.workspaces.files.diffs import unified_diff
from holdfast.workspaces.files.encoding import decode, printable
from holdfast.workspaces.files.file_root import Root, Tree
from holdfast.workspaces.files.line_ranges import open_file, read_up_to
from holdfast.workspaces.files.paths import Parts, shown_path
from holdfast.workspaces.git.borrowed_repository import EMPTY_TREE, borrowed
from holdfast.workspaces.git.repositories import Repository

GIT_SECONDS = 30.0
DIFF_BYTES = 1024 * 1024
_NEW_FILES = 200
_NEW_FILE_BYTES = 256 * 1024
_NAMES_BYTES = 4 * 1024 * 1024
# Other repositories inside would be asked with their own settings: they are left out.
_OPTIONS = "--no-color --no-ext-diff --no-textconv --ignore-submodules=all --src-prefix=a/ --dst-prefix=b/"
# Both in one go: to build a wall takes longer than most questions. An index can say of files not to look at
# them: of those that are there, that does not count. Arguments: the base, where new files are named,
# whether an index has to be made, options.
_BOTH = """
base=$1 names=$2 index=$3; shift 3
if [ "$index" = known ]; then
    git ls-files -v -z | grep -za '^[a-z] ' | cut -z -b3- |
        git update-index -z --no-assume-unchanged --stdin || exit
else
    git read-tree "$base" || exit
fi
git ls-files -z --others --exclude-standard > "$names" || exit
exec git -c core.sparseCheckout=true diff "$@" "$base" --
"""


class Difference(Record, frozen=True, kw_only=True):
    """Against the commit that is checked out: changed files, then new ones. `truncated`: there is more."""

    text: str
    truncated: bool = False
    new_files: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        return not self.text and not self.new_files


async def diff_workspace(
    walled: Walled, root: Root, repository: Repository, limit: int = DIFF_BYTES
) -> Difference:
    walled.require("To show what was changed")
    async with borrowed(walled, repository, root) as own:
        index = "known" if own.has_index else "none"
        base, told = repository.head or EMPTY_TREE, own.directory / "names"
        asked = (base, str(told), index, *_OPTIONS.split())
        ran = await own.git("/bin/sh", "-c", _BOTH, "git", *asked, limit=limit, seconds=GIT_SECONDS)
        names = await blocking(lambda: _told(told))
    new = sorted(os.fsdecode(name) for name in names.split(b"\0") if name)
    added = await blocking(lambda: _additions(root, new, limit - len(ran.output)))
    return Difference(
        text=printable(ran.output.decode("utf-8", "replace")) + added,
        truncated=ran.cut or len(new) > _NEW_FILES,
        new_files=tuple(shown_path((name,)) for name in new[:_NEW_FILES]),
    )


def _told(path: Path) -> bytes:
    """Names of new files; more than enough of them are cut."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        data = read_up_to(descriptor, _NAMES_BYTES)
    finally:
        os.close(descriptor)
    return data if len(data) < _NAMES_BYTES else data.rpartition(b"\0")[0]


def _additions(root: Root, names: list[str], room: int) -> str:
    pieces: list[str] = []
    with root.open() as tree:
        for name in names[:_NEW_FILES]:
            if room <= 0:
                break
            piece = _addition(tree, tuple(name.rstrip("/").split("/")), room)
            room -= len(piece)
            pieces.append(piece)
    return "".join(pieces)


def _addition(tree: Tree, parts: Parts, room: int) -> str:
    """A new file as a diff; what is not text, or too much of it, is only named."""
    path = shown_path(parts)
    try:
        with tree.place(parts, follow=False) as place, open_file(place, parts) as descriptor:
            data = read_up_to(descriptor, _NEW_FILE_BYTES + 1)
    except HoldfastError:
        return f"Only in b: {path}\n"
    text = decode(data) if len(data) <= min(_NEW_FILE_BYTES, room) else None
    if text is None:
        return f"Only in b: {path} ({len(data)} bytes{' or more' if len(data) > _NEW_FILE_BYTES else ''})\n"
    return unified_diff(path, None, printable(text.text), room)
