"""The cost of attempts that left nothing in history: those that failed, those that were given up because the
chat moved on, and those of a worker that died. It is added to the step if the step goes on, and stored as a
step of its own otherwise, so that totals and budgets are complete."""

from msgspec import UNSET
from msgspec.structs import replace

from holdfast.chats.commands import NewStep, NoteStep
from holdfast.core.errors import AttemptFailed, InvalidInput
from holdfast.core.segments import estimated_tokens
from holdfast.core.steps import StepKind
from holdfast.core.usage import Usage
from holdfast.providers.assemble import ModelAnswer
from holdfast.store.steps import steps_of_turns
from holdfast.worker.active_turn import ActiveTurn
from holdfast.worker.requests import measured
from holdfast.worker.stream import ended_early, forget


def failed_attempt(turn: ActiveTurn) -> Usage:
    """What the attempt that just failed cost. Nothing, if the provider sent nothing: a refused request is not
    charged. How full the context is cannot be told from it."""
    attempt = turn.attempt
    if attempt is None or not attempt.heard:
        return Usage()
    _, step = ended_early(turn, attempt)
    return replace(step.usage, context_used=None, context_limit=None, tokens_per_second=None)


def spent_before(turn: ActiveTurn) -> Usage:
    """What failed attempts at this step cost, as stored with the retry. Another worker may have made them."""
    retry = turn.chat.view.chat.retry
    return Usage() if retry is None or retry.spent is UNSET else retry.spent


def in_all(step: NewStep, spent: Usage) -> NewStep:
    """The step with the cost of its failed attempts added. It counts as one unpriced step at most."""
    usage = spent + step.usage
    return replace(step, usage=replace(usage, unpriced_steps=min(usage.unpriced_steps, 1)))


def unfinished_step(turn: ActiveTurn, step: NewStep, spent: Usage) -> tuple[NoteStep, ...]:
    """Stores the cost of a step that failed and left nothing in history."""
    return _noted(turn.chat.view.chat.turn, replace(in_all(step, spent), outcome="failed"))


async def give_up(turn: ActiveTurn) -> None:
    """The attempt under way is nobody's any more: the chat moved on, or goes to another worker."""
    attempt = turn.attempt
    if attempt is None:
        return
    _, step = ended_early(turn, attempt)
    forget(turn)
    if noted := _noted(attempt.turn, replace(step, outcome="interrupted")):
        await turn.chat.record(*noted)
        if turn.resources.tracing is not None and attempt.turn != turn.chat.view.chat.turn:
            turn.resources.tracing.made_beside(turn.chat.chat_id, attempt.turn)


async def lost_attempt(turn: ActiveTurn, kind: StepKind = "model") -> tuple[NoteStep, ...]:
    """The attempt that a worker before us had begun when it died. Nobody knows how far it came: what it was
    sent is counted, unless the worker could still say it."""
    chat = turn.chat.view.chat
    if not chat.attempt or chat.retry is not None or turn.made_here == turn.episode:
        return ()
    steps = await turn.chat.read(steps_of_turns(chat.id, chat.turn, chat.turn))
    if any(step.attempts >= chat.attempt and step.revision > chat.history_version for step in steps):
        return ()
    try:
        model = turn.model()
    except (AttemptFailed, InvalidInput):
        return ()
    await turn.models.prepare(model)
    tokens = estimated_tokens(await measured(turn))
    used = Usage(input=tokens, total=tokens, estimated=True)
    answer = ModelAnswer(parts=(), usage=used, stop_reason="length")
    step = NewStep(
        kind=kind,
        model=model.config.name,
        provider=model.provider.name,
        attempts=chat.attempt,
        usage=turn.models.priced(model, answer),
        started_at=turn.clock.now(),
        outcome="interrupted",
    )
    return _noted(chat.turn, step)


def _noted(turn: int, step: NewStep) -> tuple[NoteStep, ...]:
    return (NoteStep(turn=turn, step=step),) if step.usage.total else ()
