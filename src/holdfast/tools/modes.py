"""What an agent may do in a mode. The tool list is the same in every mode, so that prompts stay cached; a
forbidden call is answered `denied (mode)`. Several modes may apply to a chat, its own and those of the chats
above it: then all of them must allow a call."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from holdfast.core.chats import BUILD
from holdfast.core.shapes import Record
from holdfast.prompt.modes import ASK_TEXT, BUILD_TEXT, PLAN_TEXT, UNKNOWN_TEXT
from holdfast.tools.contract import Tool

# everything: as the approval rules say.  planning: reads, questions, sub-agents.  reading: reads alone.
# named: the tools of `Mode.tools`.
Allows = Literal["everything", "planning", "reading", "named"]


class Mode(Record, frozen=True, kw_only=True):
    name: str
    allows: Allows
    tools: frozenset[str] = frozenset()
    # What the model is told when the mode starts.
    instructions: str = ""

    @property
    def read_only(self) -> bool:
        """Whether programs see the workspace read-only, and commands have no network."""
        return self.allows in ("planning", "reading")

    def permits(self, name: str, tool: Tool | None) -> bool:
        """`tool` None: a client's tool, of which nobody here knows what it does."""
        match self.allows:
            case "everything":
                return True
            case "named":
                return name in self.tools
            case "planning":
                return tool is not None and tool.while_planning != "deny"
            case "reading":
                if tool is None or tool.asks is not None:
                    return False
                return tool.effect == "read" or tool.while_planning == "read_only"


PLAN = Mode(name="plan", allows="planning", instructions=PLAN_TEXT)
ASK = Mode(name="ask", allows="reading", instructions=ASK_TEXT)
BUILT_IN: Mapping[str, Mode] = {
    BUILD: Mode(name=BUILD, allows="everything", instructions=BUILD_TEXT),
    PLAN.name: PLAN,
    ASK.name: ASK,
}


def own_mode(name: str, tools: Iterable[str], instructions: str) -> Mode:
    """One of the configuration."""
    return Mode(name=name, allows="named", tools=frozenset(tools), instructions=instructions)


def find_mode(name: str, own: Mapping[str, Mode]) -> Mode:
    """A mode that is no longer configured only allows reads: nobody knows what it forbade."""
    known = BUILT_IN.get(name) or own.get(name)
    return known or Mode(name=name, allows="reading", instructions=UNKNOWN_TEXT)


def is_read_only(modes: Sequence[Mode]) -> bool:
    return any(mode.read_only for mode in modes)


def forbidding(modes: Sequence[Mode], name: str, tool: Tool | None, *, walled: bool) -> Mode | None:
    """The mode that forbids a call of this tool; None: none does."""
    for mode in modes:
        if not mode.permits(name, tool):
            return mode
        if mode.read_only and not walled and tool is not None and tool.while_planning == "read_only":
            # Nothing would keep the workspace read-only.
            return mode
    return None


def denied_text(mode: Mode, name: str) -> str:
    advice = {
        "planning": "Read, ask, and propose your plan with propose_plan.",
        "reading": "Answer with what you can read.",
        "named": "Do without it, or ask the user for another mode.",
        "everything": "",
    }[mode.allows]
    return f"denied (mode): {name} cannot be used in mode {mode.name}. {advice}".rstrip()
