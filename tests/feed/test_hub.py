"""The feed of a chat on a real store: what a watcher is told, in which order, and when it comes back."""

import asyncio
from collections.abc import Callable
from typing import Any, cast

import msgspec
import pytest

from holdfast.chats.commands import (
    CallResult,
    Delete,
    Edit,
    FinishCall,
    Interrupt,
    NewMessage,
    RequireAction,
    StartCalls,
    SubmitResults,
)
from holdfast.core.chats import Chat
from holdfast.core.events import Hint, LiveParts, Repeat
from holdfast.core.ids import ChatId, MessageId
from holdfast.feed.cursor import Position, decode, encode
from holdfast.feed.frames import FRAME_BYTES
from holdfast.feed.hub import Hub
from holdfast.store import messages as message_queries
from holdfast.store.chats import chat as chat_query
from holdfast.store.interface import Store
from holdfast.store.query import Query
from tests.feed.client import Client, eventually, said_in
from tests.feed.stage import QUICK, Chatting, Stage, watching
from tests.store.world import call, fresh_id, text


async def same_as_stored(stage: Stage, chat: Chatting, client: Client) -> None:
    stored = await said_in(stage.store, chat.id)
    await client.until(lambda c: c.said == stored and c.preview is None)


async def caught_up(client: Client) -> None:
    await client.until(lambda c: "caught_up" in c.names)


def shows(said: str) -> Callable[[Client], bool]:
    def condition(client: Client) -> bool:
        return client.preview is not None and client.preview.text == said

    return condition


# --- connecting ---


async def test_a_new_watcher_gets_history_and_state_then_is_caught_up(stage_everywhere: Stage) -> None:
    stage = stage_everywhere
    chat = await stage.chat("hello", title="Greetings")
    await chat.answer("Hi ", "there.")
    async with watching(stage, chat) as client:
        await caught_up(client)
        assert client.said == await said_in(stage.store, chat.id)
    names = ["message", "message", "span", "span", "span", "chat", "status", "queue", "usage", "caught_up"]
    assert client.names == names
    stored = await stage.store.read(chat_query(chat.id))
    assert msgspec.convert(client.state["chat"], Chat) == stored
    assert client.state["status"] == {"status": "idle", "waiting": None}
    assert client.state["queue"] == {"items": []}


async def test_who_comes_back_at_any_event_gets_the_rest_once(stage: Stage) -> None:
    """The last events are the same for all: the state as it is."""
    chat = await stage.chat()
    for n in range(3):
        await chat.answer(f"answer {n}")
        await chat.send(f"question {n}")
    first = Client()
    async with watching(stage, chat, first):
        await caught_up(first)
    for seen in range(len(first.names) + 1):
        client = Client()
        if seen:
            await client.connect(stage.hub, chat.id, seen)
        async with watching(stage, chat, client):
            await caught_up(client)
        assert client.said == first.said
        assert client.spans == first.spans
        assert client.names.count("message") == first.names.count("message")
        assert client.names.count("span") == first.names.count("span")
        assert "history_reset" not in client.names


async def test_a_tail_is_the_newest_messages(stage: Stage) -> None:
    chat = await stage.chat("one")
    for n in range(5):
        await chat.answer(f"answer {n}")
        await chat.send(f"question {n}")
    stored = await said_in(stage.store, chat.id)
    async with watching(stage, chat, tail=3) as client:
        await caught_up(client)
        assert client.said == stored[-3:]
        await chat.answer("And on it goes.")
        await client.until(lambda c: len(c.messages) == 4)
    async with watching(stage, chat, tail=100) as client:
        await caught_up(client)
        assert len(client.said) == len(stored) + 1


async def test_a_chat_that_does_not_exist_ends_at_once(stage: Stage) -> None:
    async with stage.hub.watch(ChatId(fresh_id())) as watcher:
        frames = [frame async for batch in watcher for frame in batch.frames]
    assert [frame.event for frame in frames] == ["closing"]
    assert watcher.ending == "deleted"


