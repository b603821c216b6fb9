"""A chat that runs on one replica, watched on another: every part arrives as it is streamed, and the end is
what the database has, whatever happens to the one that ran it."""

import asyncio
from pathlib import Path

import pytest

from tests.api.watching import Speaks, Watcher, watching
from tests.replicas.cluster import PATIENCE_SECONDS, replicas, until_owned

pytestmark = [pytest.mark.heavy, pytest.mark.timeout(400)]

WORDS = " ".join(f"wörd{number}→" for number in range(60))
SLOWLY = f"pace: 0.03\nthink slowly: {WORDS}\nsay slowly: {WORDS}"
ONLY_REQUESTS = {"HOLDFAST_WORKER_ENABLED": "false"}


def shown(watcher: Watcher, kind: str) -> str:
    """What came as live parts."""
    parts = [data["part"] for name, _, data in watcher.events if name == "part"]
    return "".join(part["text"] for part in parts if part["type"] == kind)


@pytest.mark.parametrize("speaks", ["sse", "websocket"])
async def test_live_parts_cross_the_bus_byte_for_byte(
    speaks: Speaks, postgres_url: str, tmp_path: Path
) -> None:
    async with replicas(tmp_path, postgres_url, count=2, environs=({}, ONLY_REQUESTS)) as (runs, serves):
        chat = await serves.admin.start_chat(SLOWLY)
        async with watching(serves.admin, chat["id"], speaks) as there:
            await there.until(lambda one: one.status == "idle" and one.preview is None)
        assert shown(there, "reasoning") == WORDS
        assert shown(there, "text") == WORDS
        assert len([name for name in there.names if name == "part"]) > 20
        for replica in (runs, serves):
            messages = await replica.admin.messages(chat["id"])
            assert there.said == [(one["id"], one["role"], one["parts"]) for one in messages]


async def test_the_owner_dies_in_mid_stream(postgres_url: str, tmp_path: Path) -> None:
    async with replicas(tmp_path, postgres_url, count=2) as both:
        chat = await both[0].admin.start_chat(SLOWLY)
        owner = await until_owned(postgres_url, chat["id"], both)
        (other,) = [one for one in both if one is not owner]
        async with watching(other.admin, chat["id"]) as there:
            await there.until(lambda one: one.preview is not None and len(one.preview.text) > 50)
            owner.kill()
            assert await owner.ended() < 0
            assert await until_owned(postgres_url, chat["id"], both) is other
            async with asyncio.timeout(PATIENCE_SECONDS):
                await there.until(lambda one: one.status == "idle" and one.preview is None)
        assert there.names.count("preview_reset") == 1
        messages = await other.admin.messages(chat["id"])
        assert there.said == [(one["id"], one["role"], one["parts"]) for one in messages]
        assert [part["text"] for part in messages[-1]["parts"]] == [WORDS, WORDS]
        assert "Traceback" not in other.logged()
