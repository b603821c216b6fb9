"""What is really there, reached by descriptor from the workspace's root. Nothing leads out: not `..`, not a
link, not a directory that somebody swaps for a link at the wrong moment, because every name is opened below a
directory that is already held. Links that stay inside are followed; absolute ones and those that leave are
refused."""

import errno
import fcntl
import os
import stat
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import islice
from pathlib import Path

from holdfast.core.errors import HoldfastError, InvalidInput, NotFound, TryAgain
from holdfast.workspaces.files.hidden import NOTHING, Hidden, Identities, identity_of, lies_in
from holdfast.workspaces.files.openat2 import Open, kernel_open
from holdfast.workspaces.files.paths import Parts, parse_path, shown, shown_path

DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_LINKS = 40
_LOCK_SECONDS = 10.0


class KeptByServer(PermissionError):
    """What is there belongs to the server itself; see `hidden`."""

    def __init__(self) -> None:
        super().__init__(errno.EACCES, "kept by the server for itself")


class FilePlace:
    """Where a file is or will be: its directory, held open, and its name there, which is not a link to
    follow."""

    def __init__(self, directory: int, name: str, hidden: Identities = NOTHING) -> None:
        self.directory = directory
        self.name = name
        self._hidden = hidden

    def check_open(self, info: os.stat_result) -> None:
        """Raises KeptByServer if what was found at this place must not be opened."""
        if identity_of(info) in self._hidden:
            raise KeptByServer

    def stat(self) -> os.stat_result | None:
        try:
            return os.stat(self.name, dir_fd=self.directory, follow_symlinks=False)
        except FileNotFoundError:
            return None

    def near(self, parts: Parts) -> str:
        """What is there instead, if this is not."""
        try:
            return _similar(parts[:-1], parts[-1], _names(self.directory))
        except OSError:
            return ""


@dataclass(frozen=True)
class Root:
    """A workspace's root: `base` is trusted, and below it `inside` is found without following any link, so
    that work in an outer workspace cannot move an inner one elsewhere."""

    base: Path
    inside: Parts = ()
    # The only file in it that is meant: nothing beside it, and no link in its place.
    only: str | None = None
    # What in it must not be found.
    hidden: Hidden | None = None

    @property
    def path(self) -> Path:
        return self.base.joinpath(*self.inside)

    def parse(self, path: str) -> Parts:
        parts = parse_path(path, (str(self.path),))
        if self.only is not None and parts != (self.only,):
            raise InvalidInput(f"In {shown(str(self.path))} only {shown(self.only)} may be read.")
        return parts

    @contextmanager
    def open(self) -> Generator["Tree"]:
        descriptor = self._descriptor()
        try:
            hidden = NOTHING if self.hidden is None else self.hidden.identities()
            yield Tree(descriptor, kernel_open(), links=self.only is None, hidden=hidden)
        finally:
            os.close(descriptor)

    def _descriptor(self) -> int:
        try:
            descriptor = os.open(self.base, DIRECTORY)
            for name in self.inside:
                outer = descriptor
                try:
                    descriptor = os.open(name, DIRECTORY | os.O_NOFOLLOW, dir_fd=outer)
                finally:
                    os.close(outer)
        except OSError as error:
            raise NotFound(
                f"The workspace's directory {shown(str(self.path))} cannot be opened ({error.strerror}). "
                "It was moved or removed, or the server may not read it."
            ) from error
        return descriptor


