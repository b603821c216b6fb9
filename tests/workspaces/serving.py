"""Starting `tests.workspaces.server` as a process, as this user or as another."""

import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from holdfast.workspaces.commands.cgroups import Cgroups
from tests.workspaces.rooms import PATIENCE_SECONDS

ROOT = Path(__file__).parents[2]
# Nobody's: no account, no files, no rights.
STRANGER = 54321

Order = dict[str, Any]


class Served:
    """A running one."""

    def __init__(
        self,
        directory: Path,
        kind: str,
        orders: list[Order],
        stranger: bool = False,
        network: str = "host",
    ) -> None:
        self._directory = directory
        interpreter = strangers_python() if stranger else sys.executable
        self.process = subprocess.Popen(
            [interpreter, "-m", "tests.workspaces.server", str(directory), kind, json.dumps(orders), network],
            cwd=ROOT,
            env=_environment(stranger),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            user=STRANGER if stranger else None,
            group=STRANGER if stranger else None,
            extra_groups=[] if stranger else None,
        )

    def line(self) -> Any:
        assert self.process.stdout is not None
        text = self.process.stdout.readline()
        if not text:
            _, errors = self.process.communicate(timeout=PATIENCE_SECONDS)
            raise AssertionError(errors.decode())
        said = json.loads(text)
        if "skip" in said:
            self.end()
            pytest.skip(said["skip"])
        return said

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()

    def end(self) -> None:
        """Killed, it cannot clear away its control groups."""
        self.kill()
        if (cgroups := Cgroups.find(self._directory / "data")) is not None:
            for group in cgroups.left_over():
                group.end(PATIENCE_SECONDS)
            cgroups.close()


def serve(directory: Path, kind: str, orders: list[Order], stranger: bool = False) -> list[Any]:
    """What it said of each command; first what it said of itself."""
    served = Served(directory, kind, orders, stranger)
    try:
        return [served.line() for _ in range(len(orders) + 1)]
    finally:
        served.end()


def _environment(stranger: bool) -> dict[str, str]:
    return strangers_environment() if stranger else dict(os.environ)


def strangers_environment() -> dict[str, str]:
    # What it may import without a home, an environment or rights of its own.
    places = [str(ROOT / "src"), *(place for place in sys.path if place.endswith("site-packages"))]
    return {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": os.pathsep.join(places),
        "PYTHONDONTWRITEBYTECODE": "1",
    }


@cache
def strangers_python() -> str:
    """An interpreter that another user may start and that can import what we use; else a skip."""
    for candidate in (sys.executable, "/usr/bin/python3", "/usr/local/bin/python3"):
        try:
            tried = subprocess.run(
                [
                    candidate,
                    "-c",
                    "import holdfast.workspaces.commands.processes, pytest, tests.workspaces.rooms",
                ],
                cwd=ROOT,
                env=_environment(stranger=True),
                user=STRANGER,
                group=STRANGER,
                extra_groups=[],
                capture_output=True,
                check=False,
            )
        except OSError:
            continue
        if tried.returncode == 0:
            return candidate
    pytest.skip("no Python of this machine can be used by another user with our packages")
