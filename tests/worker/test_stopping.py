"""The end of a worker, intended or not: chats are handed over, work that nobody may finish is stopped, and a
database that is unavailable for a while does no harm."""

import asyncio
import itertools
from typing import Any, Literal

import pytest

from holdfast.chats.commands import Command, Interrupt, StartCalls
from holdfast.chats.view import View
from holdfast.core.errors import Bug, TryAgain
from holdfast.core.ids import ChatId, WorkerId
from holdfast.worker.settings import WorkerSettings
from tests.providers.replies import say
from tests.worker.engine import QUICK_RETRIES, Engine, eventually, said_to_model
from tests.worker.faults import Result, fail_transitions
from tests.worker.toolbox import Toolbox

SHORT_GRACE = WorkerSettings(grace_seconds=0.2, cancel_seconds=0.2, retry=QUICK_RETRIES, poll_seconds=0.2)


# Wanted


async def test_chats_without_a_running_call_are_handed_over_at_once(
    engine_everywhere: Engine, tools: Toolbox
) -> None:
    """A model speaks in one chat, a tool runs in another; the first has a new owner long before the second
    has ended."""
    engine = engine_everywhere
    engine.server.answer = lambda asked: say("Here.") if "Speak" in said_to_model(asked) else None
    engine.server.holds = lambda asked: "Speak" in said_to_model(asked)
    old = engine.start()
    speaks = await engine.create("Speak")
    runs = await engine.create("call: patient\nsay: Done.")
    await engine.until_asked(2)
    await eventually(lambda: bool(tools.ledger))
    engine.start()
    stopping = asyncio.create_task(engine.stop(old))
    view = await engine.until(speaks, lambda view: view.chat.lease_number == 2)
    assert view.chat.status == "running"
    engine.server.holds = lambda _: False
    await engine.idle(speaks)
    assert (await engine.texts(speaks))[-1] == ("assistant", "Here.")
    # The call has its time, and its worker its lease.
    assert not stopping.done()
    kept = await engine.store.view(runs)
    assert kept is not None
    assert (kept.chat.lease_number, kept.calls[0].state) == (1, "started")
    tools.go().set()
    await stopping
    await engine.idle(runs)
    assert [result.output for result in await engine.results(runs)] == ["waited "]
    assert tools.ledger == [""]
    assert engine.server.refusals == []


async def test_a_call_that_takes_longer_than_the_grace_is_cancelled_and_recorded(
    engine_everywhere: Engine, tools: Toolbox
) -> None:
    engine = engine_everywhere
    old = engine.start(SHORT_GRACE)
    chat = await engine.create(
        'calls: tidy {"name": "a"}; patient_read {"name": "b"}; patient {"name": "c"}\nsay: On.'
    )
    await eventually(lambda: sorted(tools.ledger) == ["a", "b", "c"])
    await engine.stop(old)
    view = await engine.store.view(chat)
    assert view is not None
    assert (view.chat.status, view.chat.lease) == ("running", None)
    # What the tool said of itself is on its row.
    tidied = view.calls[0]
    assert (tidied.state, tidied.outcome, tidied.output) == ("finished", "cancelled", "half of it")
    assert sorted(tools.cancelled) == ["b", "c"]
    tools.go("b").set()
    engine.start()
    await engine.idle(chat)
    tidy, read, unsafe = await engine.results(chat)
    assert (tidy.outcome, tidy.output) == ("cancelled", "half of it")
    assert (read.outcome, read.output) == ("succeeded", "waited b")
    assert unsafe.outcome == "uncertain"
    # The read was repeated, the other never.
    assert sorted(tools.ledger) == ["a", "b", "b", "c"]


async def test_nothing_new_is_begun(engine: Engine, tools: Toolbox) -> None:
    old = engine.start(WorkerSettings(calls_at_once=1, retry=QUICK_RETRIES))
    chat = await engine.create('calls: patient {"name": "a"}; write {"name": "b"}\nsay: Done.')
    await eventually(lambda: tools.ledger == ["a"])
    stopping = asyncio.create_task(engine.stop(old))
    await asyncio.sleep(0)
    tools.go("a").set()
    await stopping
    view = await engine.store.view(chat)
    assert view is not None
    assert [call.state for call in view.calls] == ["finished", "pending"]
    assert view.chat.lease is None
    engine.start()
    await engine.idle(chat)
    assert tools.ledger == ["a", "b"]


async def test_a_worker_with_nothing_to_do_stops(engine: Engine) -> None:
    worker = engine.start()
    await engine.stop(worker)
    assert worker.held == 0


async def test_a_worker_may_be_stopped_before_it_began(engine: Engine) -> None:
    worker = engine.worker()
    worker.stop()
    await worker.run()


