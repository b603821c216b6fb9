"""A server that is killed: its processes are dead, at once or when the next one starts; nothing else is."""

import os
import signal
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from holdfast.workspaces.commands.leftover_processes import end_left_over, end_marked
from holdfast.workspaces.commands.process_records import ProcessId, Shelf
from holdfast.workspaces.commands.process_trees import descendants
from holdfast.workspaces.commands.wall import MARK
from tests.workspaces.rooms import CHAT, KINDS, sleeping, token, until
from tests.workspaces.serving import Served
from tests.workspaces.tricks import ESCAPES

pytestmark = pytest.mark.heavy


@pytest.mark.parametrize("kind", KINDS)
async def test_a_killed_server_leaves_no_trees(tmp_path: Path, kind: str) -> None:
    marks = {way: token() for way in ESCAPES}
    orders = [
        {"command": f"echo ready; {ESCAPES[way].format(mark)}", "stay": True} for way, mark in marks.items()
    ]
    served = Served(tmp_path, kind, orders)
    try:
        for _ in range(len(orders) + 1):
            served.line()
        for mark in marks.values():
            await until(lambda mark=mark: sleeping(mark), "it sleeps")
    finally:
        served.kill()
    following = Served(tmp_path, kind, [])
    try:
        assert sorted(following.line()["left_over"]) == sorted(order["command"] for order in orders)
        for way, mark in marks.items():
            await until(lambda mark=mark: not sleeping(mark), f"dead: {way}")
    finally:
        following.process.communicate()
    shelf = Shelf(tmp_path / "data")
    assert shelf.unfinished() == []
    assert {entry.end.how for entry in shelf.all_finished(CHAT) if entry.end is not None} == {"lost"}


async def test_what_outlived_the_server_is_found(tmp_path: Path) -> None:
    """Without a wall the kernel ends nothing by itself, and whoever would have is stopped here."""
    marks = {way: token() for way in ESCAPES}
    orders = [
        {"command": f"echo ready; {ESCAPES[way].format(mark)}", "stay": True} for way, mark in marks.items()
    ]
    served = Served(tmp_path, "none", orders)
    try:
        for _ in range(len(orders) + 1):
            served.line()
        for mark in marks.values():
            await until(lambda mark=mark: sleeping(mark), "it sleeps")
        stop_guards(served)
    finally:
        served.kill()
    assert all(sleeping(mark) for mark in marks.values())
    following = Served(tmp_path, "none", [])
    try:
        assert len(following.line()["left_over"]) == len(orders)
        assert {way: sleeping(mark) for way, mark in marks.items()} == {way: [] for way in marks}
    finally:
        following.process.communicate()


def stop_guards(served: Served) -> None:
    for member in descendants(served.process.pid):
        if b"unwalled_runner.py" in Path(f"/proc/{member.pid}/cmdline").read_bytes():
            os.kill(member.pid, signal.SIGSTOP)


async def test_only_what_carries_the_mark_is_ended(tmp_path: Path) -> None:
    """Processes that look the same but are not ours live on, and so does a mark that nobody wrote down."""
    ours, foreign, unknown = token(), token(), token()
    mark = f"mark-{token()}"
    environment = {"PATH": os.environ["PATH"]}
    processes = [
        # Two that were started by the lost command, one of them without its environment.
        start(["sh", "-c", f"env -i sleep {ours} & sleep {ours}; true"], {**environment, MARK: mark}),
        start(["sleep", foreign], environment),
        start(["sleep", unknown], {**environment, MARK: f"{mark}x"}),
    ]
    try:
        await until(lambda: len(sleeping(ours)) == 2, "ours sleep")
        await until(lambda: sleeping(foreign) and sleeping(unknown), "the others sleep")
        assert end_marked({mark}, 20.0) == 3
        assert sleeping(ours) == []
        assert sleeping(foreign)
        assert sleeping(unknown)
    finally:
        for process in processes:
            process.kill()
            process.wait()


def start(argv: list[str], environment: dict[str, str]) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(argv, env=environment)


def test_an_entry_that_cannot_be_read_harms_nothing(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path)
    for name, content in {"empty": b"", "half": b'{"id": "p-1", "ch', "other": b"[1, 2]"}.items():
        (tmp_path / "commands" / "running" / f"{name}.json").write_bytes(content)
    assert end_left_over(shelf, None, datetime.now(UTC)) == []
    assert shelf.finished(CHAT, ProcessId("p-1")) is None


@pytest.mark.skipif(sys.platform != "linux", reason="control groups are Linux's")
async def test_a_gigabyte_of_output_costs_little_memory(tmp_path: Path) -> None:
    for kind in KINDS:
        directory = tmp_path / kind
        directory.mkdir()
        served = Served(
            directory, kind, [{"command": "true"}, {"command": "yes | head -c 1G; echo; echo end"}]
        )
        try:
            served.line()
            before, after = served.line(), served.line()
        finally:
            served.end()
        assert after["printed"] == 1024**3 + 5
        assert after["text"].startswith("y\ny\n")
        assert after["peak_mib"] - before["peak_mib"] <= 32
