"""Ends of sub-agents that their parents do not wait for become notices. Any replica may do it, at any time:
the delivery and the notice's key let it happen once."""

from holdfast.chats.commands import DeliveryKey, Notify
from holdfast.chats.view import Delivery
from holdfast.core.parts import Text
from holdfast.store import children, messages
from holdfast.store.interface import Store
from holdfast.tools.output import bound

BATCH = 200
# What a notice holds of the result; read_agent has the whole.
RESULT_LIMIT = 10_000


async def tell_parents(store: Store) -> bool:
    """Whether there may be more."""
    untold = await store.read(children.untold(BATCH))
    for delivery in untold:
        if delivery.parent_id is not None:
            # A refusal means that the parent is gone, or that somebody was quicker.
            await store.transition(delivery.parent_id, await _notice(store, delivery))
    return len(untold) == BATCH


async def _notice(store: Store, delivery: Delivery) -> Notify:
    child = await store.read(children.child(delivery.child_id))
    name = f"The sub-agent {child.label!r}" if child is not None and child.label else "A sub-agent"
    match delivery.outcome:
        case "finished":
            result, _ = bound(await _result(store, delivery), RESULT_LIMIT)
            text = f"{name} ({delivery.child_id}) is done. Its result:\n\n{result}"
        case "interrupted":
            text = f"{name} ({delivery.child_id}) was stopped."
        case "failed":
            reason = delivery.failure.message if delivery.failure else "no reason is known"
            text = f"{name} ({delivery.child_id}) failed: {reason} Use message_agent to let it try again."
    return Notify(
        source="agent",
        key=f"agent:{delivery.child_id}:{delivery.turn}",
        text=text,
        data={"agent_id": delivery.child_id, "outcome": delivery.outcome},
        wake=True,
        delivery=DeliveryKey(child_id=delivery.child_id, turn=delivery.turn),
    )


async def _result(store: Store, delivery: Delivery) -> str:
    if delivery.answer_id is None:
        return "(nothing was said)"
    answer = await store.read(messages.message(delivery.child_id, delivery.answer_id))
    said = "\n".join(part.text for part in answer.parts if isinstance(part, Text)) if answer else ""
    return said or "(nothing was said)"
