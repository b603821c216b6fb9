"""Titles and one-line summaries, made in the background: they never delay a turn and never replace what a
person wrote."""

import asyncio
from contextlib import aclosing

import structlog
from msgspec.structs import replace

from holdfast.core.clock import Stopwatch
from holdfast.core.errors import AttemptFailed, HoldfastError
from holdfast.core.failures import Failure
from holdfast.core.ids import StepId
from holdfast.core.parts import Text
from holdfast.core.steps import Step, StepKind
from holdfast.core.text import one_line
from holdfast.core.titles import LONGEST, title_of
from holdfast.prompt.segments import estimate
from holdfast.prompt.summaries import ASK_LINE, ASK_TITLE, LINE_SYSTEM
from holdfast.providers.assemble import Assembler
from holdfast.providers.estimates import with_estimates
from holdfast.providers.interface import ModelRequest, PromptMessage
from holdfast.providers.redact import without_secrets
from holdfast.store.chats import standing
from holdfast.store.interface import Choices
from holdfast.store.side_steps import note
from holdfast.worker.active_turn import ActiveTurn
from holdfast.worker.debug_steps import record_end, recorded_end, recorded_line
from holdfast.worker.owned_chat import Texts

log = structlog.get_logger(__name__)

SECONDS = 30.0
SHOWN = 4000


async def describe(turn: ActiveTurn, number: int, texts: Texts) -> None:
    """A better title after the first exchange, a summary after each turn; `number` is the turn's."""
    chat_id, store = turn.chat.chat_id, turn.chat.store
    choices: Choices = {}
    try:
        if texts.first and turn.setup.chosen.title_source == "none" and _wants_title(turn):
            title = await _line(turn, number, "title", ASK_TITLE, texts.first, by_model=True)
            choices = {"title": title, "title_source": "generated"}
            if turn.settings.title_model is not None:
                # The summary may take long: the title does not wait for it.
                await store.update_settings(chat_id, **choices)
                choices = {}
        if texts.last:
            by_model = turn.settings.summaries_by_model
            choices["summary"] = await _line(turn, number, "summary", ASK_LINE, texts.last, by_model=by_model)
        if choices:
            await store.update_settings(chat_id, **choices)
    except HoldfastError as error:
        log.info("no title", chat_id=chat_id, reason=error.text)
    except Exception:
        # Nobody awaits it, so it is logged here.
        log.exception("no title", chat_id=chat_id)


def _wants_title(turn: ActiveTurn) -> bool:
    """A chat started by a person already has its first line as title; a model's title is better. A chat
    started by an agent keeps the name it was given."""
    if not turn.setup.chosen.title:
        return True
    return turn.settings.title_model is not None and turn.chat.view.chat.parent_id is None


async def _line(turn: ActiveTurn, number: int, kind: StepKind, ask: str, text: str, *, by_model: bool) -> str:
    """The model's line, or without a model (or when it fails) the first line of the text."""
    first = without_secrets(title_of(text)) or _shown(text[:SHOWN])
    if turn.settings.title_model is None or not by_model:
        return first
    try:
        async with asyncio.timeout(SECONDS):
            return _shown(await _ask(turn, number, kind, ask + text[:SHOWN])) or first
    except (HoldfastError, TimeoutError) as error:
        log.info("title model failed", chat_id=turn.chat.chat_id, reason=str(error))
        return first


def _shown(line: str) -> str:
    """Titles appear in lists, tabs, notifications and exports, so a secret pasted into a chat must not get
    into them. It is looked for before the line is cut, while it is still complete."""
    return one_line(without_secrets(line[:SHOWN]), LONGEST)


async def _ask(turn: ActiveTurn, number: int, kind: StepKind, text: str) -> str:
    model = turn.models.resolve(turn.settings.title_model)
    watch = Stopwatch(turn.clock)
    request = ModelRequest(
        model=model.config,
        system=(LINE_SYSTEM,),
        messages=(PromptMessage(role="user", parts=(Text(text=text),)),),
        max_output=200,
        purpose="title",
        trace_parent=await turn.beside(number, kind),
    )
    await turn.models.prepare(model)
    recorded = await recorded_line(turn, number, model, request, "title" if kind == "title" else "summary")
    if recorded is not None:
        request = replace(request, exchanges=recorded)
    assembler = Assembler(turn.new_call_id)
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
                id=StepId(turn.resources.ids.uuid7(watch.now())),
                turn=number,
                number=0,
                kind=kind,
                model=model.config.name,
                provider=model.provider.name,
                response_id=answer.response_id,
                failures=() if failure is None else (failure,),
                usage=turn.models.priced(model, replace(answer, usage=used)),
                started_at=watch.started_at,
                finished_at=watch.now(),
                outcome=outcome,
            )
            if recorded is not None:
                if outcome == "finished":
                    recorded.completed(answer, step.usage)
                record_end(recorded.run, outcome)
            await asyncio.shield(_count(turn, step))


async def _count(turn: ActiveTurn, step: Step) -> None:
    """Whatever the chat does meanwhile, and whoever has it."""
    if await turn.chat.store.read(standing(turn.chat.chat_id)) is None:
        return  # deleted: nobody is to pay for it any more
    await turn.chat.store.write(note(turn.chat.chat_id, step))
    turn.chat.metrics.noted(step)
    if turn.resources.tracing is not None:
        turn.resources.tracing.made_beside(turn.chat.chat_id, step.turn)