class Tree:
    """An opened root. `kernel=None` walks name by name, as on systems whose kernel cannot do it. Without
    `links` no file is found through a link, even one that stays inside."""

    def __init__(
        self, root: int, kernel: Open | None, *, links: bool = True, hidden: Identities = NOTHING
    ) -> None:
        self.root = root
        self.hidden = hidden
        self._kernel = kernel
        self._links = links

    @contextmanager
    def directory(self, parts: Parts) -> Generator[int]:
        with explained(parts, lambda: self._near(parts)):
            descriptor = self.open_directory(parts)
        try:
            yield descriptor
        finally:
            os.close(descriptor)

    @contextmanager
    def place(self, parts: Parts, *, make: bool = False, follow: bool = True) -> Generator[FilePlace]:
        """`make`: missing directories on the way are created. `follow=False`: a link is itself what is
        meant."""
        if not parts:
            raise InvalidInput("This names the workspace itself. Name a file in it.")
        with explained(parts, lambda: self._near(parts)):
            place = self._find(parts, make=make, follow=follow)
            self._check(place)
        try:
            yield place
        finally:
            os.close(place.directory)

    @contextmanager
    def locked(self) -> Generator[bool]:
        """Nobody else writes through these tools meanwhile, in this process or in another one. False: the
        file system has no locks."""
        own = os.open(".", DIRECTORY, dir_fd=self.root)
        try:
            yield _lock(own)
        finally:
            os.close(own)

    def _find(self, parts: Parts, *, make: bool, follow: bool) -> FilePlace:
        for _ in range(_LINKS):
            *before, name = parts
            directory = self._make_directory(tuple(before)) if make else self.open_directory(tuple(before))
            try:
                target = os.readlink(name, dir_fd=directory) if follow else None
            except OSError as error:
                if error.errno not in (errno.EINVAL, errno.ENOENT):
                    os.close(directory)
                    raise
                target = None
            if target is None:
                return FilePlace(directory, name, self.hidden)
            os.close(directory)
            if target.startswith("/") or not self._links:
                raise OSError(errno.EXDEV, "an absolute link, or any where none is wanted")
            parts = (*before, *(part for part in target.split("/") if part not in ("", ".")))
            if not parts or parts[-1] == "..":
                raise IsADirectoryError(errno.EISDIR, "a link to a directory")
        raise OSError(errno.ELOOP, "too many links")

    def open_directory(self, parts: Parts) -> int:
        """A descriptor that the caller closes; OSError as from open(2), EXDEV if the path leads out, and
        KeptByServer."""
        if not parts:
            return os.open(".", DIRECTORY, dir_fd=self.root)
        if self._kernel is not None:
            descriptor = self._kernel(self.root, "/".join(parts), DIRECTORY)
        else:
            descriptor = _walk(self.root, parts)
        try:
            if lies_in(descriptor, self.hidden, self.root):
                raise KeptByServer
        except BaseException:
            os.close(descriptor)
            raise
        return descriptor

    def _check(self, place: FilePlace) -> None:
        try:
            if (info := place.stat()) is not None:
                place.check_open(info)
        except BaseException:
            os.close(place.directory)
            raise

    def _make_directory(self, parts: Parts) -> int:
        try:
            return self.open_directory(parts)
        except FileNotFoundError:
            if not parts or parts[-1] == "..":
                raise
        outer = self._make_directory(parts[:-1])
        try:
            with suppress(FileExistsError):
                os.mkdir(parts[-1], dir_fd=outer)
                os.fsync(outer)
        finally:
            os.close(outer)
        return self.open_directory(parts)

    def _near(self, parts: Parts) -> str:
        """What is there instead of what is not."""
        for depth in range(len(parts)):
            try:
                directory = self.open_directory(parts[:depth])
            except OSError:
                return ""
            try:
                names = _names(directory)
            except OSError:
                return ""
            finally:
                os.close(directory)
            if parts[depth] not in names:
                return _similar(parts[:depth], parts[depth], names)
        return ""


def _walk(root: int, parts: Parts) -> int:
    """The directory, name by name: never through a link itself, only along its text, and never above the
    root."""
    held = [os.open(".", DIRECTORY, dir_fd=root)]
    waiting = list(reversed(parts))
    links = 0
    try:
        while waiting:
            name = waiting.pop()
            if name in ("", "."):
                continue
            if name == "..":
                if len(held) == 1:
                    raise OSError(errno.EXDEV, "above the root")
                os.close(held.pop())
                continue
            try:
                held.append(os.open(name, DIRECTORY | os.O_NOFOLLOW, dir_fd=held[-1]))
            except OSError as error:
                if error.errno not in (errno.ELOOP, errno.ENOTDIR, errno.EMLINK):
                    raise
                target = _link(name, held[-1], error)
                links += 1
                if links > _LINKS:
                    raise OSError(errno.ELOOP, "too many links") from None
                if target.startswith("/"):
                    raise OSError(errno.EXDEV, "an absolute link") from None
                waiting.extend(reversed(target.split("/")))
        return held.pop()
    finally:
        for descriptor in held:
            os.close(descriptor)


