"""What a worker that owns a chat may do next, chosen by numbers: the steps of real turns, in any order that a
real worker could come to."""

from holdfast.chats.commands import (
    BeginAttempt,
    Command,
    CommitStep,
    DeliveryKey,
    FailTurn,
    Fence,
    FinishCall,
    FinishInterrupt,
    FinishTurn,
    NewCall,
    NewMessage,
    NewStep,
    NoteRetry,
    RequestCompaction,
    RequireAction,
    StartCalls,
)
from holdfast.chats.view import Call, View
from holdfast.core.calls import ActionKind, Effect
from holdfast.core.failures import Failure
from holdfast.core.ids import CallId
from holdfast.core.parts import Notice, Parts, Text, ToolCall, ToolResult
from holdfast.core.usage import Usage
from tests.chats.making import NOW, text

BUSY_PROVIDER = Failure(kind="overloaded", message="The provider is busy.", retryable=True)
OUT_OF_STEPS = Failure(kind="step_limit", message="The turn took too many steps.")
BROKEN = Failure(kind="auth", message="The key was refused.")
SPENT = Usage(input=7, output=3, total=10, cost_usd_micros=5)
MODEL_STEP = NewStep(started_at=NOW, usage=SPENT, model="default")

# What a tool can be: its effect, what happens when its worker dies, whom it waits for, for how long.
TOOLS: tuple[tuple[Effect, bool, ActionKind | None, float | None], ...] = (
    ("unsafe", False, None, None),
    ("unsafe", True, None, None),
    ("read", False, None, None),
    ("idempotent", False, None, None),
    ("unsafe", True, "approval", None),
    ("read", False, "client_tool", 300.0),
    ("read", False, "question", None),
    ("unsafe", False, "plan", None),
)


def fence_of(view: View, *, whole: bool = True) -> Fence:
    chat = view.chat
    if not whole:
        return Fence(lease_number=chat.lease_number)
    return Fence(
        lease_number=chat.lease_number,
        history_version=chat.history_version,
        status=chat.status,
        attempt=chat.attempt,
    )


def next_commands(
    view: View, pick: int, marker: str, deliveries: tuple[DeliveryKey, ...] = ()
) -> tuple[Command, ...]:
    """A step forward for this chat; `pick` chooses among those there are."""
    calls = [call for call in view.calls if not call.abandoned]
    abandoned = [call for call in view.calls if call.abandoned]
    if abandoned and pick % 2:
        return (_finished(abandoned[0], pick),)
    if view.chat.status == "interrupting":
        return _interrupted(view, calls, pick, marker)
    started = [call for call in calls if call.state == "started"]
    pending = [call for call in calls if call.state == "pending"]
    if started and (pick % 3 or not pending):
        done = _finished(started[pick % len(started)], pick, deliveries)
        # The next start goes with the finish that made room for it.
        return (done, StartCalls(call_ids=(pending[0].call_id,))) if pending and pick % 2 else (done,)
    if pending:
        return (StartCalls(call_ids=tuple(call.call_id for call in pending[: 1 + pick % 3])),)
    if any(call.state == "waiting" for call in calls):
        return (RequireAction(),)
    return _go_on(view, calls, pick, marker)


def _go_on(view: View, calls: list[Call], pick: int, marker: str) -> tuple[Command, ...]:
    """No call is to be run: results go to the model, or the turn ends."""
    if view.chat.attempt == 0 or calls:
        options: tuple[tuple[Command, ...], ...] = (
            (BeginAttempt(),),
            (BeginAttempt(messages=(NewMessage(role="system", parts=text(f"instructions {marker}")),)),),
            (BeginAttempt(admit=False),),
            (FinishTurn(),),
            (FinishTurn(limit=OUT_OF_STEPS),),
            (RequestCompaction(request="overflow"),),
            (FailTurn(failure=BROKEN),),
        )
        return options[(0, 0, 0, 1, 2, 3, 4, 5, 6, 0)[pick % 10]]
    if view.chat.compaction is not None and pick % 3:
        return (_compaction(marker),)
    answers: tuple[tuple[Command, ...], ...] = (
        answer(marker, ()),
        answer(marker, TOOLS[pick % len(TOOLS) :][:1]),
        answer(marker, (TOOLS[pick % len(TOOLS)], TOOLS[0], TOOLS[1])),
        answer(marker, (TOOLS[0], TOOLS[2]), start=True),
        (NoteRetry(failure=BUSY_PROVIDER, delay_ms=1000),),
        (BeginAttempt(),),
        (FinishTurn(notice=Notice(code="budget", text=f"spent {marker}")),),
        (FailTurn(failure=BROKEN, step=MODEL_STEP),),
        (FinishTurn(),),
    )
    return answers[(0, 1, 1, 2, 2, 3, 3, 4, 5, 6, 7, 8)[pick % 12]]


