"""What no tool and no wall shows, wherever it is: the server's configuration, its data directory, its keys
and tokens. Files are recognised by path and by identity (device and inode), so that a hard link, a bind mount
or another way to them does not help."""

import os
from collections.abc import Callable, Iterable
from pathlib import Path

# Device and inode.
Identity = tuple[int, int]
Identities = frozenset[Identity]
NOTHING: Identities = frozenset()

# What in a data directory is a secret by itself. Its other contents are hidden with the directory.
IN_DATA = ("admin.token", "admin.sock", "secret.key", "holdfast.db", "holdfast.db-wal", "holdfast.db-shm")
# How deep a directory may be below another one, for a walk upwards from it.
_DEPTH = 4096


class Hidden:
    """`paths` is called each time: files are replaced, and the configuration is reloaded."""

    def __init__(self, data: Path, paths: Callable[[], Iterable[Path]] = tuple) -> None:
        self._data = data
        self._paths = paths

    def paths(self) -> tuple[Path, ...]:
        """As the file system has them, including those that do not exist."""
        return (self._data, *(_real(path) for path in self._paths()))

    def there(self) -> tuple[Path, ...]:
        """Those that exist: what a wall can cover."""
        return tuple(path for path in self.paths() if os.path.exists(path))

    def identities(self) -> Identities:
        inner = (self._data / name for name in IN_DATA)
        return frozenset(found for path in (*self.paths(), *inner) if (found := _identity(path)) is not None)

    def covers(self, real: Path) -> bool:
        """Whether it is hidden itself, or is inside something hidden."""
        return any(real.is_relative_to(path) for path in self.paths()) or self._is_same(real)

    def holds(self, real: Path) -> bool:
        """Whether it contains something hidden."""
        return any(path != real and path.is_relative_to(real) for path in self.paths())

    def holds_directory(self, real: Path) -> bool:
        """Whether it contains a directory that is hidden, or would be."""
        return any(path.is_relative_to(real) and not path.is_file() for path in self.paths())

    def below(self, roots: Iterable[Path]) -> tuple[Path, ...]:
        """Those that are where workspaces may be."""
        allowed = tuple(roots)
        return tuple(path for path in self.there() if any(path.is_relative_to(root) for root in allowed))

    def _is_same(self, real: Path) -> bool:
        found = _identity(real)
        return found is not None and found in self.identities()


def identity_of(info: os.stat_result) -> Identity:
    return info.st_dev, info.st_ino


def lies_in(descriptor: int, hidden: Identities, root: int) -> bool:
    """Whether an opened directory is hidden or inside a hidden one, looking up as far as the root, which is
    another opened directory above it."""
    if not hidden:
        return False
    top = identity_of(os.fstat(root))
    found, way = identity_of(os.fstat(descriptor)), ".."
    for _ in range(_DEPTH):
        if found == top:
            return False
        if found in hidden:
            return True
        outer = identity_of(os.stat(way, dir_fd=descriptor))
        if outer == found:
            return False  # the top of the file system
        found, way = outer, f"{way}/.."
    return True


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path.expanduser()))


def _identity(path: Path) -> Identity | None:
    try:
        return identity_of(os.stat(path))
    except OSError:
        return None
