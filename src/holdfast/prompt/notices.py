"""Notices: what a model, or the person, is told in history about the turn itself."""

from collections.abc import Mapping

from holdfast.core.failures import Failure
from holdfast.core.parts import Notice
from holdfast.providers.interface import StopReason

# The code of the notice with a workspace's instructions for agents.
INSTRUCTIONS = "instructions"
# A person wants the text of now in place of the message that its data names.
INSTRUCTIONS_RENEWED = "instructions_renewed"
RENEWED_TEXT = (
    "The instructions of the workspace changed, and the user wants you to follow them as they are now. Where "
    "the two texts differ, the newer one counts."
)

# What a hook has to say, and its wish for one more step.
HOOK = "hook"
MORE_STEPS = "hook_more"

# Shown to the model where its history needs them; never stored.
INTERRUPTED = Notice(code="interrupted", text="The user interrupted the answer above before it was complete.")
CONTINUED = Notice(code="continued", text="This conversation continues an earlier one.")
EMPTY = Notice(code="empty", text="The user sent a message without any text.")

# Committed.
NUDGE = Notice(
    code="loop_guard",
    text="Your calls failed several times in a row. Find the reason or try another way.",
)
IN_VAIN = Notice(
    code="compaction_in_vain",
    text=(
        "Summarising the conversation did not make it smaller: it still fills most of the model's context. "
        "Work in small steps and read little at once, or go on in a new chat or with a model that has more "
        "room."
    ),
)
# Marks the closing step of a turn, for the model alone.
CLOSING = "closing"
GO_ON = Notice(code="go_on", text="Your provider paused you before the end. Continue.")
CUT_SHORT: Mapping[StopReason, Notice] = {
    "length": Notice(code="length", text="The answer reached its maximum length and was cut."),
    "content_filter": Notice(
        code="content_filter",
        text="The provider ended the answer because of its content rules. Change the message or the model.",
    ),
}


def no_tools(model: str | None) -> Notice:
    return Notice(
        code="no_tools", text=f"The model {model} cannot use tools, so the agent answers without them."
    )


def closing(limit: Failure) -> Notice:
    return Notice(
        code=CLOSING,
        text=(
            f"This turn ends now: {limit.message} You can use no more tools. Sum up for the user in a few "
            "sentences what was done, what was found out, and what is left to do."
        ),
        data={"kind": limit.kind, "message": limit.message},
    )


def hook_says(text: str, *, name: str, key: str) -> Notice:
    return Notice(code=HOOK, text=f"A hook says: {text}", data={"hook": name, "key": key})


def hook_wants_more(reason: str, *, name: str) -> Notice:
    return Notice(
        code=MORE_STEPS,
        text=f"A hook does not let the turn end yet: {reason}",
        data={"hook": name},
    )


def hook_stopped(reason: str, *, name: str) -> Notice:
    return Notice(code="hook_stopped", text=f"A hook ended the turn: {reason}", data={"hook": name})


def hook_blocked(reason: str, *, name: str, said: str) -> Notice:
    """For the person alone: no model saw the message."""
    return Notice(
        code="hook_blocked", text=f"A hook blocked the message: {reason}", data={"hook": name, "said": said}
    )


def hook_overruled(name: str, times: int) -> Notice:
    return Notice(
        code="hook_overruled",
        text=f"A hook asked for one more step {times} times in a row; the turn ended all the same.",
        data={"hook": name},
    )
