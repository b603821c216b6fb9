"""Feeds over real HTTP, as server-sent events and as WebSocket: what a new, a returning and a long-lived
client receives, and how each feed ends."""

import asyncio
import socket
from dataclasses import replace
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.api.serving import PATIENCE_SECONDS, Client, Serving, config_for, serving
from tests.api.watching import Speaks, Watcher, watching
from tests.feed.client import eventually

SLOW = "pace: 0.05\nsay slowly: " + " ".join(f"word{number}" for number in range(40))
ENDLESS = "pace: 0.1\nsay slowly: " + "on and on " * 5000
UPGRADE = (
    "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
    "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
)
both = pytest.mark.parametrize("speaks", ["sse", "websocket"])


async def _said(client: Client, chat_id: str) -> list[Any]:
    """What REST says, as a watcher would hold it."""
    return [(one["id"], one["role"], one["parts"]) for one in await client.messages(chat_id)]


def caught_up(watcher: Any) -> bool:
    return "caught_up" in watcher.names


def at_rest(watcher: Any) -> bool:
    return caught_up(watcher) and watcher.status in ("idle", "error") and watcher.preview is None


# --- coming and coming back ---


@both
async def test_a_first_visit(admin: Client, speaks: Speaks) -> None:
    chat = await admin.start_chat('call: todo {"items": []}\nsay: done')
    await admin.until_settled(chat["id"])
    await admin.post(f"chats/{chat['id']}/messages", {"content": "say: again"})
    await admin.until_settled(chat["id"])
    async with watching(admin, chat["id"], speaks) as watcher:
        await watcher.until(caught_up)
        assert watcher.said == await _said(admin, chat["id"])
        assert watcher.state["chat"].keys() == chat.keys()
        assert watcher.state["queue"] == {"items": []}
        before = watcher.names[: watcher.names.index("caught_up")]
        assert {"chat", "status", "queue", "usage"} <= set(before)
        trace = (await admin.get(f"chats/{chat['id']}/trace")).json["items"]
        assert watcher.spans == {span["id"]: span for span in trace}
    async with watching(admin, chat["id"], speaks, query="tail=1") as watcher:
        await watcher.until(caught_up)
        assert watcher.said == (await _said(admin, chat["id"]))[-1:]


@both
async def test_coming_back_after_every_event(admin: Client, speaks: Speaks) -> None:
    """Whatever was the last event that came, the rest comes once."""
    chat = await admin.start_chat('call: todo {"items": []}\nsay: done')
    await admin.until_settled(chat["id"])
    async with watching(admin, chat["id"], speaks) as first:
        await first.until(caught_up)
    whole = await _said(admin, chat["id"])
    for seen in range(1, len(first.events)):
        for by_query in (True, False):
            again = Watcher(admin, f"chats/{chat['id']}/feed", speaks, by_query=by_query)
            for event in first.events[:seen]:
                again.apply(*event)
            already = len(again.names)
            task = asyncio.create_task(again.connect_once())
            task.add_done_callback(again.note_end)
            await again.until(lambda one, already=already: "caught_up" in one.names[already:])
            assert again.said == whole
            task.cancel()
            await asyncio.wait({task})


async def test_a_cursor_that_means_nothing_is_a_new_beginning(admin: Client) -> None:
    chat = await admin.start_chat("say: hi")
    other = await admin.start_chat("say: other")
    for one in (chat, other):
        await admin.until_settled(one["id"])
    async with watching(admin, other["id"]) as watcher:
        await watcher.until(caught_up)
    for cursor in ("x", "1.2.3", watcher.cursor, (watcher.cursor or "")[:-1] + "x", "99999999999999999999"):
        async with watching(admin, chat["id"], cursor=cursor) as again:
            await again.until(caught_up)
            assert again.said == await _said(admin, chat["id"])
            assert again.names[0] == "history_reset"


# --- while it happens ---


