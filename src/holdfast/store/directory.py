"""The data directory: for nobody but its owner. It is made so, and closed when it is found open; one that is
not plainly ours is never changed, and not used while everybody may look into it."""

import errno
import os
import stat
from pathlib import Path

from holdfast.core.errors import DirectoryUnusable

FILE_NAME = "holdfast.db"
# A directory that holds one of these is a data directory of ours.
OURS = frozenset((FILE_NAME, "admin.token", "secret.key"))

OPEN_TO_OTHERS = 0o077
OPEN_TO_EVERYBODY = 0o007
_FULL = (errno.ENOSPC, errno.EDQUOT)


def secure(directory: Path) -> None:
    """Makes the directory, or closes it to other users of the machine. Raises DirectoryUnusable."""
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        mode = stat.S_IMODE(directory.stat().st_mode)
        why = _not_ours(directory) if mode & OPEN_TO_OTHERS else None
        if mode & OPEN_TO_OTHERS and why is None:
            directory.chmod(0o700)
        elif mode & OPEN_TO_EVERYBODY:
            # A group alone may be how we are meant to get into what is somebody else's.
            raise DirectoryUnusable(
                f"The data directory {directory} is open to everybody on this machine (mode {mode:o}) and "
                f"{why}. Name one that does not exist yet with --data, or close this one: "
                f"chmod 700 {directory}"
            )
    except OSError as error:
        raise unusable(directory, error) from None


def _not_ours(directory: Path) -> str | None:
    """Why closing it might shut somebody out: `--data /tmp` must not end in a machine without one."""
    if directory.stat().st_uid != os.geteuid():
        return "belongs to another user"
    held = set(os.listdir(directory))
    return "holds other things" if held and not held & OURS else None


def unusable(directory: Path, error: OSError) -> DirectoryUnusable:
    """What to say of a directory in which nothing can be made."""
    if error.errno in _FULL:
        return DirectoryUnusable(f"The disk that holds {directory} is full. Free some space and start again.")
    return DirectoryUnusable(
        f"The data directory {directory} cannot be used ({error.strerror}). Give this user access to it, or "
        "choose another one with --data."
    )
