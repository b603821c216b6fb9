"""Runs and their journals in the store: what is written comes back, a worker that lost its lease writes
nothing, and what belongs together is written together."""

import asyncio
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from holdfast.chats.commands import CommitStep, Create, DeliveryKey, FinishTurn, NewMessage, NewStep, Send
from holdfast.core.chats import Settings
from holdfast.core.errors import NotFound
from holdfast.core.events import RunHint
from holdfast.core.ids import CallId, ChatId, RandomIds, RunId, UserId, WorkerId, WorkspaceId
from holdfast.core.origins import FromRun
from holdfast.core.parts import Text
from holdfast.core.runs import (
    AgentTerms,
    AskedBy,
    CallError,
    PinnedScript,
    Run,
    RunCall,
    RunError,
    RunLine,
    RunPhase,
)
from holdfast.core.usage import Budget, Usage
from holdfast.store import agent_ends, budgets, deliveries, journals, runs
from holdfast.store.audit import audited
from holdfast.store.journals import Ending, Entries, LeaseLost
from tests.store.test_kept_things import entry
from tests.store.world import World

OWNER = UserId("019df000-0000-7000-8000-00000000beef")
STRANGER = UserId("019df000-0000-7000-8000-00000000cafe")
PLACE = WorkspaceId("019df000-0000-7000-8000-00000000aaaa")
_ids = RandomIds()


def a_run(world: World, **more: Any) -> Run:
    # Ids of one moment have no order.
    world.clock.advance(0.002)
    now = world.clock.now()
    fields: dict[str, Any] = {
        "id": RunId(_ids.uuid7(now)),
        "owner_id": OWNER,
        "name": "test",
        "language": "javascript",
        "created_at": now,
        "args_hash": "h",
        "script": "return 1",
        **more,
    }
    return Run(**fields)


async def created(world: World, **more: Any) -> Run:
    return await world.store.write(runs.create(a_run(world, **more)))


async def owned(world: World, **more: Any) -> tuple[Run, WorkerId]:
    run = await created(world, **more)
    worker = await world.store.register_worker("w", 60.0)
    taken = await world.store.write(runs.acquire(worker, 100))
    return next(one for one in taken if one.id == run.id), worker


def a_call(number: int, **more: Any) -> RunCall:
    fields: dict[str, Any] = {
        "scope": 0,
        "number": number,
        "kind": "agent",
        "hash": f"hash {number}",
        "occurrence": 1,
        **more,
    }
    return RunCall(**fields)


# --- runs ---


def heard(world: World) -> list[RunHint]:
    """What was published of runs."""
    events: list[Any] = list(world.hints)
    return [event for event in events if isinstance(event, RunHint)]


async def test_every_write_is_heard_of_after_its_commit(world: World) -> None:
    run, _ = await owned(world)
    told = [(hint.version, hint.wanted, hint.over) for hint in heard(world)]
    assert told == [(run.version - 1, True, False), (run.version, False, False)]
    world.hints.clear()
    written = await world.store.write(journals.record(run.id, run.lease_number, Entries(calls=(a_call(1),))))
    with pytest.raises(LeaseLost):
        await world.store.write(journals.record(run.id, run.lease_number + 1, Entries()))
    # Also when it is part of a larger write.
    cancelled = await world.store.write(audited(runs.cancel(run.id), entry(world, "cancel")))
    assert [(hint.version, hint.over) for hint in heard(world)] == [
        (written, False),
        (cancelled.version, True),
    ]


async def test_a_run_comes_back_as_it_was_written(world: World) -> None:
    chat = ChatId(_ids.uuid7(world.clock.now()))
    run = a_run(
        world,
        workspace_id=PLACE,
        model="m",
        effort="high",
        max_concurrency=3,
        budget=Budget(tokens=100),
        asked_by=AskedBy(chat_id=chat, call_id=CallId("c1")),
        tools={"*": "deny", "add": None},
        phases=(RunPhase(title="P", detail="d"),),
        args={"a": [1, None, "ü"]},
        resumed_from=RunId(_ids.uuid7(world.clock.now())),
    )
    assert await world.store.write(runs.create(run)) == run
    assert await world.store.read(runs.run(run.id)) == run
    assert await world.store.read(runs.of_call(chat, CallId("c1"))) == run


async def test_no_arguments_are_not_null(world: World) -> None:
    none, null = await created(world), await created(world, args=None)
    assert none.args is msgspec.UNSET
    assert null.args is None


async def test_a_call_starts_one_run(world: World) -> None:
    asked = AskedBy(chat_id=ChatId(_ids.uuid7(world.clock.now())), call_id=CallId("c"))
    first = await created(world, asked_by=asked)
    assert await created(world, asked_by=asked) == first


