"""Our temporary files in other people's directories. A server that is killed between naming one and renaming
it leaves it behind. Its name contains a digest of its inode, so nothing that somebody else put there under
such a name is mistaken for one, and nothing else is ever removed."""

import os
import re
import secrets
import stat
from contextlib import suppress
from hashlib import sha256

_NAME = re.compile(r"\.holdfast-([0-9a-f]{8})([0-9a-f]{16})\.tmp")


def temporary_name(descriptor: int) -> str:
    salt = secrets.token_hex(4)
    return f".holdfast-{salt}{_digest(salt, os.fstat(descriptor))}.tmp"


def sweep_litter(directory: int) -> int:
    """Removes what is left over in this directory; returns how many. The caller holds the workspace's lock,
    so that nobody is about to rename one of them."""
    with os.scandir(directory) as entries:
        names = [entry.name for entry in entries if entry.name.startswith(".holdfast-")]
    count = 0
    for name in names:
        # Gone meanwhile, or not ours to remove.
        with suppress(OSError):
            if _is_ours(name, os.stat(name, dir_fd=directory, follow_symlinks=False)):
                os.unlink(name, dir_fd=directory)
                count += 1
    return count


def _is_ours(name: str, info: os.stat_result) -> bool:
    found = _NAME.fullmatch(name)
    return (
        found is not None
        and stat.S_ISREG(info.st_mode)
        and info.st_nlink == 1
        and _digest(found[1], info) == found[2]
    )


def _digest(salt: str, info: os.stat_result) -> str:
    return sha256(f"holdfast {salt} {info.st_ino}".encode()).hexdigest()[:16]
