"""Transitions: decided on the owner's view or on the present state, applied whole or not at all, told
afterwards."""

import pytest

from holdfast.chats.commands import (
    BeginAttempt,
    Fence,
    FinishTurn,
    Interrupt,
    NoteRetry,
    Notify,
    Release,
    Send,
    StartCalls,
)
from holdfast.chats.view import Queued
from holdfast.core.failures import Failure
from holdfast.core.ids import CallId, ChatId
from holdfast.core.messages import Message
from holdfast.core.parts import ToolResult
from holdfast.store import calls, queue, steps
from holdfast.store.interface import Applied
from tests.store.world import World, answer, call, fence_of, finished, fresh_id, text, view_of


async def test_a_chat_begins_and_its_turn_runs_to_the_end(world: World) -> None:
    view = await world.create("What is in here?")
    assert (view.chat.version, view.chat.status) == (1, "running")
    view = await world.own(view)
    view = await world.step(view, call("a"), call("b"))
    view = await world.work(view, finished("a", {"files": ["x", "y"]}, full_output="x" * 5000))
    view = await world.work(view, finished("b", 'quotes " and \\ and \u2028'), BeginAttempt())
    view = await world.work(view, answer(content="Two files."))
    view = await world.work(view, FinishTurn())

    assert (view.chat.status, view.chat.lease, view.calls) == ("idle", None, ())
    history = await world.history(view.chat.id)
    assert [message.role for message in history] == ["user", "assistant", "tool", "assistant"]
    results = [part for part in history[2].parts if isinstance(part, ToolResult)]
    assert [part.output for part in results] == [{"files": ["x", "y"]}, 'quotes " and \\ and \u2028']
    assert view.chat.usage.total == 30
    one = await world.store.read(calls.call(view.chat.id, CallId("a")))
    assert one is not None
    assert (one.full_output, one.call.state, one.call.truncated) == ("x" * 5000, "answered", True)
    turns, made = await world.store.read(steps.turns(view.chat.id), steps.steps_of_turns(view.chat.id, 1, 1))
    assert [(turn.number, turn.outcome) for turn in turns] == [(1, "finished")]
    assert [step.number for step in made] == [1, 2]
    assert await world.store.check() == []


async def test_versions_rise_by_one(world: World) -> None:
    view = await world.own(await world.create())
    failure = Failure(kind="server", message="no")
    for expected in range(view.chat.version + 1, view.chat.version + 6):
        view = await world.work(view, NoteRetry(failure=failure, delay_ms=expected))
        assert view.chat.version == expected
        assert view.chat.retry_version == expected
    assert view.chat.history_version == 1


async def test_several_commands_are_one_version(world: World) -> None:
    view = await world.own(await world.create())
    before = await world.work(view, BeginAttempt())
    view = await world.work(before, answer(call("a"), call("b")), StartCalls(call_ids=(CallId("a"),)))
    assert view.chat.version == before.chat.version + 1
    assert [(found.call_id, found.state) for found in view.calls] == [("a", "started"), ("b", "pending")]


async def test_all_commands_or_none(world: World) -> None:
    view = await world.own(await world.create())
    refusal = await world.refused(view.chat.id, BeginAttempt(), StartCalls(call_ids=(CallId("no"),)))
    assert refusal.code == "stale"
    assert await world.view(view.chat.id) == view


async def test_a_stale_view_is_decided_again(world: World) -> None:
    """A person's message came between: the owner's commit is still right, and both are kept."""
    stale = await world.own(await world.create())
    await world.send(stale.chat.id, "and also")
    view = await world.work(stale, BeginAttempt(admit=False))
    assert (view.chat.attempt, len(view.queue)) == (1, 1)
    assert view.chat.version == stale.chat.version + 2


async def test_a_stale_view_does_not_hide_what_came_between(world: World) -> None:
    """The turn ends: on the owner's view there is no queue, in truth there is one, and its head starts."""
    stale = await world.step(await world.own(await world.create()))
    await world.send(stale.chat.id, "next")
    view = await world.work(stale, FinishTurn())
    assert (view.chat.status, view.chat.turn, view.queue) == ("running", 2, ())


async def test_a_refusal_on_a_stale_view_is_not_believed(world: World) -> None:
    stale = await world.own(await world.create())
    view = await world.step(stale, call("a"))
    # On the stale view there is no such call.
    told = await world.store.transition(view.chat.id, finished("a"), fence=fence_of(stale), view=stale)
    assert isinstance(told, Applied)


