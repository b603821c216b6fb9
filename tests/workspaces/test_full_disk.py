"""Commands while the disk of the data directory is full: those that run end, and those after them run."""

from pathlib import Path

import pytest

from tests.disks import fill, free, small_disk
from tests.workspaces.rooms import room


@pytest.mark.heavy
async def test_a_command_that_ends_on_a_full_disk_ends(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk") as disk:
        async with room(disk, "none") as made:
            assert made is not None
            process = await made.start("sleep 600")
            fill(disk)
            await made.processes.stop(process, "cancelled", grace_seconds=0)
            await made.ended(process)
            free(disk)
            end, text = await made.run("echo again")
            assert (end.exit_code, text) == (0, "again\n")
