"""Reads: pages, what changed since, what a model is shown, lists; several of them as of one moment."""

import asyncio

import pytest

from holdfast.chats.commands import (
    Archive,
    BeginAttempt,
    CommitStep,
    Edit,
    HoldQueued,
    NewMessage,
    NewStep,
    Notify,
    RequestCompaction,
    Send,
)
from holdfast.chats.view import Queued, View
from holdfast.core.chats import Settings
from holdfast.core.errors import InvalidInput
from holdfast.core.ids import ChatId, RunId
from holdfast.core.messages import Message
from holdfast.core.origins import FromRun
from holdfast.store import calls, chats, messages, queue, steps, views
from holdfast.store.chats import Only
from tests.store.world import World, answer, call, finished, fresh_id, text, user, view_of


async def long_chat(world: World, turns: int) -> View:
    view = await world.idle("message 0")
    for n in range(1, turns):
        view = await world.finish(
            await world.own(view_of(await world.send(view.chat.id, f"message {n}"))), f"answer {n}"
        )
    return view


# --- messages ---


async def test_pages_of_a_history(world: World) -> None:
    view = await long_chat(world, 6)
    chat_id = view.chat.id
    everything = await world.history(chat_id)
    assert len(everything) == 12
    assert list(everything) == sorted(everything, key=lambda message: message.id)
    read = world.store.read
    assert await read(messages.page(chat_id, limit=5)) == everything[:5]
    assert await read(messages.page(chat_id, after=everything[4].id, limit=5)) == everything[5:10]
    assert await read(messages.page(chat_id, before=everything[10].id, limit=3)) == everything[7:10]
    between = messages.page(chat_id, after=everything[2].id, before=everything[6].id)
    assert await read(between) == everything[3:6]
    assert await read(messages.newest(chat_id, limit=4)) == everything[-4:]
    assert await read(messages.message(chat_id, everything[3].id)) == everything[3]
    assert await read(messages.message(ChatId(fresh_id()), everything[3].id)) is None


async def test_what_changed_since(world: World) -> None:
    view = await long_chat(world, 3)
    chat_id, everything = view.chat.id, await world.history(view.chat.id)
    assert await world.store.read(messages.since(chat_id, 0)) == everything
    for n, message in enumerate(everything):
        later = tuple(other for other in everything if other.revision > message.revision)
        assert await world.store.read(messages.since(chat_id, message.revision)) == later
        assert later == everything[n + 1 :]
    assert await world.store.read(messages.since(chat_id, view.chat.version)) == ()


async def test_removed_messages_are_among_what_changed(world: World) -> None:
    view = await long_chat(world, 4)
    chat_id, before = view.chat.id, await world.history(view.chat.id)
    told = await world.do(chat_id, Edit(message_id=before[4].id, parts=text("new"), created_by=world.owner))
    changed = await world.store.read(messages.since(chat_id, view.chat.version))
    assert [(message.id, message.removed) for message in changed] == [
        *((message.id, True) for message in before[4:]),
        (told.change.answer.id if told.change.answer else None, False),
    ]
    assert {message.revision for message in changed} == {view_of(told).chat.version}
    # Nothing of it is new to who saw the edit.
    assert await world.store.read(messages.since(chat_id, view_of(told).chat.version)) == ()


@pytest.mark.parametrize("limit", [1, 2, 3, 7])
async def test_what_changed_comes_in_pages(world: World, limit: int) -> None:
    """However the pages fall, they add up, removed history in the middle included."""
    view = await long_chat(world, 4)
    history = await world.history(view.chat.id)
    view = view_of(
        await world.do(
            view.chat.id, Edit(message_id=history[2].id, parts=text("new"), created_by=world.owner)
        )
    )
    await world.finish(await world.own(view))
    whole = await world.store.read(messages.since(view.chat.id, 0))
    assert len(whole) == 10
    read: list[Message] = []
    while True:
        after = read[-1] if read else None
        page = await world.store.read(
            messages.since(
                view.chat.id, after.revision if after else 0, after=after.id if after else None, limit=limit
            )
        )
        read += page
        if len(page) < limit:
            break
    assert tuple(read) == whole


