"""Chats from the first message to the last: what the API promises about each route."""

import asyncio
from typing import Any

from tests.api.serving import Client, Serving

CHAT_FIELDS = """
    id title summary status waiting archived model effort owner_id parent_id root_id run_id workspace_id
    labels pinned version history_version queue_length last_error retry action budget usage created_at
    updated_at
"""
MESSAGE_FIELDS = """
    id chat_id role parts revision visibility model effort usage removed interrupted compaction created_at
"""
SLOW = "pace: 0.2\nsay slowly: " + "on and on " * 200


def text(message: dict[str, Any]) -> str:
    return "".join(part.get("text", "") for part in message["parts"])


async def test_a_first_chat(admin: Client) -> None:
    chat = await admin.start_chat("say: Good morning.", title="  Morning\nchat ", labels=["a", "b"])
    assert chat.keys() >= set(CHAT_FIELDS.split())
    assert chat["status"] == "running"
    assert chat["title"] == "Morning chat"
    done = await admin.until_settled(chat["id"])
    assert done["status"] == "idle"
    assert done["labels"] == ["a", "b"]
    messages = await admin.messages(chat["id"])
    assert [message["role"] for message in messages] == ["user", "assistant"]
    assert messages[1].keys() >= set(MESSAGE_FIELDS.split())
    assert text(messages[1]) == "Good morning."


async def test_content_may_be_parts(admin: Client) -> None:
    chat = await admin.start_chat([{"type": "text", "text": "say: hi"}])  # pyright: ignore[reportArgumentType]
    await admin.until_settled(chat["id"])
    file = {"type": "file", "file_id": "nope"}
    refused = await admin.post("chats", {"content": [file]})
    assert (refused.status, refused.code) == (422, "invalid_input")
    assert refused.json["errors"][0]["field"] == "content.0.file_id"


async def test_lists_and_search(admin: Client, server: Serving) -> None:
    first = await admin.start_chat("say: the albatross sleeps", labels=["birds"])
    await admin.until_settled(first["id"])
    second = await admin.start_chat("say: nothing here")
    await admin.until_settled(second["id"])
    listed = (await admin.get("chats")).json
    assert [item["id"] for item in listed["items"]] == [second["id"], first["id"]]
    assert listed["next_cursor"] is None
    page = (await admin.get("chats?limit=1")).json
    assert [item["id"] for item in page["items"]] == [second["id"]]
    rest = (await admin.get(f"chats?limit=1&cursor={page['next_cursor']}")).json
    assert [item["id"] for item in rest["items"]] == [first["id"]]
    assert [item["id"] for item in (await admin.get("chats?label=birds")).json["items"]] == [first["id"]]
    assert (await admin.get("chats?status=error")).json["items"] == []
    await _until_found(admin, "albatross", [first["id"]])
    stranger = await server.member()
    assert (await stranger.get("chats?q=albatross")).json["items"] == []
    assert (await stranger.get("chats")).json["items"] == []


async def test_changing_a_chat(admin: Client) -> None:
    chat = await admin.start_chat("say: hi")
    await admin.until_settled(chat["id"])
    changed = await admin.patch(
        f"chats/{chat['id']}", {"title": "Mine", "labels": ["x"], "pinned": True, "budget": {"tokens": 5000}}
    )
    assert changed.status == 200
    assert changed.json["title"] == "Mine"
    assert changed.json["pinned"] is True
    assert changed.json["budget"]["tokens"] == 5000
    assert changed.json["version"] == (await admin.chat(chat["id"]))["version"]
    archived = await admin.patch(f"chats/{chat['id']}", {"archived": True})
    assert archived.json["archived"] is True
    assert (await admin.get("chats")).json["items"] == []
    assert len((await admin.get("chats?archived=true")).json["items"]) == 1
    refused = await admin.post(f"chats/{chat['id']}/messages", {"content": "hi"})
    assert (refused.status, refused.code) == (409, "wrong_state")
    assert "out of the archive" in refused.json["detail"]
    assert (await admin.patch(f"chats/{chat['id']}", {"archived": False})).json["archived"] is False
    for body in (
        {"titel": "x"},
        {"title": 5},
        {"labels": [""]},
        {"model": "gone"},
        {"budget": {"tokens": 0}},
    ):
        refused = await admin.patch(f"chats/{chat['id']}", body)
        assert (refused.status, refused.code) == (422, "invalid_input"), body