@pytest.mark.heavy
@both
async def test_live_text_is_replaced_by_its_message(admin: Client, speaks: Speaks) -> None:
    chat = await admin.start_chat(SLOW)
    async with watching(admin, chat["id"], speaks) as watcher:
        await watcher.until(lambda one: one.preview is not None and one.preview.n > 5)
        await watcher.until(at_rest)
        assert watcher.said == await _said(admin, chat["id"])
        parts = [data for name, _, data in watcher.events if name == "part"]
        assert parts[0].get("first", parts[0]["n"]) == 1
        (message,) = [
            data
            for name, _, data in watcher.events
            if name == "message" and data["message"]["role"] == "assistant"
        ]
        last = parts[-1]
        assert message["replaces"] == {
            "history_version": last["history_version"],
            "attempt": last["attempt"],
        }
        assert "preview_reset" not in watcher.names
        assert "usage" in watcher.names


@pytest.mark.heavy
@both
async def test_coming_in_the_middle_of_a_stream(admin: Client, speaks: Speaks) -> None:
    chat = await admin.start_chat(SLOW)
    async with watching(admin, chat["id"], speaks) as first:
        await first.until(lambda one: one.preview is not None and one.preview.n > 3)
        async with watching(admin, chat["id"], speaks) as late:
            await late.until(lambda one: one.preview is not None)
            await late.until(at_rest)
            await first.until(at_rest)
            assert late.said == first.said == await _said(admin, chat["id"])


@pytest.mark.heavy
@both
async def test_a_failed_attempt_withdraws_what_was_shown(admin: Client, speaks: Speaks) -> None:
    chat = await admin.start_chat("say slowly: this will not do\nfail: overloaded 1 times\nsay: but this")
    async with watching(admin, chat["id"], speaks) as watcher:
        await watcher.until(at_rest)
        assert watcher.said == await _said(admin, chat["id"])
        if watcher.connections == 1 and "part" in watcher.names[: watcher.names.index("retry")]:
            assert "preview_reset" in watcher.names
        retry = next(data for name, _, data in watcher.events if name == "retry")
        assert retry["kind"] == "overloaded"


@both
async def test_what_moves_is_told(admin: Client, speaks: Speaks) -> None:
    """Queue, edits, questions: everything that a page shows."""
    chat = await admin.start_chat(ENDLESS)
    async with watching(admin, chat["id"], speaks) as watcher:
        await watcher.until(lambda one: one.status == "running" and caught_up(one))
        await admin.post(f"chats/{chat['id']}/messages", {"content": "say: next"})
        await watcher.until(lambda one: len(one.state["queue"]["items"]) == 1)
        await admin.post(f"chats/{chat['id']}/interrupt")
        await watcher.until(lambda one: one.state["queue"]["items"] == [])
        await watcher.until(at_rest)
        asked = next(message for message in watcher.messages.values() if message["role"] == "user")
        await admin.patch(
            f"chats/{chat['id']}/messages/{asked['id']}",
            {"content": 'call: ask_user {"questions": [{"id": "q", "text": "Tea?"}]}\nsay: {result}'},
        )
        await watcher.until(lambda one: one.status == "requires_action")
        assert "history_reset" in watcher.names
        (call,) = watcher.state["action_required"]["calls"]
        answer = {"results": [{"call_id": call["call_id"], "output": {"q": "yes"}}]}
        assert (await admin.post(f"chats/{chat['id']}/tool-results", answer)).status == 202
        await watcher.until(at_rest)
        assert watcher.said == await _said(admin, chat["id"])


# --- the end ---


@both
async def test_a_server_that_stops_says_so(speaks: Speaks, database_url: str, tmp_path: Any) -> None:
    async with serving(config_for(tmp_path / "data", database_url)) as server:
        chat = await server.admin.start_chat("say: hi")
        await server.admin.until_settled(chat["id"])
        watchers = [
            Watcher(server.admin, f"chats/{chat['id']}/feed", speaks),
            Watcher(server.admin, "feed", "sse"),
        ]
        tasks = [asyncio.create_task(watcher.connect_once()) for watcher in watchers]
        for watcher in watchers:
            await watcher.until(caught_up)
        stopping = asyncio.create_task(server.parts.services.hub.close())
        for watcher in watchers:
            await watcher.until(lambda one: one.names[-1] == "closing")
            assert watcher.closing_reason == "closing"
        await asyncio.gather(stopping, *tasks)
        assert watchers[0].close_code == (4503 if speaks == "websocket" else None)


