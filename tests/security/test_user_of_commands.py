"""The user of a command: under a root server one that owns nothing on the machine, and yet owns the
workspace."""

import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast.workspaces.commands.command_user import identity_of
from holdfast.workspaces.commands.inside import rights
from holdfast.workspaces.commands.mounts import CommandPlace, Private
from tests.workspaces.rooms import Room
from tests.workspaces.tricks import PROBES

ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only of a root server")
SOMEBODY = 4321


def mapped(found: Room) -> Room:
    private = Private(home=found.data, temporary=found.data)
    if identity_of(found.probe.wall, found.place, private) != "mapped":
        pytest.skip("the file system of the tests cannot map users")
    return found


@pytest.fixture
def closed_file() -> Iterator[Path]:
    """Among the system's, for root alone."""
    with tempfile.NamedTemporaryFile(dir="/opt", prefix="holdfast-test-") as file:
        os.fchmod(file.fileno(), 0o600)
        file.write(b"canary")
        file.flush()
        yield Path(file.name)


@ROOT
async def test_a_closed_file_outside_of_etc_cannot_be_read(walled: Room, closed_file: Path) -> None:
    _, text = await walled.run(f"cat {closed_file}; ls -l {closed_file}")
    assert "canary" not in text
    assert "denied" in text


@ROOT
@pytest.mark.parametrize("owner", [0, SOMEBODY, 70_000])
async def test_files_belong_to_the_workspaces_owner(walled: Room, owner: int) -> None:
    found = mapped(walled)
    os.chown(found.workspace, owner, owner)
    (found.workspace / "theirs").write_text("text\n")
    os.chown(found.workspace / "theirs", owner, owner)
    (found.workspace / "theirs").chmod(0o600)
    end, text = await found.run(
        "set -e; cat theirs; echo more >> theirs; touch made; mkdir -p a/b; touch ~/in-home /tmp/in-tmp; "
        "[ $(id -u) != 0 ]; [ $(stat -c %u made) = $(id -u) ]; [ $(stat -c %u ~) = $(id -u) ]; id -un"
    )
    assert end.exit_code == 0, text
    for name in ("theirs", "made", "a", "a/b"):
        there = (found.workspace / name).stat()
        assert (there.st_uid, there.st_gid) == (owner, owner), name
    again, text = await found.run("rm ~/in-home /tmp/in-tmp && echo ok")
    assert (again.exit_code, text) == (0, "ok\n")


def user_of(pid: int) -> int | None:
    """Of the command's own processes, not of ours around it."""
    if Path(f"/proc/{pid}/comm").read_text().strip() not in ("sleep", "bash"):
        return None
    return os.stat(f"/proc/{pid}").st_uid


@ROOT
async def test_in_the_eyes_of_the_machine_it_is_nobody(walled: Room) -> None:
    found = mapped(walled)
    process = await found.start("sleep 1000 & echo ready; wait", background=True)
    await found.printed(process, "ready")
    group = process.group
    if group is None:
        pytest.skip("no control groups can be made here")
    users = {user_of(pid) for pid in group.pids()} - {None}
    await found.processes.stop(process, "stopped", grace_seconds=0)
    assert users == {rights.RANGE}


@ROOT
@pytest.mark.heavy
async def test_where_users_cannot_be_mapped_it_still_holds(
    walled: Room, closed_file: Path, tmp_path: Path
) -> None:
    """An overlay, as in a container."""
    parts = {name: tmp_path / name for name in ("lower", "upper", "work", "merged")}
    for path in parts.values():
        path.mkdir()
    options = f"lowerdir={parts['lower']},upperdir={parts['upper']},workdir={parts['work']}"
    done = subprocess.run(  # noqa: ASYNC221
        ["mount", "-t", "overlay", "overlay", "-o", options, str(parts["merged"])], check=False
    )
    if done.returncode != 0:
        pytest.skip("no overlay can be mounted here")
    try:
        place = CommandPlace(root=parts["merged"])
        private = Private(home=walled.data, temporary=walled.data)
        if identity_of(walled.probe.wall, place, private) != "root":
            pytest.skip("users can be mapped on an overlay here")
        commands = [
            PROBES[name]
            for name in ("cannot read other users' secrets", "cannot mount", "gets no privileges")
        ]
        for command in commands:
            process = await walled.start(command, place=place, cwd=place.root)
            await walled.ended(process)
            assert await walled.text(process.entry) == "ok\n"
        process = await walled.start(
            f"cat {closed_file}; touch made && chmod 4755 made; id -u", place=place, cwd=place.root
        )
        await walled.ended(process)
        assert "canary" not in await walled.text(process.entry)
        assert (parts["merged"] / "made").stat().st_mode & 0o6000 == 0
    finally:
        subprocess.run(["umount", str(parts["merged"])], check=True)  # noqa: ASYNC221


@pytest.mark.parametrize(
    "one, other", [(0, 0), (0, 1000), (5, 5), (0, 5), (70_000, 0), (0, 70_000), (65_535, 1)]
)
def test_numbers_are_swapped_without_a_gap(one: int, other: int) -> None:
    extents = rights.swapped(one, other)
    inside = [number for start, _, count in extents for number in range(start, start + count)]
    outside = [number for _, start, count in extents for number in range(start, start + count)]
    assert len(set(inside)) == len(inside)
    assert len(set(outside)) == len(outside)
    assert set(range(rights.SIZE)) <= set(inside)
    by_number = dict(zip(inside, outside, strict=True))
    assert by_number[one] == rights.RANGE + rights.placed(other)
    assert by_number[other] == rights.RANGE + rights.placed(one)
    assert len(extents) <= 5
