"""Files that only their owner may read: keys and tokens in the data directory. A file appears whole or not at
all, and is on disk before anybody relies on it."""

import os
import secrets
import stat
from contextlib import suppress
from pathlib import Path

from holdfast.core.errors import DirectoryUnusable

_OTHERS = 0o077
_EVERYBODY = 0o007


def read_private(path: Path) -> str | None:
    """The content of the file; None if it does not exist."""
    try:
        if not path.exists():
            return None
        _close_to_others(path)
        return path.read_text(encoding="ascii").strip()
    except UnicodeDecodeError:
        return ""
    except OSError as error:
        raise _unusable(path, error) from None


def replace_private(path: Path, text: str) -> None:
    """Writes the text, replacing an existing file."""
    try:
        _unfinished(path, text).replace(path)
        _sync(path.parent)
    except OSError as error:
        raise _unusable(path, error) from None


def create_private(path: Path, text: str) -> str:
    """Writes the text if there is no file yet. Returns the content of the file: ours, or that of whoever came
    first."""
    try:
        unfinished = _unfinished(path, text)
        try:
            with suppress(FileExistsError):
                os.link(unfinished, path)
        finally:
            unfinished.unlink()
        _sync(path.parent)
    except OSError as error:
        raise _unusable(path, error) from None
    return read_private(path) or ""


def _unfinished(path: Path, text: str) -> Path:
    unfinished = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    fd = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with open(fd, "w", encoding="ascii") as file:
        file.write(text + "\n")
        file.flush()
        os.fsync(fd)
    return unfinished


def _sync(directory: Path) -> None:
    fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _close_to_others(path: Path) -> None:
    """Group access to somebody else's file may be how we are meant to read it."""
    status = path.stat()
    open_to = stat.S_IMODE(status.st_mode)
    if status.st_uid == os.geteuid() and open_to & _OTHERS:
        path.chmod(0o600)
    elif open_to & _EVERYBODY:
        raise DirectoryUnusable(
            f"{path} is open to everybody on this machine. It contains a secret; close it: chmod o-rwx {path}"
        )


def _unusable(path: Path, error: OSError) -> DirectoryUnusable:
    return DirectoryUnusable(
        f"{path} cannot be used ({error.strerror}). Give this user access to {path.parent}, or choose "
        "another data directory."
    )
