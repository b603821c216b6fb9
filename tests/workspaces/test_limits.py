"""What a command may use: fork bombs, memory hogs and endless files stay behind the wall. Nothing of the kind
is started before its limit is known to be in force."""

import asyncio
import os
from pathlib import Path

import pytest

from holdfast.workspaces.commands.cgroups import Cgroups, Group, hierarchies
from holdfast.workspaces.commands.limits import CommandLimits
from holdfast.workspaces.commands.processes import Process
from holdfast.workspaces.commands.wall import Kind
from tests.workspaces.rooms import DEATH_SECONDS, EVERYWHERE, WALLS, Room, room, until

SMALL = CommandLimits(processes=40, memory_mib=64, file_mib=8, cpu_seconds=2)

ONE = """\
0::/user.slice/user-1000.slice/session-3.scope
"""
ONE_MOUNTS = """\
24 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw
30 24 0:26 / /sys/fs/cgroup rw,nosuid,nodev,noexec,relatime shared:4 - cgroup2 cgroup2 rw,nsdelegate
"""
OLD = """\
8:pids:/docker/abc
4:memory:/docker/abc/inner
2:cpu,cpuacct:/docker/abc
1:name=systemd:/
0::/
"""
OLD_MOUNTS = """\
35 31 0:32 /docker/abc /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory
39 31 0:36 /docker/abc /sys/fs/cgroup/pids rw,relatime - cgroup cgroup rw,pids
32 31 0:29 /docker/abc /sys/fs/cgroup/cpu,cpuacct rw,relatime - cgroup cgroup rw,cpu,cpuacct
41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw
"""


def test_one_hierarchy() -> None:
    (found,) = hierarchies(ONE, ONE_MOUNTS)
    assert found.version == 2
    assert found.own == Path("/sys/fs/cgroup/user.slice/user-1000.slice/session-3.scope")


def test_a_hierarchy_for_each_controller_in_a_container() -> None:
    found = {
        tuple(sorted(one.controllers)): one.own for one in hierarchies(OLD, OLD_MOUNTS) if one.version == 1
    }
    assert found == {
        ("memory",): Path("/sys/fs/cgroup/memory/inner"),
        ("pids",): Path("/sys/fs/cgroup/pids"),
        ("cpu", "cpuacct"): Path("/sys/fs/cgroup/cpu,cpuacct"),
    }


def test_no_hierarchies_at_all() -> None:
    assert hierarchies("", "") == []


def test_groups_leave_no_directories(tmp_path: Path) -> None:
    cgroups = Cgroups.find(tmp_path)
    if cgroups is None:
        pytest.skip("no control groups can be made here")
    group = cgroups.make("one", SMALL)
    assert [one.directories for one in cgroups.left_over()] == [group.directories]
    assert all(Path(directory).is_dir() for directory in group.directories)
    assert group.end(DEATH_SECONDS)
    cgroups.close()
    assert not any(Path(directory).parent.exists() for directory in group.directories)


@pytest.mark.parametrize("kind", EVERYWHERE)
async def test_processor_and_file_limits(tmp_path: Path, kind: Kind) -> None:
    async with room(tmp_path, kind, limits=SMALL) as found:
        if found is None:
            pytest.skip(f"this machine has no wall made by {kind}")
        end, _ = await found.run("head -c 20000000 /dev/zero > big; exit $?")
        assert end.exit_code != 0
        assert (found.workspace / "big").stat().st_size == 8 * 1024 * 1024
        _, text = await found.run("ulimit -t; ulimit -c")
        assert text == "2\n0\n"
        _, text = await found.run(
            "ulimit -t 100 2>/dev/null && ulimit -f unlimited 2>/dev/null && echo raised"
        )
        assert "raised" not in text or os.geteuid() == 0


@pytest.mark.heavy
@pytest.mark.parametrize("kind", WALLS)
async def test_a_fork_bomb_stays_behind_the_wall(tmp_path: Path, kind: Kind) -> None:
    async with room(tmp_path, kind, limits=SMALL) as found:
        if found is None:
            pytest.skip(f"this machine has no wall made by {kind}")
        process = await found.start(
            "mkfifo gate; read line < gate; bomb() { bomb | bomb & }; bomb; sleep 1000"
        )
        await limited(found, process)
        await until((found.workspace / "gate").exists, "it waits")
        await asyncio.to_thread((found.workspace / "gate").write_text, "go\n")
        group = process.group
        assert group is not None
        most = 0
        for _ in range(20):
            most = max(most, len(group.pids()))
            await asyncio.sleep(0.02)
        assert most <= SMALL.processes
        async with asyncio.timeout(DEATH_SECONDS):
            await found.processes.stop(process, "timed_out")
        assert group.pids() == set()
        assert (await found.run("echo lives"))[1] == "lives\n"


async def limited(found: Room, process: Process) -> None:
    """The command is in a group whose limits are in force; else it is never let go."""
    group = process.group
    if group is None:
        pytest.skip("no control groups can be made here")
    await until(lambda: len(group.pids()) >= 2, "the command is in its group")
    assert written(group, "pids.max") == str(SMALL.processes)
    assert written(group, "memory.max", "memory.limit_in_bytes") == str(SMALL.memory_mib * 1024 * 1024)


def written(group: Group, *names: str) -> str:
    for directory in group.directories:
        for name in names:
            path = Path(directory, name)
            if path.exists():
                return path.read_text().strip()
    raise AssertionError(f"no group has {names}")


@pytest.mark.heavy
@pytest.mark.parametrize("kind", WALLS)
async def test_a_memory_hog_is_killed_and_told_of(tmp_path: Path, kind: Kind) -> None:
    async with room(tmp_path, kind, limits=SMALL) as found:
        if found is None:
            pytest.skip(f"this machine has no wall made by {kind}")
        # tail keeps a line until it ends, which this one never does.
        process = await found.start("mkfifo gate; read line < gate; tail /dev/zero; echo ended $?")
        await limited(found, process)
        await until((found.workspace / "gate").exists, "it waits")
        await asyncio.to_thread((found.workspace / "gate").write_text, "go\n")
        await found.ended(process)
        end = process.ended.result()
        assert end.out_of_memory
        assert "ended 137" in await found.text(process.entry)


@pytest.mark.heavy
async def test_without_groups_each_process_is_held_by_itself(tmp_path: Path) -> None:
    async with room(tmp_path, "bubblewrap", limits=SMALL, groups=False) as found:
        if found is None:
            pytest.skip("this machine has no wall made by bubblewrap")
        assert (await found.run("ulimit -d"))[1] == f"{SMALL.memory_mib * 1024}\n"
        end, text = await found.run("tail /dev/zero; echo ended $?")
        assert "memory" in text
        assert end.exit_code == 0
        assert "not limited" in found.probe.sentences[-1]