@pytest.mark.parametrize("with_view", [True, False])
async def test_fences(world: World, with_view: bool) -> None:
    view = await world.own(await world.create())
    lease = view.chat.lease_number
    fences = [
        Fence(lease_number=lease + 1),
        Fence(lease_number=lease, history_version=view.chat.history_version + 1),
        Fence(lease_number=lease, status="interrupting"),
        Fence(lease_number=lease, attempt=7),
    ]
    for fence in fences:
        refusal = await world.refused(
            view.chat.id, BeginAttempt(), fence=fence, view=view if with_view else None
        )
        assert refusal.code == "stale"
    assert await world.view(view.chat.id) == view


async def test_an_interrupt_between_is_seen_by_the_fence(world: World) -> None:
    stale = await world.own(await world.create())
    await world.do(stale.chat.id, Interrupt())
    fence = Fence(lease_number=stale.chat.lease_number, status="running")
    refusal = await world.refused(stale.chat.id, BeginAttempt(), fence=fence, view=stale)
    assert refusal.code == "stale"


async def test_a_late_finish_of_a_call_is_refused(world: World) -> None:
    first = await world.step(await world.own(await world.create()), call("a", effect="read"))
    await world.store.retire(first.chat.lease.worker_id) if first.chat.lease else None
    world.worker = None
    second = await world.own(first)
    # The old owner comes back: its lease is another's now.
    late = await world.refused(first.chat.id, finished("a"), fence=fence_of(first), view=first)
    assert late.code == "stale"
    assert await world.view(first.chat.id) == second
    # The new one ran the call again, as number 2; the end of number 1 does not count under its lease either.
    again = await world.work(second, StartCalls(call_ids=(CallId("a"),)))
    assert (await world.refused(again.chat.id, finished("a", run=1), fence=fence_of(again))).code == "stale"
    done = await world.work(again, finished("a", run=2))
    assert done.calls[0].outcome == "succeeded"


async def test_a_call_may_finish_while_interrupting(world: World) -> None:
    view = await world.step(await world.own(await world.create()), call("a"))
    await world.do(view.chat.id, Interrupt())
    done = await world.work(view, finished("a", "in time"))
    assert (done.chat.status, done.calls[0].output) == ("interrupting", "in time")


async def test_nothing_to_do_writes_and_tells_nothing(world: World) -> None:
    view = await world.own(await world.create())
    interrupting = view_of(await world.do(view.chat.id, Interrupt()))
    world.hints.clear()
    told = await world.do(view.chat.id, Interrupt())
    assert told.change.is_empty
    assert told.view == interrupting
    assert world.hints == []


async def test_answers(world: World) -> None:
    view = await world.own(await world.create())
    queued = (await world.send(view.chat.id, "later")).change.answer
    assert isinstance(queued, Queued)
    assert await world.store.read(queue.queue(view.chat.id)) == (queued,)
    idle = await world.idle()
    entered = (await world.send(idle.chat.id, "now")).change.answer
    assert isinstance(entered, Message)
    assert (await world.history(idle.chat.id))[-1] == entered


async def test_nobody_is_there(world: World) -> None:
    nobody = ChatId(fresh_id())
    command = Send(parts=text("hello"), created_by=world.owner)
    assert (await world.refused(nobody, command)).code == "not_found"
    assert (await world.refused(nobody, Notify(source="agent", key="k", text="gone"))).code == "not_found"
    assert await world.store.view(nobody) is None


async def test_hints_follow_commits_and_nothing_else(world: World) -> None:
    view = await world.create()
    assert [(hint.version, hint.status, hint.wanted) for hint in world.hints] == [(1, "running", True)]
    owned = await world.own(view)
    world.hints.clear()
    await world.refused(view.chat.id, BeginAttempt(), fence=Fence(lease_number=99))
    assert world.hints == []
    await world.work(owned, BeginAttempt())
    await world.do(view.chat.id, Release())
    told = [(hint.chat_id, hint.version, hint.history_version, hint.wanted) for hint in world.hints]
    assert told == [(view.chat.id, 3, 1, False), (view.chat.id, 4, 1, True)]
    assert {hint.owner_id for hint in world.hints} == {world.owner}
