"""Disks that are small, so that they can really be full; and closed to everybody, root included."""

import os
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

BALLAST = "ballast"


@contextmanager
def small_disk(at: Path, size: str = "4m") -> Generator[Path]:
    """A file system of its own. The test is skipped where none may be mounted."""
    at.mkdir()
    mounting = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size},mode=700", "tmpfs", at], capture_output=True, check=False
    )
    if mounting.returncode != 0:
        pytest.skip("a small disk can be mounted by root alone")
    try:
        yield at
    finally:
        subprocess.run(["umount", "--lazy", at], check=True)


@contextmanager
def small_disk_if_possible(at: Path, size: str) -> Generator[Path | None]:
    """For who can go on without one: None, and a plain directory, where none may be mounted."""
    try:
        with small_disk(at, size) as disk:
            yield disk
    except pytest.skip.Exception:
        yield None


def fill(disk: Path, leave: int = 0) -> None:
    """Until there is room for `leave` bytes; by a file that can be removed again."""
    path = disk / BALLAST
    with path.open("ab", buffering=0) as ballast:
        try:
            while True:
                ballast.write(bytes(4096))
        except OSError:
            pass
    os.truncate(path, max(path.stat().st_size - leave, 0))


def free(disk: Path) -> None:
    (disk / BALLAST).unlink()


def make_read_only(disk: Path) -> None:
    subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
