"""Between check and use: whoever exchanges a directory with a link while commands start gets nothing of what
is outside mounted, and nothing mounted elsewhere."""

import ctypes
import os
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from holdfast.core.errors import CannotRun
from holdfast.workspaces.commands.mounts import CommandPlace
from holdfast.workspaces.commands.wall import Kind
from tests.workspaces.rooms import KINDS, Room, room

RENAME_EXCHANGE = 2
AT_FDCWD = -100


@contextmanager
def exchanging(one: Path, other: Path) -> Generator[None]:
    """The two take each other's place all the time, in one step each."""
    rename = ctypes.CDLL(None, use_errno=True).renameat2
    done = threading.Event()

    def exchange() -> None:
        names = (os.fsencode(one), os.fsencode(other))
        while not done.is_set():
            rename(AT_FDCWD, names[0], AT_FDCWD, names[1], RENAME_EXCHANGE)

    thread = threading.Thread(target=exchange)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


async def races(found: Room, tmp_path: Path, tries: int) -> int:
    """How many commands ran; each tries to write what it must not."""
    outside = tmp_path / "outside"
    (outside / "hooks").mkdir(parents=True)
    (outside / "secret").write_text("canary")
    inner, git = found.workspace / "inner", found.workspace / ".git"
    (inner / ".git" / "hooks").mkdir(parents=True)
    git.mkdir()
    links = [found.workspace / name for name in ("link", "other")]
    for link in links:
        link.symlink_to(outside)
    places = (
        CommandPlace(root=inner),  # an inner workspace
        CommandPlace(root=found.workspace, writable=(inner,)),  # a worktree's repository
        CommandPlace(root=found.workspace, readable=(inner,)),  # what a person opened
        CommandPlace(root=found.workspace),  # its own repository
    )
    ran = 0
    with exchanging(inner, links[0]), exchanging(git, links[1]):
        for number in range(tries):
            place = places[number % len(places)]
            with suppress(CannotRun):
                process = await found.start(
                    f"touch {inner}/made {git}/made {git}/hooks/made; cat {inner}/secret {git}/secret",
                    place=place,
                    cwd=place.root,
                )
                await found.ended(process)
                ran += 1
                assert "canary" not in await found.text(process.entry)
            made = sorted(path.name for path in (outside, outside / "hooks") for path in path.iterdir())
            assert made == ["hooks", "secret"], f"the way out was open at try {number}"
    return ran


@pytest.mark.heavy
@pytest.mark.parametrize("kind", KINDS[:-1])
async def test_no_outside_directory_is_mounted(tmp_path: Path, kind: Kind) -> None:
    async with room(tmp_path, kind) as found:
        if found is None:
            pytest.skip(f"this machine has no wall made by {kind}")
        await races(found, tmp_path, 40)


@pytest.mark.slow
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("kind", KINDS[:-1])
async def test_no_outside_directory_is_mounted_in_many_tries(tmp_path: Path, kind: Kind) -> None:
    async with room(tmp_path, kind) as found:
        if found is None:
            pytest.skip(f"this machine has no wall made by {kind}")
        ran = await races(found, tmp_path, 5_000)
        print(f"{ran} of 5000 commands ran, the others were refused")
        assert ran > 0


async def test_a_link_in_the_way_of_a_mount_is_refused(walled: Room, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (walled.workspace / "link").symlink_to(tmp_path / "outside")
    inner = walled.workspace / "link"
    with pytest.raises(CannotRun, match="link"):
        await walled.start("true", place=CommandPlace(root=walled.workspace, writable=(inner,)))
    with pytest.raises(CannotRun, match="link"):
        await walled.start("true", place=CommandPlace(root=inner), cwd=inner)


async def test_what_hides_the_servers_data_cannot_be_moved_away(walled: Room, tmp_path: Path) -> None:
    """The data directory lies deep in a workspace: its parents stay where they are."""
    (tmp_path / "holder").mkdir()
    deep = tmp_path / "holder" / "deep"
    (deep / "data").mkdir(parents=True)
    async with room(deep, walled.probe.wall.kind) as found:
        assert found is not None
        (found.data / "admin.token").write_text("canary")
        for _ in range(2):
            process = await found.start(
                "mv holder elsewhere; mv holder/deep holder/other; find . -name admin.token",
                place=CommandPlace(root=tmp_path),
                cwd=tmp_path,
            )
            await found.ended(process)
            assert "admin.token" not in await found.text(process.entry)
        assert (found.data / "admin.token").exists()
