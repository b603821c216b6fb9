"""Replicas that are restarted one after the other while people work: nothing is lost, nothing is done twice,
no turn fails, and load balancers and watchers are told in time."""

import asyncio
import random
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.api.serving import Client
from tests.api.watching import watching
from tests.chaos.clients import Clients
from tests.chaos.watchers import MANNERS, Audience, Roamer
from tests.replicas.cluster import PATIENCE_SECONDS, eventually, replicas, until_owned
from tests.server.process import ServeProcess
from tests.tcp_proxy import TcpProxy

pytestmark = [pytest.mark.heavy, pytest.mark.timeout(600)]

CHATS = 9
WORDS = " ".join(f"word{number}" for number in range(40))
SETTINGS = """\
[worker]
lease_seconds = 3
grace_seconds = 20
[tools.execute]
approval = "allow"
[workspaces]
roots = ["{root}"]
"""


def script(number: int) -> str:
    return (
        f"pace: 0.05\nsay slowly: First {WORDS}\n"
        f'call: execute {{"command": "echo effect{number} >> ledger.txt; sleep 0.3"}}\n'
        f"pace: 0.05\nsay slowly: Second {WORDS}"
    )


async def status_of(server: ServeProcess) -> tuple[int, str]:
    answer = await server.client(None).get("/readyz")
    return answer.status, answer.json["status"]


async def test_a_rolling_restart_of_all_under_load(postgres_url: str, tmp_path: Path) -> None:
    code = tmp_path / "code"
    code.mkdir()
    async with replicas(tmp_path, postgres_url, config=SETTINGS.format(root=code)) as three:
        token, chance = three[0].admin.token or "", random.Random(1)
        made = await three[0].admin.post("workspaces", {"name": "code", "path": str(code)})
        more = {"workspace_id": made.json["id"]}
        chats = [
            (await three[number % 3].client(token).start_chat(script(number), **more))["id"]
            for number in range(CHATS)
        ]
        anybody = Clients(
            three[0].session, lambda: [one.address for one in three if one.alive], token, chance
        )
        crowd = Audience(anybody, chance)
        for chat_id in chats:
            crowd.watch(chat_id)
        comers = crowd.watchers
        for number, server in enumerate(three):
            await eventually(
                lambda: (
                    sum(one.preview is not None for one in comers) > CHATS // 2
                    or all(one.status == "idle" for one in comers)
                ),
                "streams under way",
            )
            # What is accepted while one of them leaves is kept.
            sent = await server.client(token).post(
                f"chats/{chats[number]}/messages", {"content": "say: more"}
            )
            assert sent.status in (201, 202), sent
            server.signal(signal.SIGTERM)
            assert await server.ended() == 0
            await server.start()
        admin = three[0].client(token)
        for chat_id in chats:
            await _until_idle(admin, chat_id)
        for comer in comers:
            async with asyncio.timeout(PATIENCE_SECONDS):
                await comer.until(lambda one: one.status == "idle" and one.preview is None)
        await crowd.leave()
        await _check(three[1].client(token), chats, comers)
        effects = (code / "ledger.txt").read_text().split()
        assert sorted(effects) == sorted(f"effect{number}" for number in range(CHATS))
        assert sum(comer.closings for comer in comers) > 0
        assert all("Traceback" not in server.logged() for server in three)


async def _until_idle(admin: Client, chat_id: str) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while (await admin.chat(chat_id))["status"] != "idle":  # noqa: ASYNC110 - it happens elsewhere
            await asyncio.sleep(0.1)


async def _check(admin: Client, chats: list[str], comers: list[Roamer]) -> None:
    for number, chat_id in enumerate(chats):
        messages = await admin.messages(chat_id)
        said = [(one["id"], one["role"], one["parts"]) for one in messages]
        assert [comer.said for comer in comers if comer.chat_id == chat_id] == [said] * len(MANNERS)
        texts = [_text(one) for one in messages if one["role"] == "assistant"]
        assert texts == [f"First {WORDS}", f"Second {WORDS}", *(["more"] if number < 3 else [])]
        turns = (await admin.get(f"chats/{chat_id}/trace?kind=turn")).json["items"]
        assert {turn["failure"] for turn in turns} == {None}


def _text(message: dict[str, Any]) -> str:
    return "".join(part.get("text", "") for part in message["parts"])


async def test_who_leaves_says_so_while_a_call_has_its_grace(postgres_url: str, tmp_path: Path) -> None:
    code = tmp_path / "code"
    code.mkdir()
    config = SETTINGS.format(root=code)
    async with replicas(tmp_path, postgres_url, count=2, config=config) as both:
        waiting = 'call: execute {"command": "until [ -e go ]; do sleep 0.1; done; echo went"}\nsay: {result}'
        made = await both[0].admin.post("workspaces", {"name": "code", "path": str(code)})
        chat = await both[0].admin.start_chat(waiting, workspace_id=made.json["id"])
        owner = await until_owned(postgres_url, chat["id"], both)
        (other,) = [one for one in both if one is not owner]
        async with watching(owner.admin, chat["id"]) as there:
            await there.until(lambda one: any(span["kind"] == "tool_call" for span in one.spans.values()))
            owner.signal(signal.SIGTERM)
            await eventually(lambda: there.ended, "the end of the feed")
        assert there.events[-1][0] == "closing"
        # Requests are answered, feeds are not begun, and load balancers know.
        assert await status_of(owner) == (503, "stopping")
        assert await status_of(other) == (200, "ok")
        assert (await owner.admin.chat(chat["id"]))["status"] == "running"
        refused = await owner.admin.get(f"chats/{chat['id']}/feed")
        assert (refused.status, refused.code) == (503, "try_again")
        assert "Retry-After" in refused.headers
        async with watching(other.admin, chat["id"], cursor=there.cursor) as elsewhere:
            (code / "go").touch()
            assert await owner.ended() == 0
            await elsewhere.until(lambda one: one.status == "idle")
        messages = await other.admin.messages(chat["id"])
        assert "went" in _text(messages[-1])
        assert [*there.said, *elsewhere.said] == [(one["id"], one["role"], one["parts"]) for one in messages]


async def test_who_lost_the_database_is_not_ready(postgres_url: str, tmp_path: Path) -> None:
    async with (
        TcpProxy(postgres_url) as line,
        replicas(tmp_path, [line.url, postgres_url]) as (cut_off, other),
    ):
        assert await status_of(cut_off) == (200, "ok")
        line.mode = "black_hole"
        line.cut()
        async with asyncio.timeout(PATIENCE_SECONDS):
            while (await status_of(cut_off))[0] == 200:  # noqa: ASYNC110 - connections are still tried
                await asyncio.sleep(0.1)
        assert await status_of(cut_off) == (503, "unavailable")
        assert await status_of(other) == (200, "ok")
        line.mode = "pass"
        async with asyncio.timeout(PATIENCE_SECONDS):
            while (await status_of(cut_off))[0] != 200:  # noqa: ASYNC110 - as above
                await asyncio.sleep(0.1)