async def test_runs_are_found_by_their_owner(world: World) -> None:
    run = await created(world)
    assert await world.store.read(runs.run(run.id, STRANGER)) is None
    assert await world.store.read(runs.page(STRANGER)) == ()


async def test_a_page_is_the_newest_first_and_light(world: World) -> None:
    made = [await created(world, name=name, args={"n": 1}) for name in ("a", "b", "a")]
    found = await world.store.read(runs.page(OWNER))
    assert [run.id for run in found] == [run.id for run in reversed(made)]
    assert (found[0].script, found[0].args) == ("", msgspec.UNSET)
    assert [run.id for run in await world.store.read(runs.page(OWNER, name="b"))] == [made[1].id]
    later = await world.store.read(runs.page(OWNER, before=made[1].id, limit=5))
    assert [run.id for run in later] == [made[0].id]
    assert await world.store.read(runs.page(OWNER, status="running")) == ()


async def test_who_lends_is_the_newest_that_ended_with_the_same_arguments(world: World) -> None:
    async def lender(**more: Any) -> tuple[str, str] | None:
        asked: dict[str, Any] = {"name": "test", "args_hash": "h", "workspace_id": None, **more}
        return await world.store.read(runs.lender(OWNER, **asked))

    first, _ = await owned(world)
    assert await lender() is None
    await end(world, first, "succeeded")
    assert await lender() == (first.id, "succeeded")
    second, _ = await owned(world)
    await end(world, second, "failed")
    assert await lender() == (second.id, "failed")
    third, _ = await owned(world)
    await world.store.write(runs.cancel(third.id))
    assert await lender() == (third.id, "cancelled")
    assert await lender(args_hash="other") is None
    assert await lender(name="other") is None
    assert await lender(workspace_id=PLACE) is None


# --- leases ---


async def test_a_run_has_one_owner_at_a_time(world: World) -> None:
    run, worker = await owned(world)
    assert (run.status, run.lease_number) == ("running", 1)
    assert run.started_at is not None
    other = await world.store.register_worker("other", 60.0)
    assert await world.store.write(runs.acquire(other, 5)) == ()
    # Asked again, it says what the worker has.
    assert await world.store.write(runs.acquire(worker, 5)) == (run,)
    await world.store.retire(worker)
    (taken,) = await world.store.write(runs.acquire(other, 5))
    assert taken.lease_number == 2
    assert taken.started_at == run.started_at


async def test_a_lease_runs_out(world: World) -> None:
    await created(world)
    worker = await world.store.register_worker("w", 0.2)
    await world.store.write(runs.acquire(worker, 1))
    async with asyncio.timeout(30):
        while not await world.store.read(runs.wanted()):
            world.clock.advance(0.1)
            await asyncio.sleep(0.02)
    other = await world.store.register_worker("other", 60.0)
    (taken,) = await world.store.write(runs.acquire(other, 1))
    assert taken.lease_number == 2


async def test_a_worker_whose_lease_has_run_out_takes_nothing(world: World) -> None:
    await created(world)
    worker = await world.store.register_worker("w", 2.0)
    world.clock.advance(2.1)
    assert await world.store.write(runs.acquire(worker, 5)) == ()
    # Nor keeps what it had: whoever lives takes it without having looked first.
    worker = await world.store.register_worker("w", 2.0)
    assert len(await world.store.write(runs.acquire(worker, 5))) == 1
    world.clock.advance(2.1)
    other = await world.store.register_worker("other", 60.0)
    (taken,) = await world.store.write(runs.acquire(other, 5))
    assert taken.lease_number == 2


async def test_the_oldest_runs_are_taken_first_and_no_more_than_asked_for(world: World) -> None:
    made = [await created(world) for _ in range(3)]
    worker = await world.store.register_worker("w", 60.0)
    taken = await world.store.write(runs.acquire(worker, 2))
    assert [run.id for run in taken] == [run.id for run in made[:2]]
    assert await world.store.read(runs.wanted())
    await world.store.write(runs.acquire(worker, 2))
    assert not await world.store.read(runs.wanted())


async def test_a_worker_without_a_lease_takes_nothing(world: World) -> None:
    await created(world)
    worker = await world.store.register_worker("w", 60.0)
    await world.store.retire(worker)
    assert await world.store.write(runs.acquire(worker, 5)) == ()


async def test_what_a_worker_gives_back_is_free(world: World) -> None:
    run, worker = await owned(world)
    world.hints.clear()
    await world.store.write(runs.release(worker))
    (hint,) = heard(world)
    assert (hint.run_id, hint.wanted) == (run.id, True)
    assert await world.store.read(runs.standing(worker)) == {}
    other = await world.store.register_worker("other", 60.0)
    await world.store.write(runs.acquire(other, 5))
    with pytest.raises(LeaseLost):
        await world.store.write(journals.record(run.id, run.lease_number, Entries()))


