"""Parents, children, forks: what crosses from one chat to another happens once and in one transaction."""

import asyncio
from datetime import timedelta

from msgspec.structs import replace

from holdfast.chats.commands import (
    Archive,
    BeginAttempt,
    Create,
    Delete,
    DeliveryKey,
    Edit,
    Fork,
    Import,
    Interrupt,
    Notify,
    Reconcile,
    RequireAction,
    Unarchive,
)
from holdfast.chats.view import View
from holdfast.core.chats import Settings
from holdfast.core.ids import CallId, ChatId, MessageId, RunId
from holdfast.core.origins import FromChat, FromRun
from holdfast.core.parts import Text, ToolResult
from holdfast.core.usage import Budget
from holdfast.store import budgets, chats, deliveries, messages
from holdfast.store.interface import Applied
from tests.store.world import World, call, fence_of, finished, fresh_id, text, view_of


def ended(child: View) -> DeliveryKey:
    return DeliveryKey(child_id=child.chat.id, turn=child.chat.turn)


async def test_a_childs_end_is_delivered_once(world: World) -> None:
    parent = await world.step(await world.own(await world.create()), call("wait"))
    child = await world.own(await world.child(parent, "wait"))
    world.hints.clear()
    child = await world.finish(child)
    [delivery] = await world.store.read(deliveries.deliveries_for_parent(parent.chat.id))
    assert (delivery.child_id, delivery.outcome, delivery.answer_id) == (
        child.chat.id,
        "finished",
        child.chat.answer_id,
    )
    told = [hint for hint in world.hints if hint.delivery]
    assert [(hint.chat_id, hint.version, hint.status) for hint in told] == [
        (parent.chat.id, parent.chat.version, "running")
    ]
    # The waiting call takes it with its result; a notice for the same end comes too late.
    key = ended(child)
    after = await world.work(parent, finished("wait", consumes=(key,)))
    assert await world.store.read(deliveries.deliveries_for_parent(parent.chat.id)) == ()
    late = await world.do(
        parent.chat.id, Notify(source="agent", key="end", text="done", wake=True, delivery=key)
    )
    assert late.change.is_empty
    assert late.view == after


async def test_two_who_want_the_same_delivery(world: World) -> None:
    parent = await world.step(await world.own(await world.create()), call("a"), call("b"))
    child = await world.finish(await world.own(await world.child(parent)))
    key = ended(child)
    told = await asyncio.gather(
        *(
            world.store.transition(
                parent.chat.id, finished(name, consumes=(key,)), fence=fence_of(parent), view=parent
            )
            for name in ("a", "b")
        ),
        world.store.transition(parent.chat.id, Notify(source="agent", key="end", text="done", delivery=key)),
    )
    took = [answer for answer in told if isinstance(answer, Applied) and answer.change.deliveries_taken]
    assert len(took) == 1


async def test_deliveries_for_a_run(world: World) -> None:
    run = RunId(fresh_id())
    child = await world.idle(origin=FromRun(run_id=run))
    [delivery] = await world.store.read(deliveries.deliveries_for_run(run))
    assert (delivery.child_id, delivery.parent_id) == (child.chat.id, None)


async def test_a_deleted_child_leaves_its_end(world: World) -> None:
    parent = await world.own(await world.create())
    child = await world.child(parent)
    await world.do(child.chat.id, Delete())
    [delivery] = await world.store.read(deliveries.deliveries_for_parent(parent.chat.id))
    assert (delivery.child_id, delivery.outcome) == (child.chat.id, "interrupted")
    assert await world.store.check() == []


async def test_a_notice_happens_once_per_key(world: World) -> None:
    view = await world.idle()
    notify = Notify(source="agent", key="k", text="something happened", wake=True)
    woken = view_of(await world.do(view.chat.id, notify))
    assert woken.chat.status == "running"
    assert (await world.do(view.chat.id, notify)).change.is_empty
    ended = await world.finish(await world.own(woken))
    # Long after it entered history.
    assert (await world.do(view.chat.id, notify)).change.is_empty
    assert await world.view(view.chat.id) == ended


async def test_a_spent_budget_starts_no_turn(world: World) -> None:
    root = await world.idle(settings=Settings(budget=Budget(tokens=20)))
    child = await world.finish(await world.own(await world.child(root)))
    assert [cap.spent_tokens for cap in await world.store.read(budgets.caps(child.chat.id))] == [30]
    for view in (root, child):
        told = await world.do(view.chat.id, Notify(source="x", key="k", text="hello", wake=True))
        assert view_of(told).chat.status == "idle"
        assert len(view_of(told).inbox) == 1
    free = await world.idle(settings=Settings(budget=Budget(tokens=20, cost_usd_micros=4)))
    told = await world.do(free.chat.id, Notify(source="x", key="k", text="hello", wake=True))
    assert view_of(told).chat.status == "running"


