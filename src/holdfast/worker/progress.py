"""What the turn's next action is decided on, put together from history and the store."""

from collections.abc import Iterable

from holdfast.chats.view import View
from holdfast.core.steps import Step
from holdfast.store.budgets import is_spent
from holdfast.store.steps import steps_of_turns
from holdfast.worker.history import History
from holdfast.worker.run import Run
from holdfast.worker.turn import (
    Action,
    Context,
    Progress,
    RunCalls,
    context_of,
    has_calls_to_run,
    next_action,
)

# Turns to look back for summaries that were of no use.
TURNS_BACK = 10


async def decide_action(run: Run, view: View) -> Action:
    """The next action, if the chat were as this view says."""
    if has_calls_to_run(view):
        # Whatever else is so: every second time it is this.
        return RunCalls()
    chat = view.chat
    history = await run.chat.history()
    finished = [call for call in view.calls if call.state == "finished" and not call.abandoned]
    context = _context(run, history)
    in_vain = 0
    if context != "free" or chat.compaction == "overflow":
        steps = await run.chat.read(steps_of_turns(chat.id, chat.turn - TURNS_BACK, chat.turn))
        in_vain = compactions_in_vain(steps, run.limits.compaction_threshold)
    progress = Progress(
        complete=history.complete,
        ended_by_tool=any(
            call.outcome == "succeeded" and (tool := run.tools.get(call.name)) is not None and tool.ends_turn
            for call in finished
        ),
        repeats=history.repeats(chat.turn, finished),
        over_budget=await _over_budget(run),
        given_up=None if run.terms is None else run.terms.limit,
        context=context,
        compactions_in_vain=in_vain,
    )
    return next_action(view, progress, run.limits)


async def _over_budget(run: Run) -> bool:
    if run.budgeted is False:
        return False
    # Before the question, as in the runner.
    run.budgeted = False
    budgets = await run.chat.read(run.caps)
    if budgets:
        run.budgeted = True
    return any(is_spent(budget) for budget in budgets)


def _context(run: Run, history: History) -> Context:
    """What the last step was shown, for the model that is called next."""
    config = run.model_config
    limit = history.context_limit
    if config is not None:
        limit = config.context_limit or (limit if history.context_model == config.name else None)
    return context_of(history.context_used, limit, run.limits.compaction_threshold)


def compactions_in_vain(steps: Iterable[Step], threshold_percent: int) -> int:
    """How many of the last summaries were followed by a step that was just as full, or by none at all."""
    count = 0
    just_compacted = False
    for step in steps:
        if step.outcome != "finished":
            continue
        if step.kind == "compaction":
            count, just_compacted = count + 1, True
        elif just_compacted:
            just_compacted = False
            usage = step.usage
            if context_of(usage.context_used, usage.context_limit, threshold_percent) == "free":
                count = 0
    return count