# --- cursors that mean nothing here ---


@pytest.mark.parametrize("kind", ["garbage", "foreign", "tampered", "future", "unknown message", "huge"])
async def test_a_cursor_that_means_nothing_is_a_full_resync(stage: Stage, kind: str) -> None:
    chat, other = await stage.chat(), await stage.chat()
    await chat.answer("Hi.")
    seen = Client()
    async with watching(stage, chat, seen):
        await caught_up(seen)
    assert seen.cursor is not None
    place = decode(chat.id, seen.cursor)
    assert place is not None
    cursor = {
        "garbage": "garbage",
        "foreign": encode(other.id, place),
        "tampered": seen.cursor.replace(".0.", ".1.", 1),
        "future": encode(chat.id, Position(version=place.version + 100, spans=place.spans)),
        "unknown message": encode(chat.id, Position(version=1, message_id=MessageId(fresh_id()))),
        "huge": "1" * 5_000,
    }[kind]
    # It holds what the cursor claims: the reset makes it let go.
    client = Client(cursor)
    client.messages = dict(seen.messages)
    async with watching(stage, chat, client):
        await caught_up(client)
    assert client.names[0] == "history_reset"
    assert client.names.count("history_reset") == 1
    assert client.said == seen.said
    assert client.spans == seen.spans


# --- live ---


async def test_text_is_live_and_replaced_by_its_message(stage_everywhere: Stage) -> None:
    stage = stage_everywhere
    chat = await stage.chat()
    async with watching(stage, chat) as client:
        await caught_up(client)
        await chat.begin()
        chat.stream("one ", "two ")
        await client.until(shows("one two "))
        chat.stream("three")
        await client.until(shows("one two three"))
        await chat.finish()
        await same_as_stored(stage, chat, client)
        assert "preview_reset" not in client.names
        await client.until(lambda c: c.status == "idle")


async def test_a_step_under_way_is_a_span_and_usage(stage: Stage) -> None:
    chat = await stage.chat()
    async with watching(stage, chat) as client:
        await caught_up(client)
        before = client.state["usage"]["output"]
        await chat.begin()
        await client.until(lambda c: "model-1-1" in c.spans and c.state["usage"]["output"] > before)
        assert client.spans["model-1-1"]["finished_at"] is None
        await chat.finish()
        await client.until(lambda c: c.spans["model-1-1"]["finished_at"] is not None)


@pytest.mark.parametrize("how", ["retry", "failure", "crash"])
async def test_text_that_came_to_nothing_is_withdrawn(stage: Stage, how: str) -> None:
    chat = await stage.chat()
    async with watching(stage, chat) as client:
        await chat.begin()
        chat.stream("This will ", "fail")
        await client.until(shows("This will fail"))
        match how:
            case "retry":
                await chat.fail_attempt()
                await client.until(lambda c: "retry" in c.state)
            case "failure":
                await chat.fail_turn()
                await client.until(lambda c: "failed" in c.state)
            case _:
                chat.crash()
                await chat.take_over()
                await chat.begin()
        await client.until(lambda c: c.preview is None)
        assert client.names.count("preview_reset") == 1


async def test_what_an_interrupt_keeps_replaces_the_preview(stage: Stage) -> None:
    chat = await stage.chat()
    async with watching(stage, chat) as client:
        await chat.begin()
        chat.stream("Half of ", "it")
        await client.until(shows("Half of it"))
        await chat.do(Interrupt())
        await chat.finish_interrupt()
        await same_as_stored(stage, chat, client)
        assert "preview_reset" not in client.names
        assert client.said[-1][2] == [{"type": "text", "text": "Half of it"}]


async def test_who_comes_late_gets_what_was_streamed(stage: Stage) -> None:
    chat = await stage.chat()
    await chat.begin()
    chat.stream(*"abc")
    async with watching(stage, chat) as first:
        await first.until(shows("abc"))  # the owner repeats it
        chat.stream(*"def")
        async with watching(stage, chat) as second:
            await second.until(shows("abcdef"))
            chat.stream("g")
            await first.until(shows("abcdefg"))
            await second.until(shows("abcdefg"))