def _link(name: str, directory: int, error: OSError) -> str:
    try:
        return os.readlink(name, dir_fd=directory)
    except OSError as other:
        raise error if other.errno == errno.EINVAL else other from None


def _lock(descriptor: int) -> bool:
    # Never waits in the kernel: a command in the workspace could hold the lock forever.
    until = time.monotonic() + _LOCK_SECONDS
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > until:
                raise TryAgain(
                    "Another call is writing to this workspace and does not end. Try again."
                ) from None
            time.sleep(0.005)
        except OSError:
            return False  # a file system without locks
        else:
            return True


def _names(directory: int) -> list[str]:
    """Enough of them to say what is there."""
    with os.scandir(directory) as entries:
        return [entry.name for entry in islice(entries, 5000)]


def _similar(before: Parts, name: str, names: list[str]) -> str:
    if name in names:
        return "Its name is that of a symbolic link to something that does not exist."
    folded = {other.casefold(): other for other in names}
    close = get_close_matches(name.casefold(), folded, n=3, cutoff=0.6)
    if close:
        return "There is " + ", ".join(shown_path((*before, folded[other])) for other in close) + "."
    where = shown_path(before)
    if before and not names:
        return f"{where} is empty."
    return f"Look at what is in {where} with list." if before else "Look at what is there with list or glob."


def kind_of(mode: int) -> str:
    """What is there if it is not an ordinary file, in words."""
    for test, word in (
        (stat.S_ISDIR, "a directory"),
        (stat.S_ISLNK, "a symbolic link"),
        (stat.S_ISFIFO, "a named pipe"),
        (stat.S_ISSOCK, "a socket"),
        (stat.S_ISCHR, "a device"),
        (stat.S_ISBLK, "a device"),
    ):
        if test(mode):
            return word
    return "a file"


@contextmanager
def explained(parts: Parts, near: Callable[[], str] = str) -> Generator[None]:
    """The system's error as a sentence that says what to do."""
    try:
        yield
    except OSError as error:
        raise _explanation(parts, error, near) from error


def _explanation(parts: Parts, error: OSError, near: Callable[[], str]) -> HoldfastError:
    path = shown_path(parts)
    match error.errno:
        case errno.ENOENT:
            return NotFound(f"There is no {path}. {near()}".rstrip())
        case errno.EXDEV:
            return InvalidInput(
                f"{path} leads out of the workspace through a symbolic link (absolute links count as such). "
                "Only what is inside the workspace can be used."
            )
        case errno.ELOOP:
            return InvalidInput(f"{path} cannot be followed: its symbolic links form a circle.")
        case errno.ENOTDIR:
            return InvalidInput(f"A part of {path} is a file, not a directory. {near()}".rstrip())
        case errno.EISDIR:
            return InvalidInput(f"{path} is a directory. Name a file in it, or look into it with list.")
        case errno.EACCES if isinstance(error, KeptByServer):
            return InvalidInput(f"{path} belongs to the server itself. No tool can use it.")
        case errno.EACCES | errno.EPERM:
            return InvalidInput(f"The server may not do this with {path}: the file system denies it.")
        case errno.ENAMETOOLONG:
            return InvalidInput(f"{path} is longer than the file system allows.")
        case errno.EROFS:
            return InvalidInput(f"{path} is on a file system that cannot be written.")
        case errno.ENOSPC | errno.EDQUOT | errno.EFBIG:
            return InvalidInput(f"There is no space left to write {path}. Nothing was changed.")
        case _:
            return InvalidInput(f"{path} cannot be used: {error.strerror or error}.")
