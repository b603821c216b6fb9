"""SIGKILL while committing: what was acknowledged is there, nothing is half there."""

import asyncio
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from holdfast.core.ids import ChatId
from holdfast.store.sqlite.open import open_sqlite
from tests.store.sqlite import committing

ROOT = Path(__file__).parents[3]


def run_and_kill(file: Path, seconds: float) -> list[str]:
    """What the child said was committed before its end."""
    child = subprocess.Popen(
        [sys.executable, committing.__file__, str(file)],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert child.stdout is not None
    first = child.stdout.readline()
    time.sleep(seconds)
    child.send_signal(signal.SIGKILL)
    said = first + child.stdout.read()
    child.wait()
    child.stdout.close()
    assert first, "the child did not get to commit anything"
    return said.decode().splitlines()


async def kill_once(file: Path, seconds: float) -> int:
    """How many commits were acknowledged before the end."""
    said = await asyncio.to_thread(run_and_kill, file, seconds)
    acknowledged: dict[ChatId, tuple[int, int]] = {}
    for line in said:
        chat_id, version, count = line.split()
        before = acknowledged.get(ChatId(chat_id), (0, 0))
        acknowledged[ChatId(chat_id)] = max(before, (int(version), int(count)))
    store = open_sqlite(file, publish=lambda _: None)
    try:
        for chat_id, (version, count) in acknowledged.items():
            view = await store.view(chat_id)
            assert view is not None
            assert view.chat.version >= version
            assert view.chat.message_count >= count
        assert await store.check() == []
        # Nobody owns anything any more: the next server takes it all.
        worker = await store.register_worker("next", 15)
        taken = await store.acquire(worker, limit=1000, agents_limit=0)
        assert {view.chat.id for view in taken} >= acknowledged.keys()
        for view in taken:
            assert all(call.state != "started" for call in view.calls)
    finally:
        await store.close()
    return len(said)


async def test_a_few_kills(tmp_path: Path) -> None:
    assert await kill_once(tmp_path / "holdfast.db", 0.05) > 0


@pytest.mark.heavy
async def test_fifteen_kills(tmp_path: Path) -> None:
    await kill_often(tmp_path, 15)


@pytest.mark.slow
async def test_a_hundred_kills(tmp_path: Path) -> None:
    await kill_often(tmp_path, 100)


async def kill_often(tmp_path: Path, kills: int) -> None:
    """On one file: each server finds what the one before left."""
    chance = random.Random(50)
    acknowledged = 0
    for n in range(kills):
        # A new file now and then, so that checking what all of them left does not take over.
        acknowledged += await kill_once(tmp_path / f"{n // 10}.db", chance.uniform(0, 0.15))
    assert acknowledged > kills
