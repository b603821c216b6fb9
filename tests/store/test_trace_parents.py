"""Which span a turn is part of: kept with the message that waits, found through whoever started a chat."""

from msgspec.structs import replace

from holdfast.chats.commands import Compact, Create, Send
from holdfast.core.chats import Settings
from holdfast.core.ids import CallId, ChatId, FlowRunId, RunId
from holdfast.core.origins import FromChat, FromFlowStep, FromRun
from holdfast.core.runs import AskedBy, Run
from holdfast.core.trace_parents import call_span, parsed, run_span, span_id_of, trace_id_of, turn_span
from holdfast.store import runs, steps
from holdfast.telemetry.trace_context import place_of_run, place_of_turn
from tests.store.world import World, call, fresh_id, text, view_of

TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
GIVEN = f"00-{TRACE}-{SPAN}-01"
LATER = f"00-{TRACE}-00f067aa0ba902b7-01"


async def parents_of_turns(world: World, chat_id: ChatId) -> list[str | None]:
    found = await world.store.read(steps.turns(chat_id))
    return [turn.trace_parent for turn in reversed(found)]


async def test_a_message_that_waits_keeps_it(world: World) -> None:
    chat_id = ChatId(fresh_id())
    create = Create(owner_id=world.owner, settings=Settings(), parts=text("hello"), trace_parent=GIVEN)
    view = await world.own(view_of(await world.do(chat_id, create)))
    await world.do(chat_id, Send(parts=text("more"), created_by=world.owner, trace_parent=LATER))
    view = await world.finish(await world.view(chat_id))
    # The head of the queue started the next turn.
    view = await world.finish(view)
    assert view.chat.status == "idle"
    await world.do(chat_id, Compact(trace_parent=LATER))
    assert await parents_of_turns(world, chat_id) == [GIVEN, LATER, LATER]
    place = await place_of_turn(world.store, chat_id, 1)
    assert place is not None
    assert place.parent == parsed(GIVEN)
    assert (place.span.trace_id, place.span.span_id) == (TRACE, span_id_of(*turn_span(chat_id, 1)))


async def test_a_chat_without_one_begins_a_trace(world: World) -> None:
    view = await world.create()
    place = await place_of_turn(world.store, view.chat.id, 1)
    assert place is not None
    assert place.parent is None
    assert place.span.trace_id == trace_id_of(*turn_span(view.chat.id, 1))
    assert await place_of_turn(world.store, ChatId(fresh_id()), 1) is None


async def test_sub_agents_and_runs_are_below_the_call_that_started_them(world: World) -> None:
    chat_id = ChatId(fresh_id())
    create = Create(owner_id=world.owner, settings=Settings(), parts=text("hello"), trace_parent=GIVEN)
    parent = await world.step(
        await world.own(view_of(await world.do(chat_id, create))), call("c1"), call("c2")
    )
    child = ChatId(fresh_id())
    spawned = Create(
        owner_id=world.owner,
        settings=Settings(),
        parts=text("do this"),
        origin=FromChat(chat_id=chat_id, call_id=CallId("c1")),
        root_id=parent.chat.root_id,
    )
    await world.do(child, spawned)
    place = await place_of_turn(world.store, child, 1)
    assert place is not None
    assert place.parent is not None
    assert (place.span.trace_id, place.parent.span_id) == (TRACE, span_id_of(*call_span(chat_id, "c1")))

    run = Run(
        id=RunId(fresh_id()),
        owner_id=world.owner,
        name="w",
        language="python",
        created_at=world.clock.now(),
        args_hash="",
        script="",
        asked_by=AskedBy(chat_id=chat_id, call_id=CallId("c2")),
    )
    await world.store.write(runs.create(run))
    of_run = await place_of_run(world.store, run.id)
    assert of_run.parent is not None
    assert of_run.parent.span_id == span_id_of(*call_span(chat_id, "c2"))
    agent = ChatId(fresh_id())
    await world.do(
        agent,
        replace(spawned, origin=FromRun(run_id=run.id), root_id=None),
    )
    place = await place_of_turn(world.store, agent, 1)
    assert place is not None
    assert place.parent is not None
    assert (place.span.trace_id, place.parent.span_id) == (TRACE, span_id_of(*run_span(run.id)))

    # A run that a request named a span for, and one of a flow that nobody knows any more.
    other = replace(run, id=RunId(fresh_id()), asked_by=None, trace_parent=LATER)
    await world.store.write(runs.create(other))
    assert (await place_of_run(world.store, other.id)).parent == parsed(LATER)
    stray = ChatId(fresh_id())
    gone = FromFlowStep(flow_run_id=FlowRunId(fresh_id()), step_id="a")
    await world.do(stray, replace(spawned, origin=gone, root_id=None))
    place = await place_of_turn(world.store, stray, 1)
    assert place is not None
    assert place.parent is not None
