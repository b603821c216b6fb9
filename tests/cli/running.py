"""The `holdfast` command as a person runs it: in a process of its own."""

import subprocess
import sys
from pathlib import Path

HOLDFAST = Path(sys.executable).parent / "holdfast"


def holdfast(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [HOLDFAST, *map(str, arguments)], capture_output=True, text=True, timeout=60, check=False
    )


def sentence(*arguments: str | Path) -> str:
    """The one line that a command says which cannot do its work."""
    done = holdfast(*arguments)
    assert done.returncode == 1, done
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert line.startswith("holdfast: ")
    return line
