"""What a directory holds, byte for byte: names, kinds, modes, contents, where links lead."""

import hashlib
import os
import stat
from pathlib import Path

Entry = tuple[str, int, str]


def tree_of(root: Path, *, without_git: bool = False) -> dict[str, Entry]:
    """Every entry below, with its kind, mode bits and a digest of what it holds."""
    found: dict[str, Entry] = {}
    for directory, names, files in os.walk(root):
        if without_git and ".git" in names:
            names.remove(".git")
        for name in (*names, *files):
            path = os.path.join(directory, name)
            info = os.lstat(path)
            mode = stat.S_IMODE(info.st_mode)
            relative = os.path.relpath(path, root)
            if without_git and name == ".git":
                continue
            if stat.S_ISLNK(info.st_mode):
                found[relative] = ("link", 0, os.readlink(path))
            elif stat.S_ISDIR(info.st_mode):
                found[relative] = ("directory", mode, "")
            else:
                found[relative] = ("file", mode, hashlib.sha256(Path(path).read_bytes()).hexdigest())
    return found