@pytest.mark.heavy
@both
@pytest.mark.parametrize("how", ["revoked", "suspended", "signed out", "deleted"])
async def test_who_loses_access_is_cut(server: Serving, speaks: Speaks, how: str) -> None:
    """AC-05: within five seconds; a busy machine gets twenty."""
    member = await server.member()
    chat = await member.start_chat(ENDLESS)
    who = await _credential(server, member, how)
    async with watching(who, chat["id"], speaks) as watcher:
        await watcher.until(lambda one: one.preview is not None)
        await _take_away(server, member, who, chat["id"], how)
        async with asyncio.timeout(20):
            await watcher.until(lambda _: watcher.ended)
        assert watcher.closing_reason == ("deleted" if how == "deleted" else "access")
        if speaks == "websocket":
            assert watcher.close_code == (4404 if how == "deleted" else 4403)
    if how != "deleted":
        assert (await who.get(f"chats/{chat['id']}")).status == 401


async def _credential(server: Serving, member: Client, how: str) -> Client:
    """Another one than the member acts with."""
    made = await member.browser.post("tokens", {"name": "watching", "scopes": ["chats:read"]})
    if how != "signed out":
        return server.client(made.json["secret"])
    answer = await server.nobody.post("session", {"token": made.json["secret"]})
    return server.client(answer.headers["Set-Cookie"].partition(";")[0].partition("=")[2])


async def _take_away(server: Serving, member: Client, who: Client, chat_id: str, how: str) -> None:
    match how:
        case "revoked":
            tokens = (await member.browser.get("tokens")).json["items"]
            (token,) = [token for token in tokens if token["name"] == "watching"]
            answer = await member.browser.delete(f"tokens/{token['id']}")
        case "suspended":
            user = (await member.get("session")).json["user"]["id"]
            answer = await server.admin.patch(f"users/{user}", {"suspended": True})
        case "signed out":
            answer = await who.delete("session")
        case _:
            answer = await member.delete(f"chats/{chat_id}")
    assert answer.status in (200, 204), answer


@pytest.mark.heavy
async def test_who_does_not_read_is_cut_and_harms_nobody(server: Serving) -> None:
    """F-41: when sending to it takes too long, or at its limit of backlog, whichever comes first."""
    admin, hub = server.admin, server.parts.services.hub
    hub.limits = replace(hub.limits, send_seconds=5.0)
    large = "say: " + "lorem ipsum " * 80_000
    chat = await admin.start_chat("say: hi")
    await admin.until_settled(chat["id"])
    silent = [_open_and_do_not_read(server, f"/api/v1/chats/{chat['id']}/feed") for _ in range(20)]
    try:
        async with watching(admin, chat["id"]) as watcher:
            await eventually(lambda: hub.watchers == 21)
            for _ in range(12):
                await admin.post(f"chats/{chat['id']}/messages", {"content": large})
                await admin.until_settled(chat["id"])
                if hub.watchers == 1:
                    break
            await eventually(lambda: hub.watchers == 1)
            whole = await admin.messages(chat["id"])
            await watcher.until(lambda one: len(one.messages) == len(whole) and at_rest(one))
            assert list(watcher.messages) == [message["id"] for message in whole]
    finally:
        for one in silent:
            one.close()


def _open_and_do_not_read(server: Serving, path: str) -> socket.socket:
    host, _, port = server.address.removeprefix("http://").rpartition(":")
    opened = socket.socket()
    # So that little is on its way.
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    opened.connect((host, int(port)))
    opened.sendall(
        f"GET {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {server.admin.token}\r\n"
        f"{UPGRADE if path.endswith('/ws') else ''}\r\n".encode()
    )
    return opened