async def test_a_child_needs_its_parent(world: World) -> None:
    gone = ChatId(fresh_id())
    refusal = await world.refused(
        ChatId(fresh_id()),
        Create(
            owner_id=world.owner,
            settings=Settings(),
            parts=text("x"),
            origin=FromChat(chat_id=gone),
            root_id=gone,
        ),
    )
    assert refusal.code == "not_found"
    assert await world.store.check() == []


async def test_the_family_is_archived_together(world: World) -> None:
    root = await world.idle()
    child = await world.child(root)
    grandchild = await world.finish(await world.own(await world.child(child)))
    refusal = await world.refused(root.chat.id, Archive())
    assert (refusal.code, refusal.data) == ("wrong_state", {"busy": [child.chat.id]})
    assert (await world.refused(child.chat.id, Archive())).code == "wrong_state"
    child = await world.finish(await world.own(child))

    world.hints.clear()
    await world.do(root.chat.id, Archive())
    for view in (root, child, grandchild):
        after = await world.view(view.chat.id)
        assert after.chat.archived
        assert after.chat.version == view.chat.version + 1
    assert {hint.chat_id for hint in world.hints} == {root.chat.id, child.chat.id, grandchild.chat.id}
    await world.do(root.chat.id, Unarchive())
    assert not (await world.view(grandchild.chat.id)).chat.archived


async def test_a_fork_is_a_copy_up_to_a_message(world: World) -> None:
    view = await world.step(await world.own(await world.create("first")), call("a"))
    view = await world.work(view, finished("a", "result"), BeginAttempt())
    source = await world.history(view.chat.id)
    fork = ChatId(fresh_id())
    settings = Settings(title="Fork", labels=("x",))
    command = Fork(owner_id=world.owner, source_id=view.chat.id, settings=settings)
    forked = view_of(await world.do(fork, command))
    copy = await world.history(fork)
    assert forked.chat.status == "idle"
    assert [message.parts for message in copy] == [message.parts for message in source]
    assert not {message.id for message in copy} & {message.id for message in source}

    # At the answer that asked for a call: the call is answered as cancelled.
    shorter = ChatId(fresh_id())
    await world.do(
        shorter, Fork(owner_id=world.owner, source_id=view.chat.id, settings=settings, up_to=source[1].id)
    )
    healed = await world.history(shorter)
    assert [message.role for message in healed] == ["user", "assistant", "tool"]
    assert isinstance(healed[2].parts[0], ToolResult)
    for source_id, up_to in ((view.chat.id, MessageId(fresh_id())), (ChatId(fresh_id()), None)):
        refused = Fork(owner_id=world.owner, source_id=source_id, settings=settings, up_to=up_to)
        assert (await world.refused(ChatId(fresh_id()), refused)).code == "not_found"
    assert await world.store.check() == []


async def test_an_import_is_a_history_from_elsewhere(world: World) -> None:
    view = await world.step(await world.own(await world.create("first")), call("a"))
    source = await world.history(view.chat.id)
    # More than goes into one statement.
    told = replace(source[0], parts=(Text(text="word " * 30_000),))
    given = (*[replace(told, id=MessageId(fresh_id())) for _ in range(20)], *source[1:])
    chat_id = ChatId(fresh_id())
    command = Import(owner_id=world.owner, settings=Settings(title="Kept"), messages=given)
    imported = view_of(await world.do(chat_id, command))
    copy = await world.history(chat_id)
    assert (imported.chat.status, imported.chat.message_count) == ("idle", 22)
    assert [message.role for message in copy] == [*["user"] * 20, "assistant", "tool"]
    assert copy[0].parts == told.parts
    assert not {message.id for message in copy} & {message.id for message in given}
    # Once: whoever does it again is told that it is there.
    assert (await world.refused(chat_id, command)).code == "wrong_state"
    assert await world.history(chat_id) == copy
    assert await world.store.check() == []


