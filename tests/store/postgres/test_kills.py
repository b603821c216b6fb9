"""SIGKILL in the middle of committing, again and again: what was acknowledged is there, nothing is half
there."""

import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from holdfast.core.ids import ChatId
from tests.postgres import Postgres
from tests.store.postgres.replicas import replica

# Each needs a database made for it.
pytestmark = pytest.mark.heavy

HERE = Path(__file__).parents[3]


@pytest.mark.timeout(600)
async def test_15_kills(own_postgres: Postgres) -> None:
    await kill_often(own_postgres, 15)


@pytest.mark.slow
@pytest.mark.timeout(3600)
async def test_100_kills(own_postgres: Postgres) -> None:
    await kill_often(own_postgres, 100)


async def kill_often(own_postgres: Postgres, kills: int) -> None:
    url = own_postgres.create_database("hf")
    chance = random.Random(7)
    async with replica(url) as store:
        commits = 0
        for _ in range(kills):
            told = _committed_until_killed(url, chance.uniform(0.02, 0.3))
            commits += len(told)
            last: dict[str, tuple[int, int]] = {}
            for line in told:
                chat_id, version, messages = line.split()
                last[chat_id] = int(version), int(messages)
            for chat_id, (version, messages) in last.items():
                view = await store.view(ChatId(chat_id))
                assert view is not None
                # One more may have been committed that it had no time to tell: results and a steer at most.
                assert version <= view.chat.version <= version + 1
                assert messages <= view.chat.message_count <= messages + 2
        assert commits > kills
        assert await store.check() == []


def _committed_until_killed(url: str, seconds: float) -> list[str]:
    command = [sys.executable, "-m", "tests.store.postgres.committing", url]
    with subprocess.Popen(command, cwd=HERE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        first = process.stdout.readline()
        time.sleep(seconds)
        process.kill()
        rest = process.stdout.read()
    assert first, "it ended by itself"
    return [line for line in (first + rest).decode().split("\n")[:-1] if line]
