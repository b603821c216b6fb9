"""A worker that died in the middle of its work, as the database remembers it."""

from typing import Any

from holdfast.chats.commands import (
    BeginAttempt,
    Command,
    CommitStep,
    Fence,
    NewCall,
    NewMessage,
    NewStep,
    NoteRetry,
    StartCalls,
)
from holdfast.chats.view import View
from holdfast.core.failures import Failure
from holdfast.core.ids import CallId, ChatId, WorkerId
from holdfast.core.parts import ToolCall
from holdfast.store.interface import Applied
from tests.worker.engine import Engine


class Begun:
    """A call that was under way, or was still to begin."""

    def __init__(self, call: NewCall, given: dict[str, Any], begun: bool) -> None:
        self.call = call
        self.given = given
        self.begun = begun


def new_call(tool: str, *, name: str = "", begun: bool = True, **more: Any) -> Begun:
    return Begun(NewCall(call_id=CallId(""), name=tool, **more), {"name": name}, begun)


async def taken_by_the_doomed(engine: Engine, message: str) -> tuple[ChatId, WorkerId, Fence]:
    """A chat of a worker that is going to die."""
    chat = await engine.create(message)
    worker_id = await engine.store.register_worker("doomed", 60.0)
    views = await engine.store.acquire(worker_id, limit=100, agents_limit=100)
    (view,) = [view for view in views if view.chat.id == chat]
    return chat, worker_id, Fence(lease_number=view.chat.lease_number)


async def commit(engine: Engine, chat: ChatId, fence: Fence, *commands: Command) -> View:
    result = await engine.store.transition(chat, *commands, fence=fence)
    assert isinstance(result, Applied), result
    assert result.view is not None
    return result.view


async def leave_running(engine: Engine, message: str, *begun: Begun) -> ChatId:
    """A chat whose worker died while the calls of its first step ran. `message` is what comes after them."""
    chat, worker_id, fence = await taken_by_the_doomed(engine, f"call: {begun[0].call.name}\n{message}")
    await commit(engine, chat, fence, BeginAttempt())
    ids = [CallId(f"call_{n}") for n in range(len(begun))]
    parts = tuple(
        ToolCall(call_id=call_id, name=one.call.name, input=one.given)
        for call_id, one in zip(ids, begun, strict=True)
    )
    calls = tuple(
        NewCall(
            call_id=call_id, name=one.call.name, effect=one.call.effect, on_uncertain=one.call.on_uncertain
        )
        for call_id, one in zip(ids, begun, strict=True)
    )
    await commit(
        engine,
        chat,
        fence,
        CommitStep(
            step=NewStep(started_at=engine.clock.now()),
            messages=(NewMessage(role="assistant", parts=parts),),
            calls=calls,
        ),
        StartCalls(call_ids=tuple(call_id for call_id, one in zip(ids, begun, strict=True) if one.begun)),
    )
    await engine.store.retire(worker_id)
    return chat


async def leave_waiting_for_a_retry(engine: Engine, message: str, *, attempts: int, delay_ms: int) -> ChatId:
    """A chat whose worker died between two attempts."""
    chat, worker_id, fence = await taken_by_the_doomed(engine, message)
    failure = Failure(kind="overloaded", message="Too much to do.", retryable=True)
    for _ in range(attempts):
        await commit(engine, chat, fence, BeginAttempt())
    await commit(engine, chat, fence, NoteRetry(failure=failure, delay_ms=delay_ms))
    await engine.store.retire(worker_id)
    return chat
