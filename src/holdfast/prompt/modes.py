"""What a model is told when the mode of its chat changes."""

from holdfast.core.parts import Notice

# The code of the notice; its data names the mode.
MODE = "mode"

PLAN_TEXT = (
    "You are in plan mode. Read, search and ask, but change nothing: calls that change anything are answered "
    "`denied (mode)`, and commands see the workspace read-only and have no network. When you know enough, "
    "propose your plan with propose_plan. Once it is approved you go on in build mode."
)
ASK_TEXT = (
    "You are in ask mode. Answer from what you know and what you can read: nothing can be changed, and "
    "commands see the workspace read-only and have no network."
)
BUILD_TEXT = "You are in build mode: you may change files and run commands, as far as the rules allow."
UNKNOWN_TEXT = (
    "You are in a mode that this server does not know any more. Until it is changed you can only read."
)


def mode_notice(name: str, instructions: str) -> Notice:
    return Notice(code=MODE, text=instructions or f"You are in mode {name}.", data={"mode": name})
