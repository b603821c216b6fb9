"""Rules for the worker that owns a chat: leases, attempts, steps, calls, and the three ways a turn ends."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from msgspec import UNSET
from msgspec.structs import replace

from holdfast.chats import synthetic
from holdfast.chats.change import FullOutput, Refusal
from holdfast.chats.commands import (
    Acquire,
    BeginAttempt,
    CommitStep,
    FailTurn,
    FinishCall,
    FinishInterrupt,
    FinishTurn,
    NewCall,
    NoteRetry,
    NoteStep,
    Release,
    RequestCompaction,
    RequireAction,
    StartCalls,
)
from holdfast.chats.draft import Draft
from holdfast.chats.queue_rules import enter_steers
from holdfast.chats.synthetic import answers, real_result, unanswered
from holdfast.chats.view import Call, Lease
from holdfast.core.errors import Bug
from holdfast.core.failures import Retry
from holdfast.core.ids import MessageId
from holdfast.core.messages import Message
from holdfast.core.parts import Notice, ToolResult

# How long processes of a worker may outlive its lease. Counted from the takeover, because a lease that was
# released or voided does not say when its worker died.
FENCE_SECONDS = 5


def acquire(draft: Draft, command: Acquire) -> Refusal | None:
    """Makes a worker the owner of the chat. The same change settles the calls that were running under the old
    lease, so nothing is left to recover: a call that may be repeated becomes pending again. An unsafe call
    becomes uncertain, or waits for a person to decide; it never runs again by itself."""
    old = draft.chat.lease
    if old is not None and old.expires_at > draft.now:
        return Refusal(code="wrong_state", text="Another worker owns this chat.")
    number = draft.chat.lease_number + 1
    draft.put(
        lease=Lease(worker_id=command.worker_id, number=number, expires_at=command.expires_at),
        lease_number=number,
    )
    draft.close_abandoned()
    for call in [call for call in draft.calls if call.state == "started"]:
        if call.effect != "unsafe":
            draft.put_call(replace(call, state="pending"))
        elif call.on_uncertain == "ask":
            fenced_until = draft.now + timedelta(seconds=FENCE_SECONDS)
            draft.put_call(replace(call, state="waiting", waits_for="uncertain", fenced_until=fenced_until))
        else:
            draft.put_call(
                replace(
                    call,
                    state="finished",
                    outcome="uncertain",
                    output=synthetic.UNCERTAIN,
                    finished_at=draft.not_before(call.started_at),
                )
            )
    return None


def release(draft: Draft, command: Release) -> None:
    """A call that never began is reset as if it had not been started: the next owner runs it."""
    for call in [call for call in draft.calls if call.call_id in command.unbegun]:
        if call.state == "started" and call.lease_number == draft.chat.lease_number:
            draft.put_call(replace(call, state="pending", run=call.run - 1, started_at=None))
    draft.drop_lease()


def begin_attempt(draft: Draft, command: BeginAttempt) -> Refusal | None:
    if refusal := _commit_results(draft):
        return refusal
    draft.insert_all(command.messages)
    if command.admit:
        enter_steers(draft)
        draft.enter_inbox()
    draft.put(attempt=draft.chat.attempt + 1, retry=None)
    return None


def _commit_results(draft: Draft) -> Refusal | None:
    """The results of a step, all in one message, once every call has one."""
    calls = draft.open_calls()
    if any(call.state != "finished" for call in calls):
        return Refusal(code="wrong_state", text="Calls of the last step have no result yet.")
    if calls:
        draft.insert("tool", answers(calls, [real_result(call) for call in calls]))
        for call in calls:
            draft.close(replace(call, state="answered"))
    return None


def note_retry(draft: Draft, command: NoteRetry) -> None:
    failure = command.failure
    draft.put(
        retry=Retry(
            kind=failure.kind,
            message=failure.message,
            detail=failure.detail,
            provider=failure.provider,
            status_code=failure.status_code,
            retryable=True,
            attempt=draft.chat.attempt,
            delay_ms=command.delay_ms,
            next_at=draft.now + timedelta(milliseconds=command.delay_ms),
            spent=command.spent if command.spent.total else UNSET,
        )
    )


def request_compaction(draft: Draft, command: RequestCompaction) -> None:
    draft.put(compaction=command.request)


def note_step(draft: Draft, command: NoteStep) -> None:
    draft.record(command.step, None, turn=command.turn)


def commit_step(draft: Draft, command: CommitStep) -> Refusal | None:
    if draft.open_calls():
        return Refusal(code="wrong_state", text="Calls of the step before are still open.")
    messages = draft.insert_all(command.messages)
    answers = [message for message in messages if message.role == "assistant"]
    answer = answers[0] if answers else None
    draft.record(command.step, answer.id if answer else None)
    _add_calls(draft, messages, command.calls)
    if command.step.kind == "compaction":
        draft.put(compaction=None)
    draft.answer = answer
    return None


def _add_calls(draft: Draft, messages: Sequence[Message], calls: tuple[NewCall, ...]) -> None:
    """One row per call of the messages that has no result beside it. Only the last message may have such
    calls: their results follow directly."""
    answered = {
        part.call_id for message in messages for part in message.parts if isinstance(part, ToolResult)
    }
    asked = [
        (call.call_id, message.id) for message in messages for call in unanswered(message.parts, answered)
    ]
    if sorted([call.call_id for call in calls]) != sorted({call_id for call_id, _ in asked}):
        raise Bug("the calls of a step do not match those of its message")
    if len(asked) != len(calls) or any(message_id != messages[-1].id for _, message_id in asked):
        raise Bug("a call was asked for twice, or its result could not follow it")
    for call in calls:
        draft.calls.append(_new_call(draft, call, messages[-1].id))


def _new_call(draft: Draft, call: NewCall, message_id: MessageId) -> Call:
    done = call.outcome is not None
    return Call(
        call_id=call.call_id,
        message_id=message_id,
        turn=draft.chat.turn,
        position=len(draft.open_calls()),
        name=call.name,
        effect=call.effect,
        reach=call.reach,
        traits=call.traits,
        source=call.source,
        on_uncertain=call.on_uncertain,
        state="finished" if done else "waiting" if call.waits_for else "pending",
        waits_for=None if done else call.waits_for,
        deadline_seconds=call.deadline_seconds,
        outcome=call.outcome,
        output=call.output,
        approval=call.approval,
        finished_at=draft.now if done else None,
        revision=draft.version,
        input=call.input,
    )


def start_calls(draft: Draft, command: StartCalls) -> Refusal | None:
    for call_id in command.call_ids:
        call = draft.call(call_id)
        if call is None or call.state != "pending" or call.abandoned:
            return Refusal(code="stale", text=f"Call {call_id} cannot be started.")
        draft.put_call(
            replace(
                call,
                state="started",
                run=call.run + 1,
                lease_number=draft.chat.lease_number,
                started_at=draft.now,
            )
        )
    return None


def finish_call(draft: Draft, command: FinishCall) -> Refusal | None:
    call = draft.call(command.call_id)
    if call is None or call.state != "started" or call.run != command.run:
        return Refusal(code="stale", text=f"Call {command.call_id} is not running as number {command.run}.")
    if call.lease_number != draft.chat.lease_number:
        return Refusal(code="stale", text=f"Call {command.call_id} was started under another lease.")
    for key in command.consumes:
        draft.hand_over(key)
    if command.full_output is not None:
        draft.full_outputs += (FullOutput(call_id=call.call_id, run=call.run, text=command.full_output),)
    finished = replace(
        call,
        state="finished",
        outcome=command.outcome,
        output=command.output,
        diff=command.diff,
        truncated=command.full_output is not None,
        finished_at=_ended_at(draft, call, command.seconds),
    )
    if call.abandoned:
        draft.close(replace(finished, state="answered"))
    else:
        draft.put_call(finished)
    return None


def _ended_at(draft: Draft, call: Call, seconds: float | None) -> datetime:
    if seconds is None or call.started_at is None:
        return draft.not_before(call.started_at)
    return call.started_at + timedelta(seconds=seconds)


def require_action(draft: Draft, _: RequireAction) -> Refusal | None:
    """A chat that waits for people needs no owner: the lease is released, and deadlines start."""
    states = {call.state for call in draft.open_calls()}
    if "waiting" not in states or states & {"pending", "started"}:
        return Refusal(code="wrong_state", text="There is nobody to wait for, or calls are still to be run.")
    for call in draft.calls:
        if call.state == "waiting" and call.deadline_at is None and call.deadline_seconds is not None:
            draft.put_call(replace(call, deadline_at=draft.now + timedelta(seconds=call.deadline_seconds)))
    draft.drop_lease()
    draft.put(status="requires_action")
    return None


def finish_turn(draft: Draft, command: FinishTurn) -> Refusal | None:
    if command.limit is not None and draft.queue:
        return fail_turn(draft, FailTurn(failure=command.limit))
    draft.settle("finished")
    if command.notice is not None:
        draft.insert_notice(command.notice)
    elif command.limit is not None:
        draft.insert_notice(Notice(code=command.limit.kind, text=command.limit.message))
    draft.end_turn("finished")
    draft.rest(heed_notices=command.limit is None)
    return None


def finish_interrupt(draft: Draft, command: FinishInterrupt) -> Refusal | None:
    message: Message | None = None
    if command.message is not None:
        if draft.open_calls():
            return Refusal(code="wrong_state", text="Calls of the step before are still open.")
        (message,) = draft.insert_all((replace(command.message, interrupted=True),))
        _add_calls(draft, (message,), command.calls)
    if command.step is not None:
        draft.record(replace(command.step, outcome="interrupted"), message.id if message else None)
    draft.settle("interrupted")
    draft.end_turn("interrupted")
    draft.rest()
    return None


def fail_turn(draft: Draft, command: FailTurn) -> None:
    if command.step is not None:
        draft.record(replace(command.step, outcome="failed"), None)
    draft.settle("failed")
    draft.end_turn("failed", command.failure)
    draft.drop_lease()
    draft.put(status="error", last_error=command.failure)