async def test_what_is_answered_is_how_it_is_from_then_on(admin: Client) -> None:
    """A client may go on with the answer as if it had looked."""
    chat = await admin.start_chat("say: hi", budget={})
    assert chat["budget"] is None
    # Its title and summary have come too.
    await admin.until(chat["id"], lambda now: now["status"] == "idle" and bool(now["summary"]))
    changes: tuple[dict[str, Any], ...] = (
        {"budget": {"tokens": 5000}},
        {"budget": {"cost_usd_micros": 7}},
        {"budget": {}},
        {"budget": {"tokens": 5000}, "labels": ["x", "y"]},
        {"budget": None},
        {"title": " Mine\nalone "},
        {"model": "demo", "effort": "high"},
        {"model": None, "effort": None},
        {"pinned": True, "tools": ["todo"]},
        {"tools": None},
        {"archived": True},
        {"archived": False, "labels": []},
        {},
    )
    for body in changes:
        answer = await admin.patch(f"chats/{chat['id']}", body)
        assert (answer.status, answer.json) == (200, await admin.chat(chat["id"])), body


async def test_deleting_a_chat(admin: Client) -> None:
    chat = await admin.start_chat(SLOW)
    await admin.until(chat["id"], lambda now: now["waiting"] is None)
    assert (await admin.delete(f"chats/{chat['id']}")).status == 204
    assert (await admin.get(f"chats/{chat['id']}")).status == 404
    assert (await admin.delete(f"chats/{chat['id']}")).status == 404


async def test_history_in_pages(admin: Client) -> None:
    chat = await admin.start_chat("say: one")
    for word in ("two", "three"):
        await admin.until_settled(chat["id"])
        await admin.post(f"chats/{chat['id']}/messages", {"content": f"say: {word}"})
    await admin.until_settled(chat["id"])
    whole = await admin.messages(chat["id"])
    assert len(whole) == 6
    found: list[Any] = []
    path = f"chats/{chat['id']}/messages?limit=4"
    first = (await admin.get(path)).json
    found += first["items"]
    found += (await admin.get(f"{path}&cursor={first['next_cursor']}")).json["items"]
    assert found == whole
    assert await admin.messages(chat["id"], f"after={whole[3]['id']}") == whole[4:]
    assert await admin.messages(chat["id"], f"before={whole[4]['id']}&limit=2") == whole[2:4]
    assert (await admin.get(f"chats/{chat['id']}/messages/{whole[0]['id']}")).json == whole[0]


async def test_interrupting_keeps_what_was_said(admin: Client) -> None:
    chat = await admin.start_chat(SLOW)
    await admin.until(chat["id"], lambda now: now["waiting"] is None)
    await asyncio.sleep(0.3)
    stopped = await admin.post(f"chats/{chat['id']}/interrupt")
    assert stopped.status == 202
    assert stopped.json["status"] == "interrupting"
    done = await admin.until_settled(chat["id"])
    assert done["status"] == "idle"
    last = (await admin.messages(chat["id"]))[-1]
    assert last["role"] == "user" or last["interrupted"] is True
    refused = await admin.post(f"chats/{chat['id']}/interrupt")
    assert (refused.status, refused.code) == (409, "wrong_state")


async def test_editing_runs_again(admin: Client) -> None:
    chat = await admin.start_chat("say: wrong")
    await admin.until_settled(chat["id"])
    asked = (await admin.messages(chat["id"]))[0]
    edited = await admin.patch(f"chats/{chat['id']}/messages/{asked['id']}", {"content": "say: right"})
    assert edited.status == 200
    assert edited.json["message"]["id"] != asked["id"]
    await admin.until_settled(chat["id"])
    assert [text(message) for message in await admin.messages(chat["id"])] == ["say: right", "right"]
    removed = await admin.messages(chat["id"], "removed=true")
    assert len(removed) == 4
    answer = (await admin.messages(chat["id"]))[1]
    refused = await admin.patch(f"chats/{chat['id']}/messages/{answer['id']}", {"content": "no"})
    assert refused.status in (409, 422)


async def test_a_failed_turn_and_its_retry(admin: Client) -> None:
    chat = await admin.start_chat("fail: auth")
    failed = await admin.until_settled(chat["id"])
    assert failed["status"] == "error"
    assert set(failed["last_error"]) == {"kind", "message", "detail", "provider", "status_code", "retryable"}
    assert failed["last_error"]["kind"] == "auth"
    again = await admin.post(f"chats/{chat['id']}/retry")
    assert again.status == 202
    assert again.json["last_error"] is None
    assert (await admin.until_settled(chat["id"]))["status"] == "error"


