"""The contents of a workspace's files, in a shadow git repository that belongs to the server: loose objects
in git's format, read and written here without running git, so that no setting, filter or hook applies."""

import hashlib
import os
import secrets
import time
import zlib
from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path

_CONFIG = "[core]\n\trepositoryformatversion = 0\n\tbare = true\n[gc]\n\tauto = 0\n"
# Newer objects may belong to a checkpoint that is being written.
SWEPT_AFTER_SECONDS = 3600.0


class Objects:
    """Blocking. `directory` is the shadow repository."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._objects = directory / "objects"
        if not self._objects.is_dir():
            for name in ("objects", "refs"):
                (directory / name).mkdir(parents=True, exist_ok=True, mode=0o700)
            (directory / "HEAD").write_text("ref: refs/heads/none\n")
            (directory / "config").write_text(_CONFIG)

    def put(self, data: bytes) -> str:
        """Keeps the content; returns its name."""
        whole = b"blob %d\0" % len(data) + data
        name = hashlib.sha1(whole, usedforsecurity=False).hexdigest()
        path = self._path(name)
        if path.exists():
            with suppress(OSError):
                os.utime(path)
            return name
        path.parent.mkdir(exist_ok=True, mode=0o700)
        temporary = path.parent / f".{secrets.token_hex(8)}"
        try:
            temporary.write_bytes(zlib.compress(whole, 1))
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
        return name

    def get(self, name: str) -> bytes | None:
        """The content; None if it is not kept or damaged."""
        try:
            whole = zlib.decompress(self._path(name).read_bytes())
        except (OSError, zlib.error):
            return None
        if hashlib.sha1(whole, usedforsecurity=False).hexdigest() != name:
            return None
        return whole.partition(b"\0")[2]

    def size(self) -> int:
        return sum(info.st_size for _, info in self._all())

    def sweep(self, needed: Collection[str], after_seconds: float = SWEPT_AFTER_SECONDS) -> int:
        """Removes unneeded objects; returns how many."""
        now, count = time.time(), 0
        for path, info in self._all():
            if f"{path.parent.name}{path.name}" not in needed and now - info.st_mtime > after_seconds:
                path.unlink(missing_ok=True)
                count += 1
        return count

    def _all(self) -> Iterator[tuple[Path, os.stat_result]]:
        for folder in self._objects.iterdir():
            for path in folder.iterdir() if len(folder.name) == 2 else ():
                with suppress(OSError):
                    yield path, path.stat()

    def _path(self, name: str) -> Path:
        return self._objects / name[:2] / name[2:]
