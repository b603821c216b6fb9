"""The end of an interrupted turn: what was streamed is kept, marked as interrupted, and none of the calls in
it are run."""

from holdfast.chats.commands import FinishInterrupt, NewCall, NewMessage
from holdfast.core.parts import ToolCall
from holdfast.worker.active_turn import ActiveTurn
from holdfast.worker.stream import ended_early, forget


async def finish_interrupt(turn: ActiveTurn) -> None:
    await turn.chat.commit(_what_is_kept(turn))
    forget(turn)


def _what_is_kept(turn: ActiveTurn) -> FinishInterrupt:
    attempt = turn.attempt
    if attempt is None or attempt.episode != turn.episode:
        return FinishInterrupt()
    answer, step = ended_early(turn, attempt)
    if not answer.parts or attempt.step.kind == "compaction":
        return FinishInterrupt(step=step)
    calls = [part for part in answer.parts if isinstance(part, ToolCall) and not part.provider_executed]
    return FinishInterrupt(
        step=step,
        message=NewMessage(
            role="assistant",
            parts=answer.parts,
            model=step.model,
            effort=turn.effort,
            usage=step.usage,
            interrupted=True,
        ),
        calls=tuple(NewCall(call_id=call.call_id, name=call.name) for call in calls),
    )