async def test_forks(admin: Client) -> None:
    chat = await admin.start_chat("say: one", title="Origin")
    await admin.until_settled(chat["id"])
    await admin.post(f"chats/{chat['id']}/messages", {"content": "say: two"})
    await admin.until_settled(chat["id"])
    history = await admin.messages(chat["id"])
    fork = await admin.post(f"chats/{chat['id']}/fork", {"message_id": history[1]["id"]})
    assert fork.status == 201
    assert fork.json["status"] == "idle"
    copied = await admin.messages(fork.json["id"])
    assert [text(message) for message in copied] == [text(message) for message in history[:2]]
    assert {message["id"] for message in copied}.isdisjoint(message["id"] for message in history)
    whole = await admin.post(f"chats/{chat['id']}/fork", {})
    assert len(await admin.messages(whole.json["id"])) == 4
    assert (chat["origin"], chat["parent_id"], chat["run_id"]) == ({"kind": "person"}, None, None)
    for made in (fork.json, await admin.chat(whole.json["id"])):
        assert made["origin"] == {"kind": "fork", "chat_id": chat["id"]}
        assert (made["parent_id"], made["root_id"], made["run_id"]) == (None, made["id"], None)


async def test_a_sub_agent_says_where_it_comes_from(admin: Client) -> None:
    chat = await admin.start_chat('call: spawn_agent {"prompt": "say: one"}\ncall: wait_agents {}')
    await admin.until_settled(chat["id"])
    (child,) = (await admin.get(f"chats?parent_id={chat['id']}")).json["items"]
    assert child["origin"] == {"kind": "chat", "chat_id": chat["id"], "call_id": child["parent_call_id"]}
    assert (child["parent_id"], child["run_id"]) == (chat["id"], None)


async def test_compaction(admin: Client) -> None:
    chat = await admin.start_chat("say: a long story")
    await admin.until_settled(chat["id"])
    assert (await admin.post(f"chats/{chat['id']}/compact")).status == 202
    await admin.until_settled(chat["id"])
    shown = await admin.messages(chat["id"])
    everything = await admin.messages(chat["id"], "visibility=all")
    assert len(everything) == len(shown) + 1
    assert any(message["compaction"] for message in shown)


async def test_a_trace_has_pages_like_every_list(admin: Client) -> None:
    chat = await admin.start_chat('call: todo {"items": []}\ncall: todo {"items": []}\nsay: hi')
    await admin.until_settled(chat["id"])
    await admin.post(f"chats/{chat['id']}/messages", {"content": "say: again"})
    await admin.until_settled(chat["id"])
    path = f"chats/{chat['id']}/trace"
    whole = (await admin.get(f"{path}?limit=200")).json
    assert whole["next_cursor"] is None
    for query in ("", "&kind=model_call", "&turn=1"):
        wanted = (await admin.get(f"{path}?limit=200{query}")).json["items"]
        for limit in (1, 2, 3, 7):
            seen: list[str] = []
            cursor = ""
            while True:
                page = (await admin.get(f"{path}?limit={limit}{query}{cursor}")).json
                assert len(page["items"]) <= limit
                seen += [span["id"] for span in page["items"]]
                if page["next_cursor"] is None:
                    break
                cursor = f"&cursor={page['next_cursor']}"
            assert seen == [span["id"] for span in wanted], (query, limit)
    for bad in ("x", "1", "1.", "-1.0", "1.0.0", "9999999999.0"):
        assert (await admin.get(f"{path}?cursor={bad}")).status == 422
    assert (await admin.get(f"{path}?turn=1&cursor=2.0")).status == 422


async def test_short_lists_have_pages_too(admin: Client) -> None:
    everything = (await admin.get("tools?limit=200")).json["items"]
    names: list[str] = []
    cursor = ""
    while True:
        page = (await admin.get(f"tools?limit=7{cursor}")).json
        names += [tool["name"] for tool in page["items"]]
        if page["next_cursor"] is None:
            break
        cursor = f"&cursor={page['next_cursor']}"
    assert names == [tool["name"] for tool in everything]
    assert (await admin.get("tools?cursor=nothing")).status == 422


async def test_trace_usage_and_calls(admin: Client) -> None:
    chat = await admin.start_chat('call: todo {"items": [{"text": "tea"}]}\nsay: done')
    await admin.until_settled(chat["id"])
    trace = (await admin.get(f"chats/{chat['id']}/trace")).json["items"]
    assert [span["kind"] for span in trace].count("tool_call") == 1
    assert {span["kind"] for span in trace} == {"turn", "step", "model_call", "tool_call"}
    only = (await admin.get(f"chats/{chat['id']}/trace?kind=step&turn=1")).json["items"]
    assert len(only) == 2
    for span in trace:
        whole = await admin.get(f"chats/{chat['id']}/trace/{span['id']}")
        assert whole.status == 200
        assert whole.json["id"] == span["id"]
    assert (await admin.get(f"chats/{chat['id']}/trace/turn-99")).status == 404
    usage = (await admin.get(f"chats/{chat['id']}/usage")).json
    assert len(usage["turns"][0]["steps"]) == 2
    assert usage["total"]["total"] > 0
    for by in ("day", "model", "chat", "category"):
        report = (await admin.get(f"usage?by={by}")).json
        assert [line["usage"]["total"] for line in report["items"]] == [usage["total"]["total"]]
    call_id = next(span["id"] for span in trace if span["kind"] == "tool_call").removeprefix("call-")
    assert (await admin.get(f"chats/{chat['id']}/calls/{call_id}")).json["name"] == "todo"


