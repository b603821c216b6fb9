"""The transition table is what the rules do: every state with every command, generated from the table. What
it allows reaches exactly the states it lists, each of them at least once; everything else is refused and
changes nothing."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

import pytest

from holdfast.chats.change import Change, Refusal
from holdfast.chats.commands import (
    Acquire,
    Archive,
    BeginAttempt,
    BlockPrompt,
    CallResult,
    Command,
    Compact,
    Create,
    Decide,
    Delete,
    DeleteQueued,
    Edit,
    EditQueued,
    ExpireCalls,
    FailTurn,
    FinishCall,
    FinishInterrupt,
    FinishTurn,
    Fork,
    HoldQueued,
    Import,
    Interrupt,
    JudgeCalls,
    LapseHolds,
    MoveQueued,
    NoteRetry,
    NoteStep,
    Notify,
    Promote,
    Reconcile,
    Release,
    ReleaseQueued,
    RequestCompaction,
    RequireAction,
    Restore,
    RetryTurn,
    Rewind,
    Send,
    SetMode,
    StartCalls,
    Stop,
    SubmitResults,
    Unarchive,
    name_of,
)
from holdfast.chats.decide import RULES, decide
from holdfast.chats.facts import NO_FACTS, Facts, Target
from holdfast.chats.states import State, state_of
from holdfast.chats.table import TABLE
from holdfast.chats.view import View
from holdfast.core.calls import Verdict
from holdfast.core.ids import CallId, MessageId, QueueItemId
from holdfast.core.messages import Busy
from holdfast.core.origins import FromChat
from holdfast.core.parts import Notice
from tests.chats.making import (
    CHAT,
    EXPIRED_LEASE,
    FAILURE,
    LATER_WORKER,
    LIVE_LEASE,
    NOW,
    OWNER,
    PARENT,
    SETTINGS,
    STEP,
    CountedIds,
    call,
    item,
    message,
    new_call,
    notice,
    numbered,
    step,
    text,
    uncertain_call,
    view,
)

MUCH_LATER = NOW + timedelta(minutes=30)

# The queues that a busy chat, or one in error, can have.
QUEUES = (
    (item(1),),
    (item(1), item(2)),
    (item(1, held=True),),
    (item(1, held=True), item(2)),
    (item(1, lapsed=True), item(2, held=True)),
    (item(1, "interrupt"), item(2)),
    tuple(item(n) for n in range(1, 20)),
)
STEERED = (
    (item(1, "steer"),),
    (item(1, "steer"), item(2)),
    (item(1), item(2, "steer")),
    (item(1, "steer", held=True), item(2, "steer")),
)
HELD = (
    (item(1, held=True),),
    (item(1, held=True), item(2)),
    (item(1, held=True), item(2), item(3)),
    (item(1, held=True), item(2, held=True)),
    (item(1, lapsed=True),),
    (item(1, lapsed=True), item(2)),
    (item(1, lapsed=True), item(2, held=True)),
)


def _idle() -> Iterator[View]:
    yield view("idle")
    yield view("idle", inbox=(notice(1, wake=False),))
    yield view("idle", origin=FromChat(chat_id=PARENT), root_id=PARENT)


def _idle_held() -> Iterator[View]:
    for queue in HELD:
        yield view("idle", queue=queue)


def _error() -> Iterator[View]:
    yield view("error")
    yield view("error", inbox=(notice(1),))
    yield view("error", turn_kind="compaction")
    yield view("error", attempt=25)


def _error_queue() -> Iterator[View]:
    for queue in QUEUES:
        yield view("error", queue=queue)


def _running() -> Iterator[View]:
    yield view("running")
    yield view("running", lease=None)
    yield view("running", lease=EXPIRED_LEASE)
    yield view("running", inbox=(notice(1),))
    yield view("running", compaction="overflow", attempt=2)
    yield view("running", turn_kind="compaction", compaction="manual")
    yield view("running", retry=_noted().chat.retry, attempt=1)
    yield view("running", calls=(call(0),))
    yield view("running", calls=(call(0, "started"), call(1)))
    yield view("running", lease=EXPIRED_LEASE, calls=(call(0, "started"), call(1, "started", effect="read")))
    yield view("running", calls=(call(0, "finished"),))
    yield view("running", calls=(call(0, "waiting"), call(1, "finished")))
    yield view("running", calls=(call(0, "waiting", waits_for="hook"), call(1)))
    yield view("running", calls=(uncertain_call(0),))
    yield view("running", calls=(call(0, "started", abandoned=True),))


def _noted() -> View:
    noted = decide(CHAT, view(), (NoteRetry(failure=FAILURE, delay_ms=1000),), now=NOW, ids=CountedIds())
    assert isinstance(noted, Change)
    assert noted.after is not None
    return noted.after


def _running_queue() -> Iterator[View]:
    for queue in (*QUEUES, *STEERED):
        yield view("running", queue=queue)
        yield view("running", queue=queue, lease=None, inbox=(notice(1),))
    yield view("running", queue=(item(1),), calls=(call(0), call(1, "started")))
    yield view("running", queue=(item(1),), calls=(call(0, "waiting"), call(1, "finished")))
    yield view("running", queue=(item(1),), calls=(call(0, "waiting", waits_for="hook"),))


def _interrupting() -> Iterator[View]:
    yield view("interrupting")
    yield view("interrupting", lease=None)
    yield view("interrupting", lease=EXPIRED_LEASE, calls=(call(0, "started"),))
    yield view("interrupting", calls=(call(0, "started"), call(1), call(2, "finished")))
    yield view("interrupting", inbox=(notice(1),))


def _interrupting_queue() -> Iterator[View]:
    for queue in (*QUEUES, *STEERED):
        yield view("interrupting", queue=queue)
        yield view("interrupting", queue=queue, lease=None)
    yield view("interrupting", queue=(item(1),), calls=(call(0, "started"),))


ASKED = (
    (call(0, "waiting"),),
    (call(0, "waiting"), call(1, "finished")),
    (call(0, "waiting"), call(1, "waiting", waits_for="question")),
    (call(0, "waiting", waits_for="client_tool", deadline_at=NOW + timedelta(minutes=5)),),
    (call(0, "waiting", waits_for="client_tool", deadline_at=NOW), call(1, "waiting", waits_for="plan")),
    (call(0), call(1, "waiting", waits_for="question")),
    (uncertain_call(0),),
    (uncertain_call(0), call(1, "waiting")),
)


def _action() -> Iterator[View]:
    for calls in ASKED:
        yield view("requires_action", calls=calls)


def _action_queue() -> Iterator[View]:
    for calls in ASKED:
        yield view("requires_action", calls=calls, queue=(item(1),))
    for queue in (*QUEUES, *STEERED):
        yield view("requires_action", calls=ASKED[0], queue=queue)


def _archived_idle() -> Iterator[View]:
    yield view("idle", archived=True)
    yield view("idle", archived=True, inbox=(notice(1),))


def _archived_error() -> Iterator[View]:
    yield view("error", archived=True)


def _archived_error_queue() -> Iterator[View]:
    for queue in QUEUES:
        yield view("error", archived=True, queue=queue)


def _invalid() -> Iterator[View]:
    yield view("idle", queue=(item(1),))
    yield view("idle", queue=(item(1, "steer"), item(2, held=True)))
    yield view("idle", calls=(call(0, "finished"),))
    yield view("idle", lease=LIVE_LEASE)
    yield view("error", last_error=None)
    yield view("error", calls=(call(0), call(1, "started")))
    yield view("error", lease=EXPIRED_LEASE, queue=(item(1),))
    yield view("requires_action")
    yield view("requires_action", calls=(call(0, "finished"),), queue=(item(1),))
    yield view("requires_action", calls=(call(0, "waiting", abandoned=True),))
    yield view("requires_action", calls=(call(0, "waiting"),), lease=LIVE_LEASE)
    yield view("running", archived=True)
    yield view("interrupting", archived=True, queue=(item(1),))
    yield view("requires_action", archived=True, calls=(call(0, "waiting"),))
    yield view("idle", archived=True, queue=(item(1, held=True),))


VARIANTS: dict[State, Callable[[], Iterator[View | None]]] = {
    State.NONE: lambda: iter((None,)),
    State.IDLE: _idle,
    State.IDLE_HELD: _idle_held,
    State.ERROR: _error,
    State.ERROR_QUEUE: _error_queue,
    State.RUNNING: _running,
    State.RUNNING_QUEUE: _running_queue,
    State.INTERRUPTING: _interrupting,
    State.INTERRUPTING_QUEUE: _interrupting_queue,
    State.ACTION: _action,
    State.ACTION_QUEUE: _action_queue,
    State.ARCHIVED_IDLE: _archived_idle,
    State.ARCHIVED_ERROR: _archived_error,
    State.ARCHIVED_ERROR_QUEUE: _archived_error_queue,
    State.INVALID: _invalid,
}


@dataclass(frozen=True)
class Asked:
    """A command that the view gives no reason to refuse, its state aside."""

    command: Command
    facts: Facts = NO_FACTS
    now: datetime = NOW


UNKNOWN_ITEM = QueueItemId(numbered(0xFFF))
UNKNOWN_CALL = CallId("unknown")
A_MESSAGE = MessageId(numbered(0x501))
EDITABLE = Facts(target=Target(role="user", removed=False))
VERDICTS: dict[str, tuple[Verdict, ...]] = {
    "approval": ("approve", "deny"),
    "uncertain": ("retry", "done", "skip"),
}


def asked(name: str, before: View | None) -> Iterator[Asked]:
    """Instances of the named command that fit the view; one that fits no view if nothing does."""
    fitting = list(_fitting(name, before))
    yield from fitting or [Asked(GENERIC[name])]


def _fitting(name: str, before: View | None) -> Iterator[Asked]:
    queue = before.queue if before else ()
    calls = before.calls if before else ()
    open_calls = [open_call for open_call in calls if not open_call.abandoned]
    match name:
        case "fork":
            history = (message(1, text("hello")), message(2, text("hi"), "assistant"))
            yield Asked(GENERIC[name], Facts(history=history))
            yield Asked(GENERIC[name], Facts(history=()))
        case "promote":
            yield from (Asked(Promote(item_id=waiting.id)) for waiting in queue)
        case "move_queued":
            for waiting in queue:
                for position in range(len(queue)):
                    yield Asked(MoveQueued(item_id=waiting.id, position=position))
        case "edit_queued":
            for waiting in queue:
                token = waiting.hold_token if waiting.hold_until and waiting.hold_until > NOW else None
                yield Asked(EditQueued(item_id=waiting.id, parts=text("better"), hold_token=token))
        case "hold_queued":
            for waiting in queue:
                token = waiting.hold_token if waiting.hold_until and waiting.hold_until > NOW else None
                yield Asked(HoldQueued(item_id=waiting.id, hold_token=token))
        case "release_queued":
            for waiting in queue:
                yield Asked(ReleaseQueued(item_id=waiting.id, hold_token=waiting.hold_token))
        case "delete_queued":
            yield from (Asked(DeleteQueued(item_id=waiting.id)) for waiting in queue)
        case "submit_results":
            answerable = [
                CallResult(call_id=open_call.call_id, output="yes")
                for open_call in open_calls
                if open_call.waits_for in ("client_tool", "question", "plan")
            ]
            yield from (Asked(SubmitResults(results=(result,))) for result in answerable)
            if answerable:
                yield Asked(SubmitResults(results=tuple(answerable)))
        case "decide":
            for open_call in open_calls:
                for verdict in VERDICTS.get(open_call.waits_for or "", ()):
                    yield Asked(Decide(call_id=open_call.call_id, verdict=verdict, user_id=OWNER))
        case "edit" | "rewind":
            yield Asked(GENERIC[name], EDITABLE)
        case "restore":
            yield Asked(GENERIC[name], Facts(removed_there=(message(1, text("hello"), removed=True),)))
        case "archive" | "unarchive":
            if before is None or before.chat.parent_id is None:
                yield Asked(GENERIC[name])
        case "lapse_holds" | "expire_calls":
            yield Asked(GENERIC[name])
            yield Asked(GENERIC[name], now=MUCH_LATER)
        case "notify":
            for wake in (False, True):
                wanted = Notify(source="agent", key="new", text="It is done.", wake=wake)
                yield Asked(wanted)
                yield Asked(wanted, Facts(over_budget=True))
                yield Asked(wanted, Facts(stopped=True))
                yield Asked(wanted, Facts(key_seen=True))
        case "acquire":
            lease = before.chat.lease if before else None
            if lease is None or lease.expires_at <= NOW:
                yield Asked(GENERIC[name])
        case "begin_attempt":
            if all(open_call.state == "finished" for open_call in open_calls):
                yield Asked(BeginAttempt())
                yield Asked(BeginAttempt(admit=False))
        case "commit_step":
            if not open_calls:
                yield Asked(step())
                yield Asked(step(new_call("a"), new_call("b", waits_for="approval")))
        case "start_calls":
            pending = tuple(open_call.call_id for open_call in open_calls if open_call.state == "pending")
            if pending:
                yield Asked(StartCalls(call_ids=pending))
        case "judge_calls":
            for open_call in open_calls:
                if open_call.waits_for == "hook":
                    yield Asked(JudgeCalls(calls=(new_call(open_call.call_id),)))
                    yield Asked(
                        JudgeCalls(calls=(new_call(open_call.call_id, outcome="denied", output="no"),))
                    )
        case "block_prompt":
            if not open_calls:
                notice = Notice(code="hook_blocked", text="no")
                yield Asked(BlockPrompt(message_id=A_MESSAGE, notice=notice))
                yield Asked(BlockPrompt(message_id=A_MESSAGE, notice=notice, ends_turn=True))
        case "finish_call":
            for open_call in calls:
                if open_call.state == "started":
                    yield Asked(
                        FinishCall(
                            call_id=open_call.call_id, run=open_call.run, outcome="succeeded", output="done"
                        )
                    )
        case "require_action":
            states = {open_call.state for open_call in open_calls}
            if "waiting" in states and not states & {"pending", "started"}:
                yield Asked(RequireAction())
        case "finish_turn":
            yield Asked(FinishTurn())
            yield Asked(FinishTurn(limit=FAILURE))
        case "finish_interrupt":
            yield Asked(FinishInterrupt())
            if not open_calls:
                yield Asked(FinishInterrupt(message=step(new_call("a")).messages[0], calls=(new_call("a"),)))
        case _:
            yield Asked(GENERIC[name])


def _send(busy: Busy) -> Send:
    return Send(parts=text("hello"), busy=busy, created_by=OWNER)


# One instance of each command, naming things that no view has.
GENERIC: dict[str, Command] = {
    name_of(command): command
    for command in (
        Create(owner_id=OWNER, settings=SETTINGS, parts=text("hello")),
        Fork(owner_id=OWNER, source_id=PARENT, settings=SETTINGS),
        Import(owner_id=OWNER, settings=SETTINGS, messages=(message(1, text("hello")),)),
        _send("queue"),
        _send("interrupt"),
        _send("steer"),
        Promote(item_id=UNKNOWN_ITEM),
        MoveQueued(item_id=UNKNOWN_ITEM, position=0),
        EditQueued(item_id=UNKNOWN_ITEM, parts=text("better")),
        HoldQueued(item_id=UNKNOWN_ITEM),
        ReleaseQueued(item_id=UNKNOWN_ITEM),
        DeleteQueued(item_id=UNKNOWN_ITEM),
        Interrupt(),
        Stop(),
        SubmitResults(results=(CallResult(call_id=UNKNOWN_CALL, output="yes"),)),
        Decide(call_id=UNKNOWN_CALL, verdict="approve", user_id=OWNER),
        Compact(),
        RetryTurn(),
        Edit(message_id=A_MESSAGE, parts=text("better"), created_by=OWNER),
        Rewind(message_id=A_MESSAGE),
        Restore(rewound_at=6),
        SetMode(mode="plan"),
        Archive(),
        Unarchive(),
        Reconcile(),
        Delete(),
        LapseHolds(),
        ExpireCalls(),
        Notify(source="agent", key="new", text="It is done.", wake=True),
        Acquire(worker_id=LATER_WORKER, expires_at=NOW + timedelta(seconds=15)),
        Release(),
        BeginAttempt(),
        NoteRetry(failure=FAILURE, delay_ms=1000),
        NoteStep(turn=1, step=STEP),
        RequestCompaction(),
        step(),
        JudgeCalls(calls=(new_call(UNKNOWN_CALL),)),
        BlockPrompt(message_id=A_MESSAGE, notice=Notice(code="hook_blocked", text="no")),
        StartCalls(call_ids=(UNKNOWN_CALL,)),
        FinishCall(call_id=UNKNOWN_CALL, run=1, outcome="succeeded", output="done"),
        RequireAction(),
        FinishTurn(),
        FinishInterrupt(),
        FailTurn(failure=FAILURE),
    )
}
ON_ITEMS = ("promote", "move_queued", "edit_queued", "hold_queued", "release_queued", "delete_queued")
PAIRS = [(state, name) for state in State for name in TABLE]
ALLOWED = [(state, name) for state, name in PAIRS if state in TABLE[name]]
REFUSED = [(state, name) for state, name in PAIRS if state not in TABLE[name]]


def described(value: object) -> str:
    return value.name.lower() if isinstance(value, State) else str(value)


def test_the_table_the_rules_and_this_test_know_the_same_commands() -> None:
    assert set(TABLE) == set(RULES) == set(GENERIC)


def test_there_are_fourteen_states_and_the_invalid_ones() -> None:
    assert len(State) == 15
    assert set(VARIANTS) == set(State)


@pytest.mark.parametrize("state", State, ids=described)
def test_variants_are_of_their_state(state: State) -> None:
    found = list(VARIANTS[state]())
    assert found
    assert {state_of(before) for before in found} == {state}


@pytest.mark.parametrize("state, name", ALLOWED, ids=described)
def test_what_is_allowed_reaches_exactly_the_listed_states(state: State, name: str) -> None:
    reached: set[State] = set()
    for before in VARIANTS[state]():
        for wanted in _fitting(name, before):
            change = decide(
                CHAT, before, (wanted.command,), facts=wanted.facts, now=wanted.now, ids=CountedIds()
            )
            assert isinstance(change, Change), (before, wanted, change)
            assert change.before == (before.chat.version if before else 0)
            reached.add(state_of(change.after))
    assert reached == TABLE[name][state]


@pytest.mark.parametrize("state, name", REFUSED, ids=described)
def test_everything_else_is_refused_and_changes_nothing(state: State, name: str) -> None:
    for before in VARIANTS[state]():
        for wanted in asked(name, before):
            refusal = decide(
                CHAT, before, (wanted.command,), facts=wanted.facts, now=wanted.now, ids=CountedIds()
            )
            assert isinstance(refusal, Refusal), (before, wanted)
            if before is None or (name in ON_ITEMS and wanted.command == GENERIC[name]):
                assert refusal.code == "not_found"
            else:
                assert refusal.code == "wrong_state"
                assert refusal.data == {"command": name, "state": state.value}
                assert name in refusal.text
                assert state.value in refusal.text


@pytest.mark.parametrize("name", ON_ITEMS)
@pytest.mark.parametrize("state", [state for state in State if state is not State.NONE], ids=described)
def test_an_item_that_was_sent_is_answered_so_in_every_state(state: State, name: str) -> None:
    facts = Facts(sent={UNKNOWN_ITEM: A_MESSAGE})
    for before in VARIANTS[state]():
        refusal = decide(CHAT, before, (GENERIC[name],), facts=facts, now=NOW, ids=CountedIds())
        assert isinstance(refusal, Refusal)
        assert (refusal.code, refusal.data) == ("already_sent", {"message_id": A_MESSAGE})


@pytest.mark.parametrize("name", TABLE)
def test_the_same_question_gets_the_same_answer(name: str) -> None:
    for variants in VARIANTS.values():
        for before in variants():
            for wanted in asked(name, before):
                answers = [
                    decide(
                        CHAT, before, (wanted.command,), facts=wanted.facts, now=wanted.now, ids=CountedIds()
                    )
                    for _ in range(2)
                ]
                assert answers[0] == answers[1]
