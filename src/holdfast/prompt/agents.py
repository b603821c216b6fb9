"""What agents that no person started are told, and what an agent is told about the sub-agents it started."""

from holdfast.core.calls import STRUCTURED_OUTPUT
from holdfast.core.failures import Failure
from holdfast.core.ids import ChatId
from holdfast.core.steps import TurnOutcome

SUB_AGENT = (
    "You are a sub-agent: another agent started you for one task and reads only your last message. Do the "
    "task, then answer with the result itself: what you found or did, where, and what is still open."
)
WORKFLOW_AGENT = (
    "You are an agent of a workflow: a script gave you one task and reads only your last message. Do the "
    "task, then answer with the result itself and nothing around it: no greeting, no question, no offer."
)
# The same, for an agent whose answer must match a schema.
STRUCTURED_AGENT = (
    f"You are an agent of a workflow: a script gave you one task. Do the task, then call {STRUCTURED_OUTPUT} "
    "with the result. Only that is read."
)
REMINDER = (
    f"You have not given your answer yet. Call {STRUCTURED_OUTPUT} with it now; nothing else that you say is "
    "read."
)


def end_of_agent(
    agent_id: ChatId,
    label: str,
    outcome: TurnOutcome,
    *,
    result: str,
    failure: Failure | None,
    changes: str | None,
) -> str:
    """What a parent is told about the end of its sub-agent; `changes` says where its changes are."""
    name = f"The sub-agent {label!r} ({agent_id})" if label else f"A sub-agent ({agent_id})"
    match outcome:
        case "finished":
            text = f"{name} is done. Its result:\n\n{result or '(nothing was said)'}"
        case "interrupted":
            text = f"{name} was {'deleted' if failure else 'stopped'}."
        case "failed":
            reason = failure.message if failure else "no reason is known"
            text = f"{name} failed: {reason} message_agent lets it try again."
    return f"{text}\n\n{changes}" if changes else text