# --- journals ---


async def test_calls_and_lines_come_back_as_they_were_written(world: World) -> None:
    run, _ = await owned(world)
    now = world.clock.now()
    call = a_call(
        1,
        label="L",
        phase="P",
        branch="b",
        chat_id=ChatId(_ids.uuid7(now)),
        started_at=now,
        terms=AgentTerms(schema={"type": "object"}, max_steps=3),
        script=PinnedScript(language="python", text="x"),
    )
    line = RunLine(number=1, scope=2, place=1, kind="warning", text="said\nso", at=now)
    await world.store.write(journals.record(run.id, 1, Entries(calls=(call,), lines=(line,))))
    ended = replace(
        call,
        outcome="failed",
        value={"a": [None, 1.5]},
        error=CallError(kind="budget", message="spent"),
        finished_at=now,
        delivery=1,
        spent=7,
        usage=Usage(output=7),
    )
    await world.store.write(journals.record(run.id, 1, Entries(calls=(ended,))))
    found = await world.store.read(journals.details(run.id))
    assert found is not None
    assert found.calls == (ended,)
    assert found.lines == (line,)


@pytest.mark.parametrize("count", [1, 9, 10, 61, 137])
async def test_any_number_of_calls_is_written_together(world: World, count: int) -> None:
    run, _ = await owned(world)
    calls = tuple(a_call(number, value=number, outcome="succeeded") for number in range(1, count + 1))
    lines = tuple(
        RunLine(number=number, kind="log", text=str(number), at=world.clock.now())
        for number in range(1, count + 1)
    )
    await world.store.write(journals.record(run.id, 1, Entries(calls=calls, lines=lines)))
    assert await world.store.read(journals.calls(run.id)) == calls
    assert await world.store.read(journals.lines(run.id)) == lines


async def test_the_same_write_twice_changes_nothing(world: World) -> None:
    """As when the answer to a commit was lost."""
    run, _ = await owned(world)
    line = RunLine(number=1, kind="log", text="x", at=world.clock.now())
    write = journals.record(run.id, 1, Entries(calls=(a_call(1),), lines=(line,)))
    await world.store.write(write)
    await world.store.write(write)
    found = await world.store.read(journals.details(run.id))
    assert found is not None
    assert (found.calls, found.lines) == ((a_call(1),), (line,))


async def test_what_changed_since_a_version(world: World) -> None:
    run, _ = await owned(world)
    first = await world.store.write(journals.record(run.id, 1, Entries(calls=(a_call(1), a_call(2)))))
    line = RunLine(number=1, kind="log", text="x", at=world.clock.now())
    ended = replace(a_call(2), outcome="succeeded")
    second = await world.store.write(journals.record(run.id, 1, Entries(calls=(ended,), lines=(line,))))
    assert (first, second) == (run.version + 1, run.version + 2)
    since = await world.store.read(journals.since(run.id, first))
    assert (since.calls, since.lines) == ((ended,), (line,))
    assert since.run is not None
    assert since.run.version == second


async def test_text_that_no_database_takes_is_cleaned(world: World) -> None:
    run, _ = await owned(world)
    line = RunLine(number=1, kind="log", text="a\0b\ud800", at=world.clock.now())
    call = a_call(1, label="x\0")
    await world.store.write(journals.record(run.id, 1, Entries(calls=(call,), lines=(line,))))
    (stored,) = await world.store.read(journals.lines(run.id))
    assert stored.text == "a\ufffdb\ufffd"


async def end(world: World, run: Run, status: Any, **more: Any) -> int:
    ending = Ending(status=status, **more)
    return await world.store.write(journals.record(run.id, run.lease_number, Entries(ending=ending)))


async def test_a_run_that_is_over_never_changes_again(world: World) -> None:
    run, worker = await owned(world)
    await end(world, run, "failed", error=RunError(message="no luck", line=3))
    over = await world.store.read(runs.run(run.id))
    assert over is not None
    assert (over.status, over.error) == ("failed", RunError(message="no luck", line=3))
    assert over.finished_at is not None
    with pytest.raises(LeaseLost):
        await world.store.write(journals.record(run.id, run.lease_number, Entries(calls=(a_call(1),))))
    assert await world.store.write(runs.cancel(run.id)) == over
    assert await world.store.write(runs.acquire(worker, 5)) == ()
    assert await world.store.read(journals.calls(run.id)) == ()