async def test_who_comes_late_gets_long_texts_whole(stage: Stage) -> None:
    chat = await stage.chat()
    await chat.begin()
    chat.stream(*(f"{n} " + "x" * 9_000 for n in range(90)))
    async with watching(stage, chat) as client:
        await client.until(shows(chat.streamed))
        async with watching(stage, chat) as late:
            await late.until(shows(chat.streamed))


async def test_who_comes_back_gets_the_parts_it_missed(stage: Stage) -> None:
    chat = await stage.chat()
    await chat.begin()
    chat.stream(*"abc")
    client = Client()
    async with watching(stage, chat, client):
        await client.until(shows("abc"))
    chat.stream(*"def")
    async with watching(stage, chat, client):
        await client.until(shows("abcdef"))
        assert "preview_reset" not in client.names


async def test_parts_that_nobody_can_repeat_withdraw_the_preview(stage: Stage) -> None:
    chat = await stage.chat()
    async with watching(stage, chat) as client:
        await chat.begin()
        chat.stream("a")
        await client.until(shows("a"))
        stage.chats.clear()  # nobody answers
        stage.way.fate = lambda: "lost"
        chat.stream("b")
        stage.way.fate = lambda: "arrives"
        chat.stream("c")
        await client.until(lambda c: "preview_reset" in c.names)
        chat.stream("d")
        async with watching(stage, chat) as late:
            await caught_up(late)
            assert late.preview is None
            await chat.finish()
            await same_as_stored(stage, chat, late)
        await same_as_stored(stage, chat, client)


async def test_a_preview_that_was_lost_is_withdrawn_from_who_comes_back_with_it(stage: Stage) -> None:
    chat = await stage.chat()
    await chat.begin()
    chat.stream("a", "b")
    gone = Client()
    async with watching(stage, chat, gone):
        await gone.until(shows("ab"))
        async with watching(stage, chat) as client:
            await client.until(shows("ab"))
    async with watching(stage, chat) as client:
        stage.chats.clear()
        stage.way.fate = lambda: "lost"
        chat.stream("c")
        stage.way.fate = lambda: "arrives"
        chat.stream("d")
        await client.until(lambda c: "preview_reset" in c.names)
        async with watching(stage, chat, gone):
            await gone.until(lambda c: c.preview is None)


async def test_late_parts_of_an_episode_that_is_over_are_not_shown(stage: Stage) -> None:
    chat = await stage.chat()
    async with watching(stage, chat) as client:
        await chat.begin()
        assert chat.streaming is not None
        episode = chat.streaming
        chat.stream("a")
        await client.until(shows("a"))
        await chat.finish()
        await same_as_stored(stage, chat, client)
        stray = LiveParts(chat_id=chat.id, episode=episode, first=2, role="assistant", parts=text("stray"))
        stage.bus.publish(stray)
        await chat.send("next")
        await client.until(lambda c: len(c.messages) == 3)
        assert client.preview is None


# --- what is committed ---


async def test_lost_hints_only_delay(stage_everywhere: Stage) -> None:
    stage = stage_everywhere
    chat = await stage.chat()
    async with watching(stage, chat) as client:
        await caught_up(client)
        stage.way.fate = lambda: "lost"
        await chat.answer("Hi.")
        await same_as_stored(stage, chat, client)
        await stage.store.update_settings(chat.id, title="renamed")
        await client.until(lambda c: c.state["chat"]["title"] == "renamed")


async def test_old_and_doubled_hints_are_harmless(stage: Stage) -> None:
    chat = await stage.chat()
    await chat.answer("Hi.")
    async with watching(stage, chat) as client:
        await caught_up(client)
        told = len(client.names)
        for version in (1, 2, 1000, 3):
            stage.bus.publish(
                Hint(chat_id=chat.id, owner_id=chat.owner, version=version, history_version=1, status="idle")
            )
        await chat.send("again")
        await client.until(lambda c: len(c.messages) == 3)
        # The message, its turn, and the state that moved.
        assert client.names[told:] == ["message", "span", "chat", "status"]


