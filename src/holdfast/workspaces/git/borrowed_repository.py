"""Git on a workspace's repository, with settings of ours: it runs behind the wall and is given a directory of
our own that borrows the repository's objects and a copy of its index. Nothing that the repository has written
down is a setting: no program, no path, no filter, no hook."""

import errno
import os
import shutil
import stat
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from holdfast.core.errors import HoldfastError, InvalidInput
from holdfast.workspaces.blocking import blocking
from holdfast.workspaces.commands.walled_programs import (
    PROGRAM_SECONDS,
    Program,
    ProgramDirectory,
    Ran,
    Walled,
)
from holdfast.workspaces.files.file_root import Root, Tree
from holdfast.workspaces.files.line_ranges import open_file
from holdfast.workspaces.git.repositories import Repository

EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
_CONFIG = """[core]
\trepositoryformatversion = {version}
\tbare = false
\tfsmonitor = false
\thooksPath = /dev/null
\tquotePath = false
\tattributesFile = /dev/null
\texcludesFile = /dev/null
\tlogAllRefUpdates = false
\tsparseCheckout = false
\tuntrackedCache = false
\tprotectHFS = true
\tprotectNTFS = true
[gc]
\tauto = 0
[maintenance]
\tauto = false
[protocol]
\tallow = never
[submodule]
\trecurse = false
"""
# A function for scripts: takes what is in the checkout, or these paths of it, into the index. `git add -A`, a
# plain `git diff` and `git status` run git in repositories inside, with what these say, and are not used. New
# repositories (their names end with a slash) are left out; those in the index go by the commit they are at.
TAKE_IN = """
take_in() {
    git ls-files -z --modified --deleted --others --exclude-standard -- "$@" | grep -zv '/$' |
        git update-index -z --add --remove --replace --stdin
}
"""
# These count only when they come from outside of a repository.
_SAFE = {"safe.directory": "*", "safe.bareRepository": "explicit"}
_INDEX_BYTES = 256 * 1024 * 1024
_COPY_BYTES = 1024 * 1024


@dataclass(frozen=True)
class Borrowed:
    """Git in a room of its own. `work` is the checkout that it sees."""

    room: ProgramDirectory
    repository: Repository
    work: Root
    # Without one, git takes every file for new.
    has_index: bool

    @property
    def directory(self) -> Path:
        return self.room.own

    async def git(
        self,
        *argv: str,
        writable: tuple[Root, ...] = (),
        limit: int,
        seconds: float = PROGRAM_SECONDS,
    ) -> Ran:
        """Runs a program that runs git. What is not writable can be read. InvalidInput: git says no."""
        common = self.repository.common
        shown = [root for root in (self.work, common) if root not in writable]
        if len(shown) == 2 and common.path.is_relative_to(self.work.path):
            shown = [self.work]
        ran = await self.room.run(
            Program(
                argv=argv,
                cwd=self.work.path,
                environment=_environment(self.directory, self.work.path),
                readable=tuple(shown),
                writable=writable,
                repositories=tuple(root for root in writable if root == common),
            ),
            limit=limit,
            seconds=seconds,
        )
        if not ran.cut and ran.code != 0:
            missing = ran.code == 127 and "git" in ran.reason
            raise InvalidInput(
                "git cannot be run. Install git on the server."
                if missing
                else f"git could not do it: {ran.reason}"
            )
        return ran


@asynccontextmanager
async def borrowed(
    walled: Walled, repository: Repository, work: Root, *, refs: bool = False
) -> AsyncGenerator[Borrowed]:
    """`refs`: git sees the repository's branches, and changes them if it may write there."""
    walled.require("git")
    async with walled.room() as room:
        has_index = await blocking(lambda: _furnish(room.own, repository, refs=refs))
        yield Borrowed(room, repository, work, has_index)


