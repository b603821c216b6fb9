"""The operating system's wall around a sandbox: of the machine it only shows what the interpreter needs to
read, without network or other processes. Inside it the sandbox's own limits apply too."""

import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from holdfast.core.runs import Language
from holdfast.scripts.engines.sandbox import interpreter_paths, needed_paths

_LIBRARIES = ("/lib", "/lib64", "/lib32", "/usr/lib", "/usr/lib64", "/usr/lib32", "/etc/ld.so.cache")


def wall(language: Language, kept_in: Path | None = None) -> tuple[str, ...]:
    """The command to put before the sandbox's, or nothing where there is no bubblewrap that works."""
    return walled(needed_paths(language, kept_in))


def walled(readable: Iterable[str]) -> tuple[str, ...]:
    """For a Python process that needs to read the interpreter's files and these."""
    program = shutil.which("bwrap")
    if program is None:
        return ()
    command = (program, *_options((*interpreter_paths(), *readable)))
    return command if _works(command) else ()


def _options(readable: Iterable[str]) -> list[str]:
    options = ["--unshare-all", "--die-with-parent", "--cap-drop", "ALL", "--chdir", "/"]
    for path in dict.fromkeys((*_LIBRARIES, *readable)):
        options += ["--ro-bind-try", path, path]
    return [*options, "--dev", "/dev", "--remount-ro", "/", "--"]


def _works(command: tuple[str, ...]) -> bool:
    """Many containers do not allow creating namespaces."""
    try:
        tried = subprocess.run(
            [*command, sys.executable, "-I", "-S", "-c", "pass"],
            env={},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=30,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return tried.returncode == 0
