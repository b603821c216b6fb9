"""A git repository seen without running anything of it. Its configuration, hooks, attributes and filters can
name programs, and whoever works in the workspace can write them; so git is given a directory of our own that
only borrows the repository's objects and a copy of its index."""

import errno
import os
import re
import shutil
import stat
from collections.abc import AsyncGenerator, Generator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from tempfile import mkdtemp
from typing import BinaryIO

from holdfast.core.errors import InvalidInput, NotFound
from holdfast.workspaces.beneath import Root
from holdfast.workspaces.blocking import blocking

EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
_SHA = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_REF = re.compile(r"refs/[\w.@+/-]+")
_CONFIG = """[core]
\trepositoryformatversion = {version}
\tbare = false
\tfsmonitor = false
\thooksPath = /dev/null
\tquotePath = false
\tattributesFile = /dev/null
\texcludesFile = /dev/null
[gc]
\tauto = 0
"""
_REFS_BYTES = 64 * 1024 * 1024
_INDEX_BYTES = 256 * 1024 * 1024
_ORDINARY = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True)
class Repository:
    """`directory` is what .git is or names; `common` the same, but for a worktree that of the main
    repository."""

    directory: Path
    common: Path
    # The commit that is checked out; None: there is none yet.
    head: str | None


def find_repository(root: Root, trusted: Sequence[Path]) -> Repository:
    """The repository that the workspace is the top of. What .git names elsewhere has to be below a trusted
    directory: it is a file that anybody in the workspace can write."""
    marker = root.path / ".git"
    if marker.is_symlink() or not marker.exists():
        raise NotFound("The workspace is not the top of a git repository.")
    directory = marker if marker.is_dir() else _named(marker)
    allowed = (root.path, *trusted)
    common = _common(directory)
    for path in (directory, common, common / "objects"):
        if not _below(path, allowed):
            raise InvalidInput(
                "The workspace's .git leads to a repository that this server may not look into."
            )
    return Repository(directory, common, _head(directory, common))


@asynccontextmanager
async def borrowed(repository: Repository, work: Path) -> AsyncGenerator["Borrowed"]:
    """Git sees `work` as a checkout of the repository, and no setting of it."""
    own = Path(
        mkdtemp(prefix="holdfast-git-")
    )  # not in a thread: cancelled there, nobody would know its name
    try:
        has_index = await blocking(lambda: _furnish(own, repository))
        yield Borrowed(environment(own) | {"GIT_WORK_TREE": str(work)}, own, has_index)
    finally:
        await blocking(lambda: shutil.rmtree(own, ignore_errors=True))


@dataclass(frozen=True)
class Borrowed:
    environment: Mapping[str, str]
    directory: Path
    # Without one, git takes every file for new.
    has_index: bool


def _furnish(own: Path, repository: Repository) -> bool:
    wide = repository.head is not None and len(repository.head) == 64
    extension = "[extensions]\n\tobjectformat = sha256\n" if wide else ""
    (own / "config").write_text(_CONFIG.format(version=1 if wide else 0) + extension)
    (own / "HEAD").write_text(f"{repository.head or 'ref: refs/heads/none'}\n")
    (own / "refs").mkdir()
    (own / "objects" / "info").mkdir(parents=True)
    (own / "objects" / "info" / "alternates").write_text(f"{repository.common.resolve() / 'objects'}\n")
    _copy_index(repository.directory, own)
    return (own / "index").exists()


def environment(directory: Path) -> dict[str, str]:
    """Nothing of the server's own, no network, no questions."""
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "GIT_DIR": str(directory),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_ALLOW_PROTOCOL": "none",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_LITERAL_PATHSPECS": "1",
        "LC_ALL": "C.UTF-8",
    }


def _named(marker: Path) -> Path:
    text = _read(marker)
    if not text.startswith("gitdir: "):
        raise NotFound("The workspace's .git is not what git makes.")
    return marker.parent / text.removeprefix("gitdir: ")


def _common(directory: Path) -> Path:
    named = _read(directory / "commondir")
    return directory / named if named else directory


def _below(path: Path, allowed: Sequence[Path]) -> bool:
    real = path.resolve()
    return any(real.is_relative_to(base.resolve()) for base in allowed)


def _head(directory: Path, common: Path) -> str | None:
    text = _read(directory / "HEAD")
    for _ in range(5):  # a ref may name another one
        if _SHA.fullmatch(text):
            return text
        ref = text.removeprefix("ref: ")
        if ref == text or not _REF.fullmatch(ref) or ".." in ref:
            return None
        text = _read(directory / ref) or _read(common / ref) or _packed(common, ref)
    return None


def _read(path: Path, size: int = 5000) -> str:
    """Empty for whatever is not an ordinary file, which is never waited for."""
    try:
        with _opened(path) as file:
            return file.read(size).decode("utf-8", "replace").strip()
    except OSError:
        return ""


@contextmanager
def _opened(path: Path) -> Generator[BinaryIO]:
    with open(path, "rb", opener=lambda name, _: os.open(name, _ORDINARY)) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(errno.EINVAL, "not an ordinary file")
        yield file


def _packed(common: Path, ref: str) -> str:
    refs = _read(common / "packed-refs", _REFS_BYTES)
    found = re.search(rf"^([0-9a-f]{{40,64}}) {re.escape(ref)}$", refs, re.MULTILINE)
    return found.group(1) if found else ""


def _copy_index(directory: Path, own: Path) -> None:
    """With it git knows which files are as they were; an index in parts comes with its other part."""
    try:
        for path in (directory / "index", *islice(directory.glob("sharedindex.*"), 10)):
            with _opened(path) as source, (own / path.name).open("wb") as target:
                if os.fstat(source.fileno()).st_size > _INDEX_BYTES:
                    raise OSError(errno.EFBIG, "too large to be true")
                shutil.copyfileobj(source, target)
            # A file that is as old as the index is compared by content: the copy must not look younger.
            shutil.copystat(path, own / path.name)
    except OSError:
        (own / "index").unlink(missing_ok=True)  # everything is compared, then