def _furnish(own: Path, repository: Repository, *, refs: bool) -> bool:
    wide = repository.head is not None and len(repository.head) == 64
    extension = "[extensions]\n\tobjectformat = sha256\n" if wide else ""
    (own / "config").write_text(_CONFIG.format(version=1 if wide else 0) + extension)
    (own / "HEAD").write_text(f"{repository.head or 'ref: refs/heads/none'}\n")
    common = repository.common.path
    (own / "objects" / "info").mkdir(parents=True)
    (own / "objects" / "info" / "alternates").write_text(f"{common / 'objects'}\n")
    if refs:
        # Links that are followed behind the wall, where they can lead to nothing but the repository.
        with repository.common.open() as tree:
            (own / "refs").symlink_to(common / "refs")
            # git would wait for ever for what a pipe says.
            if _is_file(tree, "packed-refs"):
                (own / "packed-refs").symlink_to(common / "packed-refs")
            with _forgiven():
                copy_out(tree, "shallow", own / "shallow")
    else:
        (own / "refs").mkdir()
    return _copy_index(repository.directory, own)


def _environment(own: Path, work: Path) -> dict[str, str]:
    """Nothing of the server's own, no network, no questions."""
    settings = {f"GIT_CONFIG_KEY_{n}": key for n, key in enumerate(_SAFE)}
    settings |= {f"GIT_CONFIG_VALUE_{n}": value for n, value in enumerate(_SAFE.values())}
    return settings | {
        "GIT_CONFIG_COUNT": str(len(_SAFE)),
        "GIT_DIR": str(own),
        "GIT_WORK_TREE": str(work),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_ALLOW_PROTOCOL": "none",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_LITERAL_PATHSPECS": "1",
        "GIT_COMMITTER_NAME": "Holdfast",
        "GIT_COMMITTER_EMAIL": "holdfast@localhost",
    }


def _copy_index(directory: Root, own: Path) -> bool:
    """With it git knows which files are as they were; an index in parts comes with its other part. Whatever
    is wrong with it: everything is compared, then."""
    try:
        with directory.open() as tree:
            with os.scandir(tree.root) as entries:
                parts = [entry.name for entry in entries if entry.name.startswith("sharedindex.")]
            for name in ("index", *islice(sorted(parts), 10)):
                copy_out(tree, name, own / name)
    except (HoldfastError, OSError):
        (own / "index").unlink(missing_ok=True)
        return False
    return True


def _is_file(tree: Tree, name: str) -> bool:
    try:
        return stat.S_ISREG(os.stat(name, dir_fd=tree.root, follow_symlinks=False).st_mode)
    except OSError:
        return False


def copy_out(tree: Tree, name: str, target: Path) -> None:
    """An ordinary file, never through a link, with its time: a file that is as old as the index is compared
    by content, so the copy must not look younger."""
    with tree.place((name,), follow=False) as place, open_file(place, (name,)) as source:
        info = os.fstat(source)
        if info.st_size > _INDEX_BYTES:
            raise OSError(errno.EFBIG, "too large to be true")
        with target.open("xb") as copy:
            _copy(source, copy.fileno(), info)


def copy_in(source: Path, directory: int, name: str) -> None:
    """A file of ours as a new one in a directory that is held open. OSError: something is there already."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    read = os.open(source, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        written = os.open(name, flags, 0o666, dir_fd=directory)
        try:
            _copy(read, written, os.fstat(read))
        finally:
            os.close(written)
    finally:
        os.close(read)


def _copy(source: int, target: int, info: os.stat_result) -> None:
    left = _INDEX_BYTES
    while left > 0 and (piece := os.read(source, min(left, _COPY_BYTES))):
        left -= len(piece)
        view = memoryview(piece)
        while view:
            view = view[os.write(target, view) :]
    os.utime(target, ns=(info.st_atime_ns, info.st_mtime_ns))


@contextmanager
def _forgiven() -> Generator[None]:
    try:
        yield
    except (HoldfastError, OSError):
        return


def remove_below(directory: Root, name: str) -> None:
    """A directory and all in it, found without following a link."""
    try:
        with directory.open() as tree:
            shutil.rmtree(name, ignore_errors=True, dir_fd=tree.root)
    except HoldfastError:
        return  # there is no such directory
