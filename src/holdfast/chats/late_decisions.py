"""A person's word on a call of unknown outcome, when the model has been told already that nobody knows: too
late for the call's one result, so it becomes a notice, once for each call."""

from holdfast.chats.commands import Decide, Notify
from holdfast.chats.view import Call
from holdfast.core.shapes import encode_text

SOURCE = "uncertain_call"


def said_later(call: Call, decision: Decide) -> Notify | None:
    """What the model is told now; None when the decision has another meaning, or none, for this call."""
    if call.outcome != "uncertain" or call.state != "answered":
        return None
    match decision.verdict:
        case "retry":
            text = f"{call.name} is to be run again: make the call once more."
        case "done":
            text = f"{call.name} did take effect."
            if decision.output is not None:
                text += f" Its result: {encode_text(decision.output)}"
        case "skip":
            text = f"{call.name} is not to be run again: go on without it."
        case "approve" | "deny":
            return None
    if decision.note:
        text += f" {decision.note}"
    return Notify(
        source=SOURCE,
        key=f"{SOURCE}:{call.call_id}",
        text=f"About call {call.call_id}, whose outcome was unknown, the user says: {text}",
        data={"call_id": call.call_id, "decision": decision.verdict},
        wake=True,
    )
