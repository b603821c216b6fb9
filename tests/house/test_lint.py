"""`make lint` runs its parts at the same time and reports each in turn, whichever failed."""

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PARTS = ["format", "lint", "imports", "page", "types"]


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Programs that have nothing to say against anything."""
    copy = tmp_path / "a checkout"
    (copy / "scripts").mkdir(parents=True)
    shutil.copy(ROOT / "scripts" / "lint", copy / "scripts")
    (copy / "scripts" / "page").write_text("echo the page\n")
    for name in ("ruff", "pyright", "lint-imports"):
        program(copy, name, f"echo {name}")
    return copy


def program(checkout: Path, name: str, text: str) -> None:
    path = checkout / ".venv" / "bin" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def lint(checkout: Path) -> subprocess.CompletedProcess[str]:
    command = ["sh", str(checkout / "scripts" / "lint")]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_all_is_well(checkout: Path) -> None:
    done = lint(checkout)
    assert (done.returncode, done.stderr) == (0, "")
    assert [line[4:] for line in done.stdout.splitlines() if line.startswith("==> ")] == PARTS
    assert done.stdout.endswith("==> types\npyright\n")


def test_what_failed_is_told_and_so_is_the_rest(checkout: Path) -> None:
    program(checkout, "lint-imports", "echo core imports cli >&2; exit 3")
    program(checkout, "pyright", "echo wrong; exit 1")
    done = lint(checkout)
    assert (done.returncode, done.stderr) == (1, "lint: failed: imports types\n")
    assert "==> imports\ncore imports cli\n==> page\nthe page\n==> types\nwrong\n" in done.stdout


def test_files_that_are_not_formatted(checkout: Path) -> None:
    program(checkout, "ruff", 'if [ "$1" = format ]; then echo a.py; exit 1; fi')
    done = lint(checkout)
    assert done.returncode == 1
    assert "a.py\nlint: the files above are not formatted; run make fmt\n" in done.stdout
