"""Model calls beside the turns of a chat: titles, summaries, commit messages. Whatever comes of them, what
they used is counted with the chat, as a step."""

import asyncio
from contextlib import aclosing
from dataclasses import dataclass

from msgspec.structs import replace

from holdfast.core.clock import Clock, Stopwatch
from holdfast.core.errors import AttemptFailed
from holdfast.core.failures import Failure
from holdfast.core.ids import CallId, ChatId, Ids, StepId
from holdfast.core.parts import Text
from holdfast.core.steps import Step, StepKind
from holdfast.prompt.segments import estimate
from holdfast.providers.assemble import Assembler
from holdfast.providers.estimates import with_estimates
from holdfast.providers.interface import ModelRequest
from holdfast.providers.registry import Model
from holdfast.store.chats import standing
from holdfast.store.interface import Store
from holdfast.store.side_steps import note
from holdfast.telemetry.debug_recording import RecordedStep
from holdfast.telemetry.metrics import Metrics
from holdfast.telemetry.trace_context import Tracing
from holdfast.worker.debug_steps import record_end, recorded_end
from holdfast.worker.models import Models


@dataclass(frozen=True, slots=True, kw_only=True)
class SideCall:
    """What is asked, of which model, and which turn of which chat it is about."""

    id: StepId
    chat_id: ChatId
    turn: int
    kind: StepKind
    model: Model
    request: ModelRequest
    recorded: RecordedStep | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SideCalls:
    store: Store
    models: Models
    clock: Clock
    ids: Ids
    metrics: Metrics
    tracing: Tracing | None = None

    def new_id(self) -> StepId:
        return StepId(self.ids.uuid7(self.clock.now()))

    async def ask(self, call: SideCall) -> str:
        """The text that the model answers. AttemptFailed says why there is none."""
        model, request, recorded = call.model, call.request, call.recorded
        watch = Stopwatch(self.clock)
        assembler = Assembler(lambda: CallId("call_" + self.ids.uuid7(self.clock.now()).replace("-", "")))
        failure: Failure | None = None
        heard = whole = False
        try:
            with recorded_end(recorded):
                async with aclosing(model.adapter.stream(request)) as events:
                    async for event in events:
                        heard = True
                        assembler.add(event)
                        if assembler.full:
                            break
            whole = not assembler.full
            return " ".join(part.text for part in assembler.answer().parts if isinstance(part, Text))
        except AttemptFailed as failed:
            failure = failed.failure
            raise
        finally:
            if recorded is not None and not heard:
                recorded.run.end("interrupted" if failure is None else "error")
            if heard:
                answer = assembler.answer() if whole else assembler.partial()
                used = with_estimates(
                    answer.usage,
                    input_tokens=estimate(request),
                    output_tokens=assembler.output_estimate,
                    whole=whole,
                )
                outcome = "finished" if whole else "interrupted" if failure is None else "failed"
                step = Step(
                    id=call.id,
                    turn=call.turn,
                    number=0,
                    kind=call.kind,
                    model=model.config.name,
                    provider=model.provider.name,
                    response_id=answer.response_id,
                    failures=() if failure is None else (failure,),
                    usage=self.models.priced(model, replace(answer, usage=used)),
                    started_at=watch.started_at,
                    finished_at=watch.now(),
                    outcome=outcome,
                )
                if recorded is not None:
                    if outcome == "finished":
                        recorded.completed(answer, step.usage)
                    record_end(recorded.run, outcome)
                await asyncio.shield(self._count(call.chat_id, step))

    async def _count(self, chat_id: ChatId, step: Step) -> None:
        """Whatever the chat does meanwhile, and whoever has it."""
        if await self.store.read(standing(chat_id)) is None:
            return  # deleted: nobody is to pay for it any more
        await self.store.write(note(chat_id, step))
        self.metrics.noted(step)
        if self.tracing is not None:
            self.tracing.made_beside(chat_id, step.turn)
