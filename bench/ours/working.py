"""The commands of a worker's two commits for a step with one call: the answer with its call begun, then the
call's end with the next attempt."""

from holdfast.chats.commands import (
    BeginAttempt,
    Command,
    CommitStep,
    Fence,
    FinishCall,
    NewCall,
    NewMessage,
    NewStep,
    StartCalls,
)
from holdfast.chats.view import View
from holdfast.core.clock import SystemClock
from holdfast.core.ids import CallId, RandomIds, UserId
from holdfast.core.parts import Parts, Text, ToolCall
from holdfast.core.usage import Usage

OWNER = UserId("019a0000-0000-7000-8000-000000000001")
USAGE = Usage(input=10, output=5, total=15)
TOOL = "add"
INPUT = {"a": 1, "b": 2}
OUTPUT = "3"

_clock = SystemClock()
_ids = RandomIds()


def said(text: str) -> Parts:
    return (Text(text=text),)


def fence_of(view: View) -> Fence:
    chat = view.chat
    return Fence(
        lease_number=chat.lease_number,
        history_version=chat.history_version,
        status=chat.status,
        attempt=chat.attempt,
    )


def calls_begun() -> tuple[Command, ...]:
    now = _clock.now()
    call_id = CallId("call_" + _ids.uuid7(now).replace("-", ""))
    call = ToolCall(call_id=call_id, name=TOOL, input=INPUT, provider_data={"kind": "scripted", "id": "p1"})
    message = NewMessage(role="assistant", parts=(call,), model="scripted", usage=USAGE)
    step = NewStep(
        model="scripted",
        provider="scripted",
        response_id="r1",
        usage=USAGE,
        started_at=now,
        first_part_at=now,
    )
    return (
        CommitStep(
            step=step, messages=(message,), calls=(NewCall(call_id=call_id, name=TOOL, effect="read"),)
        ),
        StartCalls(call_ids=(call_id,)),
    )


def finished(view: View) -> tuple[Command, ...]:
    (call,) = view.calls
    end = FinishCall(call_id=call.call_id, run=call.run, outcome="succeeded", output=OUTPUT)
    return (end, BeginAttempt())
