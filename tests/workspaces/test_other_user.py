"""The same wall for a server that is not root: none of it may need privileges."""

import os
import secrets
import shutil
import socket
import subprocess
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


# B-034: what is printed, and how much of it may be there.
PRINTS: dict[str, tuple[str, float]] = {
    "a gigabyte": ("head -c 1000000000 /dev/zero | tr '\\0' x", 60.0),
    "without end": ("yes", 1.0),
    "one long line": ("head -c 100000000 /dev/zero | tr '\\0' y; echo; echo end", 60.0),
    "no text": ("head -c 1000000 /dev/urandom", 60.0),
    "what terminals obey": (
        "printf '\\033]52;c;aGk=\\007\\033]0;title\\007\\033[2Jshown\\0\\n'; cat; cat /dev/tty; echo end",
        60.0,
    ),
}


@pytest.mark.parametrize("kind", KINDS[:-1])
def test_whatever_is_printed_memory_is_bounded(directory: Path, kind: str) -> None:
    """B-034: standard input is closed, there is no terminal, sequences are taken out."""
    orders = [{"command": "true"}] + [
        {"command": command, "seconds": seconds} for command, seconds in PRINTS.values()
    ]
    _, first, *said = serve(directory, kind, orders, stranger=True)
    by_name = dict(zip(PRINTS, said, strict=True))
    assert by_name["a gigabyte"]["printed"] == 10**9
    assert by_name["without end"]["how"] == "timed_out"
    assert by_name["one long line"]["exit_code"] == 0
    assert by_name["what terminals obey"]["text"].endswith("end\n")
    for one in said:
        assert not set(one["text"]) & {"\x1b", "\x07", "\0"}
    assert said[-1]["peak_mib"] - first["peak_mib"] <= 32


@pytest.mark.parametrize("kind", KINDS[:-1])
def test_hogs_are_held_and_the_server_lives(directory: Path, kind: str) -> None:
    """B-035: memory (looked at first: a hog without a limit would take the machine along), files, threads."""
    said = serve(directory, kind, [{"command": "ulimit -d; ulimit -v"}], stranger=True)
    if "unlimited\nunlimited" in said[1]["text"]:
        pytest.fail("no limit on memory is in force")
    shutil.rmtree(directory / "data")
    many = "i=0; while [ $i -lt 64 ]; do (while :; do :; done) & i=$((i+1)); done; wait"
    files = "mkdir many && cd many && seq 1 20000 | xargs touch && ls | wc -l"
    orders = [
        {"command": "tail /dev/zero; echo ended $?", "seconds": 60.0},
        {"command": files, "seconds": 60.0},
        {"command": many, "seconds": 2.0},
        {"command": "echo lives"},
    ]
    _, hog, touched, busy, after = serve(directory, kind, orders, stranger=True)
    assert "ended 0" not in hog["text"]
    assert touched["text"] == "20000\n"
    assert busy["how"] == "timed_out"
    assert after["text"] == "lives\n"


@pytest.mark.parametrize("kind", KINDS[:-1])
def test_what_is_outside_is_neither_killed_nor_reached(directory: Path, kind: str) -> None:
    """B-037: every process of this user is meant, and none but its own dies."""
    bystander = subprocess.Popen(["cat"], stdin=subprocess.PIPE, user=STRANGER, group=STRANGER)
    path = directory / "socket"
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket(socket.AF_UNIX) as local:
        local.bind(str(path))
        path.chmod(0o777)
        local.listen()
        port = server.getsockname()[1]
        script = (
            "import socket\n"
            f"try: socket.create_server(('127.0.0.1', {port})); print('listens')\n"
            "except OSError: print('refused')\n"
            f"try: socket.socket(socket.AF_UNIX).connect({str(path)!r}); print('connects')\n"
            "except OSError: print('refused')\n"
        )
        kills = ("kill -9 -1", "kill -9 $PPID", f"kill -9 {bystander.pid}", "kill -9 1 0")
        orders = [{"command": f"{kill}; sleep 0.01"} for kill in kills]
        orders += [{"command": f'python3 -c "{script}"'}, {"command": "echo lives"}]
        try:
            *_, reached, after = serve(directory, kind, orders, stranger=True)
            assert bystander.poll() is None
        finally:
            bystander.communicate()
    assert after["text"] == "lives\n"
    assert reached["text"] in ("refused\nrefused\n", "sh: 1: python3: not found\n")