async def test_a_prompt_starts_at_the_newest_boundary(world: World) -> None:
    view = await world.own(await world.create("long ago"))
    view = await world.step(view, call("a"))
    view = await world.work(view, finished("a"), RequestCompaction())
    view = await world.work(view, BeginAttempt(admit=False))
    summary = CommitStep(
        step=NewStep(kind="compaction", started_at=world.clock.now()),
        messages=(
            NewMessage(role="user", parts=text("Summary"), visibility="model", compaction=True),
            NewMessage(role="system", parts=text("Summarized"), visibility="user"),
        ),
    )
    view = await world.work(view, summary)
    assert view.chat.compaction is None
    view = await world.work(view, BeginAttempt())
    view = await world.work(view, answer(content="Going on."))
    shown = await world.store.read(messages.prompt(view.chat.id))
    assert [entry.boundary for entry in shown] == [True, False]
    assert [message.parts for message in shown] == [text("Summary"), text("Going on.")]
    listed = await world.store.read(messages.page(view.chat.id))
    assert text("Summary") not in [message.parts for message in listed]
    fresh = await world.create("short")
    assert len(await world.store.read(messages.prompt(fresh.chat.id))) == 1


# --- one snapshot ---


async def test_reads_are_as_of_one_moment(world: World) -> None:
    """Sending moves the queue, the chat's row and its version together: no read sees them apart."""
    view = await world.own(await world.create())
    chat_id = view.chat.id
    done = False

    async def write() -> None:
        nonlocal done
        for n in range(60):
            command = Send(parts=text(f"{n}"), created_by=world.owner) if n < 20 else None
            if command is not None:
                await world.store.transition(chat_id, command)
            await world.store.transition(chat_id, Notify(source="t", key=f"{n}", text="x"))
        done = True

    async def look() -> int:
        looked = 0
        while not done:
            seen, queued, notices, state = await world.store.read(
                chats.chat(chat_id), queue.queue(chat_id), queue.inbox(chat_id), views.view(chat_id)
            )
            assert seen is not None
            assert state is not None
            assert seen.queue_length == len(queued)
            assert seen.version == 2 + len(queued) + len(notices)
            assert (state.queue, state.inbox, state.chat.version) == (queued, notices, seen.version)
            looked += 1
        return looked

    looked = await asyncio.gather(write(), *(look() for _ in range(4)))
    assert sum(count or 0 for count in looked) > 4


# --- what a chat has ---


async def test_queue_inbox_calls_turns_and_steps(world: World) -> None:
    view = await world.step(await world.own(await world.create()), call("a"), call("b", waits_for="approval"))
    first = (await world.send(view.chat.id, "one", "steer")).change.answer
    second = (await world.send(view.chat.id, "two")).change.answer
    assert isinstance(second, Queued)
    held = (await world.do(view.chat.id, HoldQueued(item_id=second.id))).change.answer
    assert isinstance(held, Queued)
    notice = Notify(source="agent", key="k", text="hi", data={"n": 1})
    view = view_of(await world.do(view.chat.id, notice))
    chat_id = view.chat.id
    found = await world.store.read(
        queue.queue(chat_id),
        queue.inbox(chat_id),
        calls.open_calls(chat_id),
        steps.turns(chat_id),
        steps.steps_of_turns(chat_id, 1, 9),
        calls.calls_of_turns(chat_id, 1, 9),
    )
    assert found[0] == (first, held) == view.queue
    assert found[1] == view.inbox
    assert found[2] == found[5] == view.calls
    assert [turn.finished_at for turn in found[3]] == [None]
    assert [step.turn for step in found[4]] == [1]
    shown = queue.item_of(held, 1)
    assert (shown.held, shown.hold_token, shown.position) == (True, None, 1)
    assert queue.item_of(held, 1, with_token=True).hold_token == held.hold_token
    seen = await world.store.read(chats.chat(chat_id))
    assert seen is not None
    assert seen.queue_length == 2
    assert await world.store.read(calls.call(chat_id, found[2][0].call_id)) == calls.FullCall(
        found[2][0], None
    )