async def test_a_worker_may_be_stopped_while_it_cannot_even_register(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    tries = 0

    async def away(name: str, lease_seconds: float) -> WorkerId:
        nonlocal tries
        tries += 1
        raise TryAgain("The database is away.", 600.0 if tries > 1 else 0.01)

    monkeypatch.setattr(engine.store, "register_worker", away)
    worker = engine.start()
    await eventually(lambda: tries == 2)
    await engine.stop(worker)


async def test_an_interrupt_during_the_grace(engine: Engine, tools: Toolbox) -> None:
    old = engine.start()
    chat = await engine.create("call: patient\nsay: Done.")
    await eventually(lambda: bool(tools.ledger))
    stopping = asyncio.create_task(engine.stop(old))
    await asyncio.sleep(0.05)
    await engine.do(chat, Interrupt())
    await stopping
    engine.start()
    await engine.idle(chat)
    assert [result.outcome for result in await engine.results(chat)] == ["cancelled"]


# The lease is lost


async def test_a_lost_lease_stops_the_work_and_a_new_worker_begins(
    engine_everywhere: Engine, tools: Toolbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = engine_everywhere
    registered: list[WorkerId] = []
    register, renew = engine.store.register_worker, engine.store.renew

    async def registering(name: str, lease_seconds: float) -> WorkerId:
        registered.append(await register(name, lease_seconds))
        return registered[-1]

    def renewing(worker_id: WorkerId, lease_seconds: float) -> bool:
        lost = registered[:1] == [worker_id] and bool(tools.ledger)
        return not lost and renew(worker_id, lease_seconds)

    monkeypatch.setattr(engine.store, "register_worker", registering)
    monkeypatch.setattr(engine.store, "renew", renewing)
    engine.start(WorkerSettings(lease_seconds=3.0, retry=QUICK_RETRIES, poll_seconds=0.1))
    chat = await engine.create("call: patient\nsay: {result}")
    await eventually(lambda: bool(tools.cancelled))
    await engine.idle(chat)
    assert len(registered) == 2
    assert [result.outcome for result in await engine.results(chat)] == ["uncertain"]
    assert tools.ledger == [""]
    assert b"holdfast_leases_lost_total 1.0" in engine.metrics.exposition()


async def test_a_chat_taken_over_by_somebody_else_is_let_go(engine: Engine, tools: Toolbox) -> None:
    """The worker is retired behind its back, as if its lease had run out while it was frozen."""
    worker = engine.start()
    chat = await engine.create("call: patient\nsay: {result}")
    view = await engine.until(chat, lambda view: bool(view.calls) and view.calls[0].state == "started")
    await eventually(lambda: bool(tools.ledger))
    assert view.chat.lease is not None
    other = await engine.store.register_worker("other", 60.0)
    await engine.store.retire(view.chat.lease.worker_id)
    taken = await engine.store.acquire(other, limit=1, agents_limit=0)
    assert [one.chat.lease_number for one in taken] == [2]
    await eventually(lambda: worker.held == 0)
    # Whatever it still says is refused.
    assert tools.cancelled == [""]
    after = await engine.store.view(chat)
    assert after is not None
    assert after.calls[0].outcome == "uncertain"


async def test_a_stale_commit_is_counted(engine: Engine, tools: Toolbox) -> None:
    engine.start(WorkerSettings(poll_seconds=30.0, retry=QUICK_RETRIES))
    chat = await engine.create("call: stubborn\nsay: Done.")
    await eventually(lambda: bool(tools.ledger))
    view = await engine.store.view(chat)
    assert view is not None
    assert view.chat.lease is not None
    engine.hints.lost = True
    await engine.store.retire(view.chat.lease.worker_id)
    other = await engine.store.register_worker("other", 60.0)
    await engine.store.acquire(other, limit=1, agents_limit=0)
    tools.go().set()
    await eventually(lambda: b"holdfast_stale_commits_total 0.0" not in engine.metrics.exposition())
    after = await engine.store.view(chat)
    assert after is not None
    assert after.calls[0].outcome == "uncertain"


# The database is away


@pytest.mark.parametrize("when", ["before", "after"])
async def test_a_database_that_fails_now_and_then(
    engine_everywhere: Engine,
    tools: Toolbox,
    monkeypatch: pytest.MonkeyPatch,
    when: Literal["before", "after"],
) -> None:
    """Every third transition fails, before or after it was committed."""
    engine = engine_everywhere
    numbers = itertools.count(1)

    def every_third(_commands: tuple[Command, ...], _count: int) -> bool:
        return next(numbers) % 3 == 0

    chats = [
        await engine.create(f'call: write {{"name": "{n}"}}\ncall: add {{"a": 1, "b": 2}}\nsay: Done.')
        for n in range(3)
    ]
    faults = fail_transitions(monkeypatch, engine.store, when=when, which=every_third)
    engine.start()
    for chat in chats:
        await engine.idle(chat)
        assert [text for role, text in await engine.texts(chat) if role == "assistant"] == ["Done."]
        assert {result.outcome for result in await engine.results(chat)} == {"succeeded"}
    assert faults.count > 5
    assert sorted(tools.ledger) == ["0", "1", "2"]
    assert engine.server.refusals == []


async def test_reads_that_fail_now_and_then(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    read, faults = engine.store.read, 0

    async def failing(*queries: Any) -> Any:
        nonlocal faults
        faults += 1
        if faults % 3:
            raise TryAgain("The database is away.", 0.01)
        return await read(*queries)

    with monkeypatch.context() as patch:
        patch.setattr(engine.store, "read", failing)
        engine.start()
        chat = await engine.create('call: add {"a": 1, "b": 2}\nsay: Done.')
        await engine.idle(chat)
    assert faults > 3
    assert (await engine.texts(chat))[-1] == ("assistant", "Done.")


async def test_acquiring_and_upkeep_that_fail_now_and_then(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    faults = 0
    acquire, register = engine.store.acquire, engine.store.register_worker

    async def acquiring(*given: Any, **more: Any) -> list[View]:
        nonlocal faults
        faults += 1
        if faults == 1:
            raise TryAgain("The database is away.", 0.01)
        if faults == 2:
            raise Bug("one chat is beyond repair")
        return await acquire(*given, **more)

    async def registering(name: str, lease_seconds: float) -> WorkerId:
        nonlocal faults
        if not faults:
            monkeypatch.setattr(engine.store, "register_worker", register)
            raise TryAgain("The database is away.", 0.01)
        return await register(name, lease_seconds)

    async def broken() -> None:
        raise Bug("upkeep is broken")

    monkeypatch.setattr(engine.store, "acquire", acquiring)
    monkeypatch.setattr(engine.store, "register_worker", registering)
    monkeypatch.setattr(engine.store, "discard_expired", broken)
    engine.start()
    chat = await engine.create("say: Done.")
    await engine.idle(chat)
    assert faults > 2


# Faults of our own


async def test_a_fault_in_the_turn_ends_the_turn(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> object:
        raise ZeroDivisionError("a bug of ours")

    with monkeypatch.context() as patch:
        patch.setattr("holdfast.worker.generate._what_follows", broken)
        engine.start()
        chat = await engine.create("say: Hello.")
        view = await engine.failed(chat)
    error = view.chat.last_error
    assert error is not None
    assert (error.kind, error.detail) == ("internal", "ZeroDivisionError: a bug of ours")
    assert view.chat.lease is None
    await engine.send(chat, "say: Better.")
    await engine.idle(chat)


async def test_a_fault_while_calls_run_keeps_what_they_did(
    engine: Engine, tools: Toolbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(*_: object, **__: object) -> object:
        raise ZeroDivisionError("a bug of ours")

    monkeypatch.setattr("holdfast.worker.execute._what_follows", broken)
    engine.start()
    chat = await engine.create('call: write {"name": "a"}\nsay: Done.')
    await engine.failed(chat)
    assert [(result.outcome, result.output) for result in await engine.results(chat)] == [
        ("succeeded", "wrote a")
    ]


async def test_a_chat_that_cannot_even_fail_is_given_back(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    transition, refused = engine.store.transition, list[str]()

    async def failing(chat_id: ChatId, *commands: Command, **more: Any) -> Result:
        if commands[0].kind in ("begin_attempt", "fail_turn", "release") and len(refused) < 4:
            refused.append(commands[0].kind)
            raise LookupError("this cannot be")
        return await transition(chat_id, *commands, **more)

    monkeypatch.setattr(engine.store, "transition", failing)
    monkeypatch.setattr("holdfast.worker.runner.GIVE_BACK_SECONDS", 0.01)
    engine.start()
    chat = await engine.create("say: Hello.")
    view = await engine.idle(chat)
    assert refused == ["begin_attempt", "fail_turn", "release", "release"]
    assert view.chat.lease_number == 2


async def test_a_call_that_never_began_is_run_by_who_comes_next(
    engine: Engine, tools: Toolbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server is stopped between the commit that starts a call and the call: nobody has to wonder whether
    it was run."""
    transition = engine.store.transition

    async def stopped_after_the_start(chat_id: ChatId, *commands: Command, **more: Any) -> Any:
        done = await transition(chat_id, *commands, **more)
        if any(isinstance(command, StartCalls) for command in commands):
            first.stop()
        return done

    monkeypatch.setattr(engine.store, "transition", stopped_after_the_start)
    chat = await engine.create('call: write {"name": "once"}\nsay: Done.')
    first = engine.start()
    await engine.until(chat, lambda view: bool(view.calls))
    await engine.stop(first)
    assert tools.ledger == []
    (left,) = await engine.calls(chat)
    assert (left.state, left.run) == ("pending", 0)
    monkeypatch.undo()
    engine.start()
    await engine.idle(chat)
    assert tools.ledger == ["once"]
    (result,) = await engine.results(chat)
    assert result.outcome == "succeeded"
    (context,) = tools.contexts
    assert context.run == 1