async def test_an_edit_takes_history_back(stage_everywhere: Stage) -> None:
    stage = stage_everywhere
    chat = await stage.chat("first")
    await chat.answer("Yes.")
    await chat.send("second")
    history = await stage.store.read(message_queries.page(chat.id))
    away = Client()
    async with watching(stage, chat, away):
        await caught_up(away)
    async with watching(stage, chat) as client:
        await caught_up(client)
        await chat.begin()
        chat.stream("soon to be void")
        await client.until(shows("soon to be void"))
        edit = Edit(message_id=history[2].id, parts=text("second, better"), created_by=chat.owner)
        await chat.do(edit)
        await same_as_stored(stage, chat, client)
        assert client.names.count("history_reset") == 1
        assert client.names.count("caught_up") == 1
    async with watching(stage, chat, away):
        await same_as_stored(stage, chat, away)
        assert away.names.count("history_reset") == 1
    async with watching(stage, chat) as new:
        await same_as_stored(stage, chat, new)
        assert "history_reset" not in new.names


async def test_what_only_the_model_sees_is_not_sent(stage: Stage) -> None:
    chat = await stage.chat()
    async with watching(stage, chat) as client:
        await chat.own()
        hidden = NewMessage(role="user", parts=text("psst"), visibility="model")
        await chat.begin(hidden)
        chat.stream("Hi.")
        await chat.finish()
        await same_as_stored(stage, chat, client)
        assert "preview_reset" not in client.names
        assert len(client.said) == 2


async def test_the_queue_errors_and_actions_are_told(stage: Stage) -> None:
    chat = await stage.chat()
    async with watching(stage, chat) as client:
        await caught_up(client)
        await chat.send("later")
        await client.until(
            lambda c: [item["content"][0]["text"] for item in c.state["queue"]["items"]] == ["later"]
        )
        await chat.begin()
        await chat.commit(call("c1", waits_for="question"), and_then=(RequireAction(),))
        await client.until(lambda c: "action_required" in c.state)
        assert [one["call_id"] for one in client.state["action_required"]["calls"]] == ["c1"]
        assert client.status == "requires_action"
        await chat.do(SubmitResults(results=(CallResult(call_id=call("c1").call_id, output="yes"),)))
        await client.until(lambda c: c.state["chat"]["action"] is None)
        await chat.begin()
        await chat.fail_turn()
        await client.until(lambda c: "failed" in c.state and c.status == "error")
        assert client.state["failed"]["kind"] == "overloaded"
        assert client.state["chat"]["last_error"] == client.state["failed"]


async def test_a_call_is_one_span_from_its_start_to_its_end(stage: Stage) -> None:
    chat = await stage.chat()
    async with watching(stage, chat) as client:
        await chat.begin()
        asked = call("c1")
        await chat.commit(asked, and_then=(StartCalls(call_ids=(asked.call_id,)),))
        await client.until(lambda c: "call-c1" in c.spans)
        assert client.spans["call-c1"]["outcome"] is None
        assert client.spans["call-c1"]["parent_id"] == "step-1-1"
        assert client.spans["call-c1"]["input"] == {"command": "ls"}
        await chat.do(FinishCall(call_id=asked.call_id, run=1, outcome="succeeded", output="files"))
        await client.until(lambda c: c.spans["call-c1"]["outcome"] == "succeeded")
        assert client.spans["call-c1"]["output"] == "files"


async def test_who_may_not_see_the_trace_gets_no_spans(stage: Stage) -> None:
    chat = await stage.chat()
    await chat.answer("Hi.")
    async with watching(stage, chat, spans=False) as client:
        await caught_up(client)
        await chat.send("more")
        await chat.answer("Yes.")
        await same_as_stored(stage, chat, client)
        assert client.spans == {}


