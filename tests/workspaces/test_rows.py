"""Bad input to file tools and searches, as whoever runs the tests and as another user."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tests.workspaces.other_user import NOBODY
from tests.workspaces.rows import APART, ROWS, Row
from tests.workspaces.stage import Stage

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.__name__)
def test_bad_input(row: Row, tmp_path: Path) -> None:
    row(Stage(tmp_path))


@pytest.mark.heavy
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user; the rows ran as this one")
def test_bad_input_as_another_user() -> None:
    # Where everybody may look: pytest's own directories are closed.
    base = Path(tempfile.gettempdir()) / f"holdfast-rows-{os.getpid()}"
    base.mkdir()
    os.chown(base, NOBODY, NOBODY)
    try:
        told = subprocess.run(
            [sys.executable, "-m", "tests.workspaces.other_user", base],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
    finally:
        subprocess.run(["rm", "-rf", "--", base], check=True)
    assert told.returncode == 0, told.stderr
    report = json.loads(told.stdout)
    assert report["user"] == NOBODY
    assert set(report["ended"]) == {row.__name__ for row in (*ROWS, *APART)}
    failed = {name: end for name, end in report["ended"].items() if end}
    assert not failed, "\n".join(failed.values())
