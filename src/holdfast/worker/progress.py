"""What history and the store say about the turn, for the decision about the next action."""

from collections.abc import Iterable

from holdfast.chats.view import View
from holdfast.core.steps import Step
from holdfast.store.budgets import is_spent
from holdfast.store.steps import steps_of_turns
from holdfast.worker.actions import Context, TurnProgress
from holdfast.worker.active_turn import ActiveTurn
from holdfast.worker.history import History
from holdfast.worker.hook_turns import read_hook_progress


async def read_progress(turn: ActiveTurn, view: View) -> TurnProgress:
    """As it would be if the chat were as this view says."""
    chat = view.chat
    history = await turn.chat.history()
    finished = [call for call in view.calls if call.state == "finished" and not call.abandoned]
    context = _context(turn, history)
    in_vain = 0
    if context != "free" or chat.compaction == "overflow":
        steps = await turn.chat.read(steps_of_turns(chat.id, chat.turn, chat.turn))
        in_vain = compactions_in_vain(steps, turn.setup.limits.compaction_threshold)
    return TurnProgress(
        complete=history.complete,
        ended_by_tool=any(call.outcome == "succeeded" and "ends_turn" in call.traits for call in finished),
        repeats=history.repeats(chat.turn, finished),
        over_budget=await _over_budget(turn),
        given_up=None if turn.setup.terms is None else turn.setup.terms.limit,
        context=context,
        compactions_in_vain=in_vain,
        told_in_vain=history.told_in_vain(chat.turn),
        closing=history.closing(chat.turn),
        hooks=await read_hook_progress(turn, view, history),
    )


async def _over_budget(turn: ActiveTurn) -> bool:
    if turn.budgeted is False:
        return False
    # Set before the query, as in `ActiveTurn.prepare`.
    turn.budgeted = False
    budgets = await turn.chat.read(turn.caps)
    if budgets:
        turn.budgeted = True
    return any(is_spent(budget) for budget in budgets)


def _context(turn: ActiveTurn, history: History) -> Context:
    """How full the context of the last step was, for the model that is called next."""
    config = turn.setup.model_config
    limit = history.context_limit
    if config is not None:
        limit = config.context_limit or (limit if history.context_model == config.name else None)
    return context_of(history.context_used, limit, turn.setup.limits.compaction_threshold)


def context_of(used: int | None, limit: int | None, threshold_percent: int) -> Context:
    if used is None or not limit or threshold_percent >= 100:
        return "free"
    if used >= limit:
        return "over"
    return "full" if used * 100 >= limit * threshold_percent else "free"


def compactions_in_vain(steps: Iterable[Step], threshold_percent: int) -> int:
    """How many of the last summaries were followed by a step that was just as full, or by none."""
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
