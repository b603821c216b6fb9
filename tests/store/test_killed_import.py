"""An import is complete or not there at all, even if the server is killed while it is written."""

import subprocess
import sys
from pathlib import Path

import pytest

from holdfast.core.ids import ChatId
from holdfast.store import messages
from holdfast.store.open import open_store
from tests.store.world import fresh_id, user

ROOT = Path(__file__).parents[2]


def import_and_die(*arguments: str) -> None:
    command = [sys.executable, "-m", "tests.store.killed_import", *arguments]
    done = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True, timeout=110)
    assert done.returncode == -9, done


@pytest.mark.heavy
async def test_nothing_is_left_of_it(url: str, tmp_path: Path) -> None:
    chat_id = ChatId(fresh_id())
    import_and_die(url, str(tmp_path), user(), chat_id)
    store = await open_store(url, data=tmp_path, publish=lambda _: None)
    assert await store.view(chat_id) is None
    assert await store.read(messages.page(chat_id, limit=10, removed=True, for_model=True)) == ()
    assert await store.check() == []
    await store.close()
