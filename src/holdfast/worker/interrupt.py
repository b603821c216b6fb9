"""The end of an interrupted turn: what was streamed is kept, marked as interrupted; nothing it asked for is
run."""

from holdfast.chats.commands import FinishInterrupt, NewCall, NewMessage
from holdfast.core.parts import ToolCall
from holdfast.worker.run import Run
from holdfast.worker.stream import ended_early, forget


async def finish_interrupt(run: Run) -> None:
    await run.chat.commit(_what_is_kept(run))
    forget(run)


def _what_is_kept(run: Run) -> FinishInterrupt:
    partial = run.partial
    if partial is None or partial.episode != run.episode or partial.step.kind == "compaction":
        return FinishInterrupt()
    answer, step = ended_early(run, partial)
    if not answer.parts:
        return FinishInterrupt(step=step)
    calls = [part for part in answer.parts if isinstance(part, ToolCall) and not part.provider_executed]
    return FinishInterrupt(
        step=step,
        message=NewMessage(
            role="assistant",
            parts=answer.parts,
            model=step.model,
            effort=run.effort,
            usage=step.usage,
            interrupted=True,
        ),
        calls=tuple(NewCall(call_id=call.call_id, name=call.name) for call in calls),
    )
