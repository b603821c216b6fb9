"""Processes that are given up while they still have much to say."""

import asyncio
import sys
from typing import Any

from holdfast.workspaces.streams import drained, kill_group, read_at_most

CHATTERS = "import os\nwhile True: os.write(1, b'x' * 65536)"


async def test_one_that_nobody_listens_to_any_more_ends() -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", CHATTERS, stdout=asyncio.subprocess.PIPE, start_new_session=True
    )
    assert process.stdout is not None
    assert await read_at_most(process.stdout, 10) == b"x" * 10
    # Until its pipe is full, and asyncio has stopped reading it.
    stdout: Any = process.stdout
    while not stdout._paused:  # noqa: ASYNC110
        await asyncio.sleep(0.01)
    kill_group(process)
    async with asyncio.timeout(60):
        await drained(process)
    assert process.returncode == -9