def answer(
    marker: str,
    tools: tuple[tuple[Effect, bool, ActionKind | None, float | None], ...],
    *,
    start: bool = False,
) -> tuple[Command, ...]:
    """What the model answers, with a call of each tool; one more that the provider ran itself, and one whose
    tool nobody knows."""
    calls: list[NewCall] = []
    for n, (effect, asks, waits_for, seconds) in enumerate(tools):
        call = NewCall(
            call_id=CallId(f"{marker}-{n}"),
            name="tool",
            effect=effect,
            on_uncertain="ask" if asks else "tell",
            waits_for=waits_for,
            deadline_seconds=seconds,
        )
        calls.append(call)
    if len(tools) > 2:
        unknown = CallId(f"{marker}-unknown")
        calls.append(NewCall(call_id=unknown, name="tol", outcome="failed", output="There is no such tool."))
    parts: Parts = (
        Text(text=f"answer {marker}"),
        ToolCall(call_id=CallId(f"{marker}-search"), name="web_search", input={}, provider_executed=True),
        *(ToolCall(call_id=call.call_id, name=call.name, input={"n": n}) for n, call in enumerate(calls)),
    )
    commit = CommitStep(
        step=MODEL_STEP,
        messages=(NewMessage(role="assistant", parts=parts, usage=SPENT),),
        calls=tuple(calls),
    )
    if start and calls:
        return (commit, StartCalls(call_ids=(calls[0].call_id,)))
    return (commit,)


def _compaction(marker: str) -> CommitStep:
    """A summary for the model, and a call with its result for people."""
    call_id = CallId(f"{marker}-summary")
    called = ToolCall(call_id=call_id, name="chat_summarized", input={})
    told = ToolResult(
        call_id=call_id, name="chat_summarized", output={"summary": marker}, outcome="succeeded"
    )
    return CommitStep(
        step=NewStep(kind="compaction", started_at=NOW, usage=SPENT),
        messages=(
            NewMessage(role="system", parts=text(f"summary {marker}"), visibility="model", compaction=True),
            NewMessage(role="assistant", parts=(called,), visibility="user", compaction=True),
            NewMessage(role="tool", parts=(told,), visibility="user", compaction=True),
        ),
    )


def _finished(call: Call, pick: int, deliveries: tuple[DeliveryKey, ...] = ()) -> FinishCall:
    return FinishCall(
        call_id=call.call_id,
        run=call.run,
        outcome=("succeeded", "failed", "cancelled")[pick % 3],
        output={"said": f"done {call.run}"},
        diff="-a\n+b" if pick % 5 == 0 else None,
        full_output="all of it" if pick % 7 == 0 else None,
        consumes=deliveries,
    )


def _interrupted(view: View, calls: list[Call], pick: int, marker: str) -> tuple[Command, ...]:
    started = [call for call in calls if call.state == "started"]
    if started and pick % 3:
        return (_finished(started[0], pick),)
    if pick % 11 == 10:
        return (FailTurn(failure=BROKEN),)
    if calls or view.chat.attempt == 0 or pick % 2:
        return (FinishInterrupt(step=MODEL_STEP if view.chat.attempt else None),)
    (commit, *_) = answer(marker, TOOLS[:2])
    assert isinstance(commit, CommitStep)
    return (FinishInterrupt(step=MODEL_STEP, message=commit.messages[0], calls=commit.calls),)
