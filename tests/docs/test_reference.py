"""The reference pages say what the code says."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_reference_pages_are_up_to_date() -> None:
    told = subprocess.run(
        [sys.executable, ROOT / "scripts" / "reference.py", "--check"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert told.returncode == 0, told.stderr
