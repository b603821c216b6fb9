"""Turns ends of sub-agents that no call of their parents reports into notices. Any replica may do it at any
time: the delivery and the notice's key ensure that it happens once."""

from holdfast.chats.commands import Notify
from holdfast.chats.view import Delivery
from holdfast.prompt.agents import end_of_agent
from holdfast.store import children
from holdfast.store.interface import Applied, Store
from holdfast.tools.ends import SOURCE, AgentTurnEnd, end_of, notice_data
from holdfast.tools.family import Isolation
from holdfast.tools.output import bound

BATCH = 200
# How much of the result a notice contains; `read_agent` returns all of it.
RESULT_LIMIT = 10_000


async def tell_parents(store: Store, isolation: Isolation | None, after_seconds: float) -> bool:
    """Whether there may be more. A running parent gets this long to ask for itself."""
    untold = await store.read(children.untold(BATCH, after_seconds))
    told = 0
    for delivery in untold:
        if delivery.parent_id is not None:
            # A refusal means that the parent is gone; an empty change, that somebody else was first.
            notice = await _notice(store, delivery, isolation)
            told += isinstance(await store.transition(delivery.parent_id, notice), Applied)
    return told == BATCH


async def _notice(store: Store, delivery: Delivery, isolation: Isolation | None) -> Notify:
    child = await store.read(children.child(delivery.child_id))
    end = await end_of(store, delivery)
    changes = None
    if isolation is not None and child is not None and not child.busy:
        changes = await isolation.end(child)
    return Notify(
        source=SOURCE,
        key=end.key.notice_key,
        text=told(end, child.label if child else "", changes),
        data=notice_data(delivery),
        wake=not await _was_stopped_below_another(store, delivery),
        delivery=end.key,
    )


async def _was_stopped_below_another(store: Store, delivery: Delivery) -> bool:
    """Stopping a sub-agent stops those below it, and editing a message stops everything that was started
    there: one that was at rest must not be woken by the end of another."""
    if delivery.outcome != "interrupted" or delivery.failure is not None or delivery.parent_id is None:
        return False
    parent = await store.read(children.child(delivery.parent_id))
    return parent is not None and parent.parent_id is not None


def told(end: AgentTurnEnd, label: str, changes: str | None = None) -> str:
    result, _ = bound(end.said, RESULT_LIMIT)
    return end_of_agent(
        end.key.child_id, label, end.outcome, result=result, failure=end.failure, changes=changes
    )
