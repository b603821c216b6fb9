"""The end of an interrupted turn: what was streamed is kept, marked as interrupted; nothing it asked for is
run."""

from msgspec.structs import replace

from holdfast.chats.commands import FinishInterrupt, NewCall, NewMessage
from holdfast.core.parts import ToolCall
from holdfast.worker.generate import forget
from holdfast.worker.run import Run


async def finish_interrupt(run: Run) -> None:
    await run.chat.commit(_what_is_kept(run))
    forget(run)


def _what_is_kept(run: Run) -> FinishInterrupt:
    partial = run.partial
    if partial is None or partial.episode != run.episode or partial.step.kind == "compaction":
        return FinishInterrupt()
    answer = partial.assembler.partial()
    usage = run.priced(partial.model, answer, None)
    step = replace(partial.step, usage=usage)
    if not answer.parts:
        return FinishInterrupt(step=step)
    calls = [part for part in answer.parts if isinstance(part, ToolCall) and not part.provider_executed]
    return FinishInterrupt(
        step=step,
        message=NewMessage(
            role="assistant",
            parts=answer.parts,
            model=partial.model.config.name,
            effort=run.effort,
            usage=usage,
            interrupted=True,
        ),
        calls=tuple(NewCall(call_id=call.call_id, name=call.name) for call in calls),
    )