async def test_an_edit_removes_what_came_after(world: World) -> None:
    view = await world.idle("one")
    view = await world.finish(await world.own(view_of(await world.send(view.chat.id, "two"))))
    view = await world.step(await world.own(view_of(await world.send(view.chat.id, "three"))), call("spawn"))
    child = await world.child(view, "spawn")
    grandchild = await world.child(child)
    unrelated = await world.child(view, "elsewhere")
    before = await world.history(view.chat.id)
    two = before[2]
    told = await world.do(view.chat.id, Edit(message_id=two.id, parts=text("2"), created_by=world.owner))
    history = await world.history(view.chat.id)
    assert [message.parts for message in history[:2]] == [message.parts for message in before[:2]]
    assert history[2:] == (told.change.answer,)
    everything = await world.history(view.chat.id, removed=True)
    assert [message.id for message in everything if message.removed][: len(before) - 2] == [
        message.id for message in before[2:]
    ]
    # Children that were started there are stopped, at any depth.
    assert (await world.view(child.chat.id)).chat.status == "interrupting"
    assert (await world.view(grandchild.chat.id)).chat.status == "interrupting"
    assert (await world.view(unrelated.chat.id)).chat.status == "running"
    refusal = await world.refused(
        view.chat.id, Edit(message_id=two.id, parts=text("again"), created_by=world.owner)
    )
    assert refusal.code == "wrong_state"
    # The call still runs; its outcome is kept on its row alone.
    late = await world.do(view.chat.id, finished("spawn"), fence=fence_of(view))
    assert view_of(late).calls == ()
    assert await world.store.check() == []


async def test_deleting_removes_the_subtree(world: World) -> None:
    root = await world.idle(settings=Settings(title="wholly unusual", labels=("l",)))
    child = await world.own(await world.child(root))
    grandchild = await world.child(child)
    other = await world.idle()
    await world.do(child.chat.id, Interrupt())
    while await world.store.index_pending():
        pass
    world.hints.clear()
    await world.do(root.chat.id, Delete())
    gone = {root.chat.id, child.chat.id, grandchild.chat.id}
    assert {hint.chat_id for hint in world.hints} == gone
    assert {hint.status for hint in world.hints} == {None}
    for chat_id in gone:
        assert await world.store.view(chat_id) is None
        assert await world.store.read(messages.page(chat_id)) == ()
        assert await world.store.read(deliveries.deliveries_for_parent(chat_id)) == ()
    found = await world.store.search(world.owner, "hello")
    assert [hit.chat_id for hit in found.hits] == [other.chat.id]
    assert (await world.store.search(world.owner, "unusual")).hits == ()
    page = await world.store.read(chats.page(world.owner))
    assert [chat.id for chat in page.items] == [other.chat.id]
    assert (await world.refused(root.chat.id, Delete())).code == "not_found"
    assert await world.store.check() == []


async def test_the_tree_and_what_it_costs(world: World) -> None:
    root = await world.idle(settings=Settings(budget=Budget(tokens=1000)))
    child = await world.finish(await world.own(await world.child(root)))
    await world.finish(await world.own(await world.child(child)))
    tree = await world.store.read(chats.family(root.chat.id))
    assert [(chat.parent_id, chat.usage.total) for chat in tree] == [
        (None, 45),
        (root.chat.id, 30),
        (child.chat.id, 15),
    ]
    assert tree[0].budget is not None
    assert (tree[0].budget.tokens, tree[0].budget.spent_tokens) == (1000, 45)
    # How full a context is does not add up.
    assert tree[0].usage.context_used == 10


async def test_where_a_chat_stands(world: World) -> None:
    root = await world.create()
    first = await world.finish(await world.own(await world.child(root)))
    second = await world.child(root)
    below = await world.child(second)
    found = [await world.store.read(chats.standing(view.chat.id)) for view in (root, first, second, below)]
    assert found == [
        chats.Standing(depth=0, children=2, busy_children=1),
        chats.Standing(depth=1, children=0, busy_children=0),
        chats.Standing(depth=1, children=1, busy_children=1),
        chats.Standing(depth=2, children=0, busy_children=0),
    ]
    assert await world.store.read(chats.standing(ChatId(fresh_id()))) is None


async def test_a_childs_question_is_shown_on_its_ancestors(world: World) -> None:
    root = await world.own(await world.create())
    child = await world.own(await world.child(root))
    child = await world.step(child, call("ask", waits_for="question", deadline_seconds=60))
    await world.work(child, RequireAction())
    for chat_id in (root.chat.id, child.chat.id):
        seen = await world.store.read(chats.chat(chat_id))
        assert seen is not None
        assert seen.action is not None
        [asked] = seen.action.calls
        assert (asked.chat_id, asked.call_id, asked.kind) == (child.chat.id, CallId("ask"), "question")
        assert asked.input == {"command": "ls"}
        assert asked.deadline_at == world.clock.now() + timedelta(seconds=60)


async def test_reconcile_finds_nothing_wrong(world: World) -> None:
    view = await world.idle()
    assert (await world.do(view.chat.id, Reconcile())).change.is_empty