async def test_exports(admin: Client) -> None:
    chat = await admin.start_chat("say: <script>alert(1)</script> ```x", title='../a "title"')
    await admin.until_settled(chat["id"])
    as_json = await admin.get(f"chats/{chat['id']}/export")
    assert as_json.json["chat"]["id"] == chat["id"]
    assert len(as_json.json["messages"]) == 2
    page = await admin.get(f"chats/{chat['id']}/export?format=html")
    assert b"<script>" not in page.body
    assert page.headers["Content-Disposition"] == 'attachment; filename="a-title.html"'
    assert "sandbox" in page.headers["Content-Security-Policy"]
    assert b"## Assistant" in (await admin.get(f"chats/{chat['id']}/export?format=markdown")).body
    assert (await admin.get(f"chats/{chat['id']}/export?format=pdf")).status == 422


async def test_an_export_as_html_is_a_page_to_send(admin: Client) -> None:
    """Markdown rendered, calls with their results, diffs coloured, nothing loaded or run."""
    chat = await admin.start_chat(
        'call: write_file {"path": "a.md", "content": "one\\n"}\n'
        'call: write_file {"path": "a.md", "content": "two\\n"}\n'
        "say: # Done\n  **bold** <script>x</script> [bad](javascript:alert(1)) ![p](http://example.org/p.png)"
    )
    await admin.until_settled(chat["id"])
    page = (await admin.get(f"chats/{chat['id']}/export?format=html")).body.decode()
    assert "<h1>Done</h1>" in page
    assert "<strong>bold</strong>" in page
    assert '<span class="removed">-one</span><span class="added">+two</span>' in page
    assert page.count('<details class="call ') == 2, "a call and its result are one"
    for bad in ("<script", "<img", 'href="javascript', "src="):
        assert bad not in page


async def test_models_and_tools(admin: Client) -> None:
    models = (await admin.get("models")).json["items"]
    assert [(model["name"], model["default"]) for model in models] == [("demo", True)]
    tools = {tool["name"]: tool for tool in (await admin.get("tools")).json["items"]}
    assert tools["todo"]["input_schema"]["type"] == "object"
    refused = await admin.post("chats", {"content": "hi", "model": "gpt-99"})
    assert (refused.status, refused.code) == (422, "invalid_input")


async def _until_found(client: Client, words: str, chat_ids: list[str]) -> None:
    """Search may lag behind by seconds."""
    async with asyncio.timeout(40):
        while True:
            found = (await client.get(f"chats?q={words}")).json["items"]
            if [item["id"] for item in found] == chat_ids:
                return
            await asyncio.sleep(0.05)


async def test_pinned_chats_are_listed_by_themselves(server: Serving) -> None:
    first = await server.admin.start_chat("say: one")
    second = await server.admin.start_chat("say: two")
    await server.admin.patch(f"chats/{first['id']}", {"pinned": True})
    for pinned, wanted in (("true", first), ("false", second)):
        listed = await server.admin.get(f"chats?pinned={pinned}")
        assert [chat["id"] for chat in listed.json["items"]] == [wanted["id"]]


async def test_a_chat_has_a_title_at_once(admin: Client) -> None:
    """Taken from what was said, in the answer, the list and the chat; a person's own is left alone."""
    made = await admin.post("chats", {"content": "# Fix   the *build*\npace: 30\nsay slowly: a b c d e f"})
    assert (made.status, made.json["title"]) == (201, "Fix the *build*")
    assert (await admin.get("chats")).json["items"][0]["title"] == "Fix the *build*"
    named = await admin.post("chats", {"content": "say: hello", "title": " Mine "})
    assert named.json["title"] == "Mine"


async def test_a_search_says_which_line_of_which_message(admin: Client) -> None:
    long = "x " * 300 + "the zebrafish swims " + "y " * 300
    chat = await admin.start_chat(f"say: nothing here\n  first line\n  {long}")
    await admin.until_settled(chat["id"])
    (found,) = (await admin.get("chats?q=zebrafish+swi")).json["items"]
    assert "zebrafish swims" in found["found"]["line"]
    assert len(found["found"]["line"]) <= 162
    listed = (await admin.get(f"chats/{chat['id']}/messages")).json["items"]
    assert found["found"]["message_id"] in [message["id"] for message in listed]
    (by_title,) = (await admin.get("chats?q=nothing")).json["items"]
    assert by_title["id"] == chat["id"]
    assert (await admin.get("chats")).json["items"][0]["found"] is None