@pytest.mark.heavy
@pytest.mark.parametrize("path", ["feed", "feed/ws"])
async def test_who_does_not_read_does_not_hold_the_end(tmp_path: Path, path: str) -> None:
    """Its connection is dropped with what it holds, and the client hears of it."""
    async with serving(config_for(tmp_path / "data")) as server:
        admin, hub = server.admin, server.parts.services.hub
        chat = await admin.start_chat("say: " + "lorem ipsum " * 80_000)
        await admin.until_settled(chat["id"])
        silent = [_open_and_do_not_read(server, f"/api/v1/chats/{chat['id']}/{path}") for _ in range(5)]
        await eventually(lambda: hub.watchers == 5)
        async with asyncio.timeout(PATIENCE_SECONDS):
            await hub.close()
        await eventually(lambda: hub.watchers == 0)
    for one in silent:
        assert await asyncio.to_thread(_is_dropped, one)


def _is_dropped(opened: socket.socket) -> bool:
    """Whether it comes to an end, of whatever kind."""
    with opened:
        opened.settimeout(PATIENCE_SECONDS)
        try:
            while opened.recv(65536):
                pass
        except ConnectionResetError:
            pass
        except TimeoutError:
            return False
        return True


async def test_there_is_a_limit_on_feeds(server: Serving) -> None:
    """B-017."""
    admin = server.admin
    server.parts.services.feeds.most = 5
    chat = await admin.start_chat("say: hi")
    await admin.until_settled(chat["id"])
    url = f"{server.address}/api/v1/chats/{chat['id']}/feed"
    headers = {"Authorization": f"Bearer {admin.token}"}
    watchers = [Watcher(admin, f"chats/{chat['id']}/feed") for _ in range(5)]
    tasks = [asyncio.create_task(watcher.connect_once()) for watcher in watchers]
    for watcher in watchers:
        await watcher.until(caught_up)
    refused = await admin.get(f"chats/{chat['id']}/feed")
    assert (refused.status, refused.code) == (429, "rate_limited")
    with pytest.raises(aiohttp.WSServerHandshakeError) as handshake:
        await server.session.ws_connect(f"{url}/ws", headers=headers)
    assert handshake.value.status == 429
    tasks.pop().cancel()
    await eventually(lambda: server.parts.services.hub.watchers == 4)
    async with watching(admin, chat["id"], "websocket") as again:
        await again.until(caught_up)
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)


# --- the list of chats ---


async def test_the_list_tells_what_happens_to_chats(server: Serving) -> None:
    member, other = await server.member("mia"), await server.member("ben")
    async with watching(member) as watcher, watching(other) as stranger:
        await watcher.until(caught_up)
        await stranger.until(caught_up)
        chat = await member.start_chat(
            'call: ask_user {"questions": [{"id": "q", "text": "Tea?"}]}\nsay: done'
        )
        await watcher.until(lambda one: one.names.count("needs_you") == 1)
        asked = _of(watcher, "needs_you")[-1]
        assert asked["id"] == chat["id"]
        assert asked["status"] == "requires_action"
        assert _of(watcher, "created")[0]["id"] == chat["id"]
        call_id = asked["action"]["calls"][0]["call_id"]
        answer = {"results": [{"call_id": call_id, "output": {"q": "no"}}]}
        await member.post(f"chats/{chat['id']}/tool-results", answer)
        await watcher.until(lambda one: one.names.count("needs_you") == 2)
        assert _of(watcher, "needs_you")[-1]["status"] == "idle"
        before = watcher.cursor
        await member.delete(f"chats/{chat['id']}")
        await watcher.until(lambda one: "removed" in one.names)
        assert _of(watcher, "removed") == [{"id": chat["id"]}]
        assert stranger.names == ["caught_up"]
    second = await member.start_chat("say: hi")
    await member.until_settled(second["id"])
    async with watching(member, cursor=before) as again:
        await again.until(lambda one: "changed" in one.names and caught_up(one))
        assert {chat["id"] for chat in _of(again, "changed")} == {second["id"]}


def _of(watcher: Watcher, event: str) -> list[dict[str, Any]]:
    return [data for name, _, data in watcher.events if name == event]
