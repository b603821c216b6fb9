"""Our own programs behind a wall of this machine, for tests that look into workspaces."""

import math
import tempfile
from functools import cache
from pathlib import Path

import pytest
from msgspec.structs import replace

from holdfast.workspaces.commands.limits import CommandLimits
from holdfast.workspaces.commands.wall import Kind, Wall
from holdfast.workspaces.commands.wall_probe import probe
from holdfast.workspaces.commands.walled_programs import Walled

BOTH: tuple[Kind, ...] = ("bubblewrap", "unshare")


@cache
def _wall(kinds: tuple[Kind, ...]) -> Wall:
    with tempfile.TemporaryDirectory() as name:
        return probe(Path(name), cgroups=None, limits=CommandLimits(), kinds=kinds).wall


def walled_in(data: Path, *kinds: Kind, most_seconds: float = math.inf) -> Walled:
    """Behind the first of these walls that stands here; the test is skipped where none does. With the kind
    `none` there is none."""
    data.mkdir(mode=0o700, parents=True, exist_ok=True)
    if kinds == ("none",):
        return Walled(Wall(kind="none"), data)
    wall = _wall(kinds or BOTH)
    if not wall.stands:
        pytest.skip(f"this machine has no wall made by {' or '.join(kinds or BOTH)}")
    return Walled(replace(wall, hidden=(data.resolve(),)), data, most_seconds=most_seconds)
