"""The data directory: accessible only to its owner. It is created that way, and closed if it is found open. A
directory that is not clearly ours is never changed, and not used while everybody can read it."""

import errno
import os
import stat
from pathlib import Path

from holdfast.core.errors import DirectoryUnusable

FILE_NAME = "holdfast.db"
# A directory that contains one of these is one of our data directories.
OURS = frozenset((FILE_NAME, "admin.token", "secret.key"))

OPEN_TO_OTHERS = 0o077
OPEN_TO_EVERYBODY = 0o007
_FULL = (errno.ENOSPC, errno.EDQUOT)


def secure(directory: Path) -> None:
    """Creates the directory, or closes it to the machine's other users. Raises DirectoryUnusable."""
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        mode = stat.S_IMODE(directory.stat().st_mode)
        why = _not_ours(directory) if mode & OPEN_TO_OTHERS else None
        if mode & OPEN_TO_OTHERS and why is None:
            directory.chmod(0o700)
        elif mode & OPEN_TO_EVERYBODY:
            # Group access alone may be how we are meant to reach a directory that belongs to somebody else.
            raise DirectoryUnusable(
                f"The data directory {directory} is open to everybody on this machine (mode "
                f"{mode:o}) and {why}. Choose one that does not exist yet with --data, or close "
                f"this one: chmod 700 {directory}"
            )
    except OSError as error:
        raise unusable(directory, error) from None


def _not_ours(directory: Path) -> str | None:
    """Why closing it might lock somebody out: `--data /tmp` must not close /tmp to the whole machine."""
    if directory.stat().st_uid != os.geteuid():
        return "belongs to another user"
    held = set(os.listdir(directory))
    return "contains other files" if held and not held & OURS else None


def unusable(directory: Path, error: OSError) -> DirectoryUnusable:
    """The error for a directory in which nothing can be created."""
    if error.errno in _FULL:
        return DirectoryUnusable(f"The disk that holds {directory} is full. Free some space and start again.")
    return DirectoryUnusable(
        f"The data directory {directory} cannot be used ({error.strerror}). Give this user access to it, or "
        "choose another one with --data."
    )