async def test_a_large_message_is_truncated_and_marked(stage: Stage) -> None:
    chat = await stage.chat("x" * (2 * FRAME_BYTES))
    async with stage.hub.watch(chat.id) as watcher:
        batch = await anext(watcher)
    (frame,) = [frame for frame in batch.frames if frame.event == "message"]
    assert len(frame.sse) <= FRAME_BYTES
    data = msgspec.json.decode(frame.data)
    assert data["truncated"] is True
    assert data["message"]["parts"][0]["text"].startswith("xxx")


# --- the end ---


async def test_a_deleted_chat_ends_its_feed(stage: Stage) -> None:
    chat = await stage.chat()
    async with watching(stage, chat) as client:
        await caught_up(client)
        await stage.store.transition(chat.id, Delete())
        await client.until(lambda c: c.names[-1] == "closing")
        assert client.state["closing"] == {"reason": "deleted"}


async def test_access_that_is_lost_cuts_those_who_had_it(stage: Stage) -> None:
    chat = await stage.chat()
    async with watching(stage, chat, label="a") as cut, watching(stage, chat, label="b") as kept:
        await caught_up(cut)
        await caught_up(kept)
        assert stage.hub.cut(lambda watcher: watcher.label == "a") == 1
        await chat.answer("Secret.")
        await same_as_stored(stage, chat, kept)
        await cut.until(lambda c: c.names[-1] == "closing")
        assert len(cut.messages) == 1
        assert cut.state["closing"] == {"reason": "access"}


async def test_everybody_is_told_when_the_server_stops(stage: Stage) -> None:
    chat = await stage.chat()
    async with watching(stage, chat) as client:
        await caught_up(client)
        cursor = client.cursor
        await stage.hub.close()
        await client.until(lambda c: c.names[-1] == "closing")
        assert client.cursor == cursor
        assert stage.hub.watchers == 0
    async with stage.hub.watch(chat.id) as late:
        assert [frame.event async for batch in late for frame in batch.frames] == ["closing"]


async def test_nothing_is_left_when_everybody_has_gone(stage: Stage) -> None:
    chat = await stage.chat()
    tasks = len(asyncio.all_tasks())
    async with watching(stage, chat) as client:
        await caught_up(client)
    await eventually(lambda: len(asyncio.all_tasks()) <= tasks)


async def test_an_idle_watcher_costs_one_poll_for_all(stage: Stage) -> None:
    store = Counted(stage.store)
    hub = Hub(cast(Store, store), stage.bus, QUICK)
    chats = [await stage.chat() for _ in range(5)]
    clients = [Client() for _ in chats]
    async with asyncio.TaskGroup() as group:
        tasks = [
            group.create_task(client.connect(hub, chat.id))
            for client, chat in zip(clients, chats, strict=True)
        ]
        for client in clients:
            await caught_up(client)
        # A reading that began before may still be counted.
        await eventually(lambda: len(store.statements) > 20)
        assert set(store.statements[-10:]) == {1}
        for task in tasks:
            task.cancel()
    await hub.close()


class Counted:
    """A store whose readings are counted, by their statements."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.statements: list[int] = []

    async def read(self, *queries: Query[Any]) -> Any:
        self.statements.append(sum(len(query.statements) for query in queries))
        return await cast(Any, self._store).read(*queries)


async def test_the_feed_asks_for_what_it_missed_and_not_more(stage: Stage) -> None:
    chat = await stage.chat()
    repeats: list[Repeat] = []
    async with watching(stage, chat) as client:
        await chat.begin()
        chat.stream("a", "b")
        await client.until(shows("ab"))
        async with stage.bus.listen(chat_id=chat.id, live=False) as events:
            stage.way.fate = lambda: "lost"
            chat.stream("c")
            stage.way.fate = lambda: "arrives"
            chat.stream("d", "e")
            await client.until(shows("abcde"))
            while (event := events.get_nowait()) is not None:
                if isinstance(event, Repeat):
                    repeats.append(event)
        assert [repeat.first for repeat in repeats] == [3]