async def test_cancelling_ends_the_open_calls_with_it(world: World) -> None:
    run, _ = await owned(world)
    done = a_call(1, outcome="succeeded", finished_at=world.clock.now())
    await world.store.write(journals.record(run.id, 1, Entries(calls=(done, a_call(2)))))
    cancelled = await world.store.write(runs.cancel(run.id, OWNER))
    assert cancelled.status == "cancelled"
    found = await world.store.read(journals.since(run.id, cancelled.version - 1))
    assert [(call.number, call.status) for call in found.calls] == [(2, "cancelled")]
    with pytest.raises(LeaseLost):
        await world.store.write(journals.record(run.id, 1, Entries()))


async def test_somebody_elses_run_is_not_cancelled(world: World) -> None:
    run, _ = await owned(world)
    with pytest.raises(NotFound):
        await world.store.write(runs.cancel(run.id, STRANGER))
    found = await world.store.read(runs.run(run.id))
    assert found is not None
    assert found.status == "running"


async def test_good_answers_are_lent(world: World) -> None:
    run, _ = await owned(world)
    calls = (
        a_call(1, outcome="succeeded", value=1),
        a_call(2, outcome="failed"),
        a_call(3),
        a_call(4, kind="workflow", outcome="succeeded"),
        a_call(1, scope=4, outcome="succeeded", value=2),
    )
    await world.store.write(journals.record(run.id, 1, Entries(calls=calls)))
    assert [call.value for call in await world.store.read(journals.lent(run.id))] == [1, 2]


# --- agents ---


async def agent(world: World, run: Run, text: str, output: int = 5) -> ChatId:
    """An agent of the run that has said this."""
    chat_id = ChatId(_ids.uuid7(world.clock.now()))
    create = Create(
        owner_id=OWNER, settings=Settings(), parts=(Text(text="go"),), origin=FromRun(run_id=run.id)
    )
    await world.store.transition(chat_id, create)
    worker = await world.store.register_worker("agents", 600.0)
    (view,) = await world.store.acquire(worker, limit=0, agents_limit=1)
    assert view.chat.id == chat_id
    step = CommitStep(
        step=NewStep(started_at=world.clock.now(), usage=Usage(output=output, total=output)),
        messages=(NewMessage(role="assistant", parts=(Text(text=text),)),),
    )
    await world.store.transition(chat_id, step, FinishTurn())
    return chat_id


async def test_ends_of_agents_are_read_until_they_are_taken(world: World) -> None:
    run, _ = await owned(world)
    chat_id = await agent(world, run, "the answer")
    (found,) = await world.store.read(agent_ends.ends(run.id))
    assert (found.key, found.outcome, found.said) == (
        DeliveryKey(child_id=chat_id, turn=1),
        "finished",
        "the answer",
    )
    assert (found.usage.output, found.asked, found.busy_below) == (5, 1, ())
    await world.store.write(journals.record(run.id, 1, Entries(taken=(found.key,))))
    assert await world.store.read(agent_ends.ends(run.id)) == ()
    assert await world.store.read(deliveries.deliveries_for_run(run.id)) == ()


async def test_of_ends_that_are_found_together_the_last_is_the_end(world: World) -> None:
    run, _ = await owned(world)
    chat_id = await agent(world, run, "they are at work")
    await world.store.transition(chat_id, Send(parts=(Text(text="They are done."),), created_by=OWNER))
    step = CommitStep(
        step=NewStep(started_at=world.clock.now()),
        messages=(NewMessage(role="assistant", parts=(Text(text="all done"),)),),
    )
    await world.store.transition(chat_id, step, FinishTurn())
    for found in await world.store.read(agent_ends.ends(run.id), agent_ends.ends_alone(run.id)):
        assert found is not None
        assert [(end.said, end.goes_on) for end in found] == [("they are at work", True), ("all done", False)]


async def test_agents_are_bound_by_the_budget_of_their_run(world: World) -> None:
    run, _ = await owned(world, budget=Budget(tokens=8))
    first, second = await agent(world, run, "a"), await agent(world, run, "b", output=2)
    assert not await world.store.read(budgets.over_budget(first))
    (cap,) = await world.store.read(budgets.all_caps(second))
    assert (cap.tokens, cap.spent_tokens) == (8, 7)
    await agent(world, run, "c", output=1)
    assert await world.store.read(budgets.over_budget(first))


async def test_terms_are_found_by_the_agents_chat(world: World) -> None:
    run, _ = await owned(world)
    chat_id = await agent(world, run, "a")
    assert await world.store.read(journals.terms(chat_id)) is None
    terms = AgentTerms(max_tool_calls=2)
    await world.store.write(
        journals.record(run.id, 1, Entries(calls=(a_call(1, chat_id=chat_id, terms=terms),)))
    )
    assert await world.store.read(journals.terms(chat_id)) == terms