# --- lists ---


async def test_a_list_is_paged_by_last_activity(world: World) -> None:
    made: list[ChatId] = []
    for n in range(7):
        made.append((await world.create(settings=Settings(title=f"chat {n}"))).chat.id)
        # Some at the same moment: the id decides.
        world.clock.advance(n % 2)
    await world.create(owner=user())
    listed: list[ChatId] = []
    cursor = None
    for _ in range(10):
        page = await world.store.read(chats.page(world.owner, limit=2, cursor=cursor))
        listed += [chat.id for chat in page.items]
        cursor = page.next_cursor
        if cursor is None:
            break
    assert listed == made[::-1]


async def test_activity_moves_a_chat_up(world: World) -> None:
    first, second = await world.idle(), await world.idle()
    world.clock.advance(1)
    await world.send(first.chat.id, "again")
    page = await world.store.read(chats.page(world.owner))
    assert [chat.id for chat in page.items] == [first.chat.id, second.chat.id]


async def test_lists_are_filtered(world: World) -> None:
    plain = await world.idle()
    labelled = await world.idle(settings=Settings(labels=("a", "b", "a")))
    archived = await world.idle(settings=Settings(labels=("a",)))
    await world.do(archived.chat.id, Archive())
    child = await world.child(plain)
    run = RunId(fresh_id())
    agent = await world.create(origin=FromRun(run_id=run))

    async def ids(only: Only) -> set[ChatId]:
        page = await world.store.read(chats.page(world.owner, only))
        return {chat.id for chat in page.items}

    assert await ids(Only()) == {plain.chat.id, labelled.chat.id}
    assert await ids(Only(archived=True)) == {archived.chat.id}
    assert await ids(Only(archived=None)) == {plain.chat.id, labelled.chat.id, archived.chat.id}
    assert await ids(Only(label="a")) == {labelled.chat.id}
    assert await ids(Only(label="a", archived=None)) == {labelled.chat.id, archived.chat.id}
    assert await ids(Only(parent_id=plain.chat.id)) == {child.chat.id}
    assert await ids(Only(run_id=run)) == {agent.chat.id}
    assert await ids(Only(status="running")) == set()
    assert await ids(Only(run_id=run, status="running")) == {agent.chat.id}
    assert await ids(Only(label="%")) == set()
    counts = await world.store.read(chats.counts(world.owner))
    assert (counts.running, counts.requires_action, counts.listed) == (2, 0, 2)


async def test_chats_by_id_come_in_the_order_asked(world: World) -> None:
    ids = [(await world.create()).chat.id for _ in range(3)]
    asked = (ids[2], ChatId(fresh_id()), ids[0])
    found = await world.store.read(chats.chats(asked))
    assert [chat.id for chat in found] == [ids[2], ids[0]]
    assert await world.store.read(chats.chats(())) == ()


STRANGE_CURSORS = (
    "",
    "x",
    "1",
    "1.2",
    "1.019df000",
    "1.' OR 1=1--",
    "-1.019df000-0000-7000-8000-00000000c0de",
    "١.019df000-0000-7000-8000-00000000c0de",
    "1.019DF000-0000-7000-8000-00000000C0DE",
    "9" * 30 + ".019df000-0000-7000-8000-00000000c0de",
)


async def test_a_made_up_cursor_is_refused(world: World) -> None:
    for cursor in STRANGE_CURSORS:
        with pytest.raises(InvalidInput):
            await world.store.read(chats.page(world.owner, cursor=cursor))


async def test_a_cursor_of_another_list_is_harmless(world: World) -> None:
    mine = await world.create()
    theirs = user()
    for _ in range(3):
        await world.create(owner=theirs)
    page = await world.store.read(chats.page(theirs, limit=1))
    mixed = await world.store.read(chats.page(world.owner, cursor=page.next_cursor))
    assert {chat.id for chat in mixed.items} <= {mine.chat.id}
