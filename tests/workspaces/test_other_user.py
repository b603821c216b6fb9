"""The same wall for a server that is not root: nothing of it may need rights."""

import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.workspaces.rooms import KINDS, sleeping, token
from tests.workspaces.serving import STRANGER, Served, serve
from tests.workspaces.tricks import ESCAPES, PROBES

pytestmark = [
    pytest.mark.heavy,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user"),
]


@pytest.fixture
def directory() -> Iterator[Path]:
    """Where the other user may work: pytest's own directories are closed to it."""
    path = Path(tempfile.mkdtemp(prefix=f"holdfast-{secrets.token_hex(4)}-"))
    os.chown(path, STRANGER, STRANGER)
    yield path
    shutil.rmtree(path)


@pytest.mark.parametrize("kind", KINDS[:-1])
def test_the_wall_holds(directory: Path, kind: str) -> None:
    # Other tests have their directories in /tmp, and this one has its own there.
    commands = {
        name: command.replace("grep -v pytest", "grep -v holdfast-") for name, command in PROBES.items()
    }
    said = serve(directory, kind, [{"command": command} for command in commands.values()], stranger=True)
    assert {name: one["text"] for name, one in zip(PROBES, said[1:], strict=True)} == dict.fromkeys(
        PROBES, "ok\n"
    )


@pytest.mark.parametrize("kind", KINDS)
def test_the_whole_tree_is_dead_after_a_timeout(directory: Path, kind: str) -> None:
    marks = {way: token() for way in ESCAPES}
    orders = [{"command": ESCAPES[way].format(mark), "seconds": 1.0} for way, mark in marks.items()]
    served = Served(directory, kind, orders, stranger=True)
    try:
        said = [served.line() for _ in range(len(orders) + 1)]
        alive = {way: sleeping(mark) for way, mark in marks.items()}
    finally:
        served.end()
    assert [one["how"] for one in said[1:]] == ["timed_out"] * len(orders)
    assert alive == {way: [] for way in marks}


@pytest.mark.parametrize("kind", KINDS[:-1])
def test_processes_are_limited_before_a_fork_bomb(directory: Path, kind: str) -> None:
    """The limit is looked at first: a bomb without one would take the machine along."""
    said = serve(directory, kind, [{"command": "ulimit -u"}], stranger=True)
    if said[1]["text"] != "512\n":
        pytest.fail(f"the limit is not in force: {said[1]['text']!r}")
    shutil.rmtree(directory / "data")
    bomb = "bomb() { bomb | bomb & }; bomb; sleep 3; echo survived"
    said = serve(
        directory, kind, [{"command": bomb, "seconds": 5.0}, {"command": "echo lives"}], stranger=True
    )
    assert said[2]["text"] == "lives\n"
