"""Who must agree before a call runs. The policy is per tool (`auto`, `ask`, `allow`, `deny`); `auto` lets run
what stays inside the workspace or behind the operating system's wall, and asks for the rest."""

from typing import Literal

from msgspec.structs import replace

from holdfast.core.shapes import Json, Record
from holdfast.tools.choice import Policy, policies_of
from holdfast.tools.contract import Tool

Verdict = Literal["run", "ask", "deny"]


class Rules(Record, frozen=True, kw_only=True):
    default: Policy = "auto"
    per_tool: dict[str, Policy] = {}  # noqa: RUF012 - msgspec copies it
    # Tools that a person allowed (or not) for the whole chat.
    said_here: dict[str, bool] = {}  # noqa: RUF012
    # Whether commands run behind the operating system's wall.
    walled: bool = False

    def for_chat(self, chosen: Json, said_here: dict[str, bool]) -> "Rules":
        """With what was chosen for one chat: a policy by tool. What is denied here, by name or because
        everything is, stays denied."""
        per_tool = self.per_tool | {
            name: policy
            for name, policy in policies_of(chosen).items()
            if self.per_tool.get(name, self.default) != "deny"
        }
        return replace(self, per_tool=per_tool, said_here=said_here)

    def denial(self, name: str) -> str | None:
        """The rule that denies a tool, whatever its kind; None: it is not denied."""
        match self.per_tool.get(name, self.default):
            case "deny":
                return f"{name} = deny"
            case "allow":
                return None
            case "auto" | "ask":
                return None if self.said_here.get(name, True) else "not allowed for this chat"

    def judge(self, tool: Tool) -> tuple[Verdict, str]:
        """What to do with a call, and the rule that says so."""
        if (rule := self.denial(tool.name)) is not None:
            return "deny", rule
        if tool.always_asks:
            return "ask", f"{tool.name} always asks"
        match self.per_tool.get(tool.name, self.default):
            case "allow":
                return "run", f"{tool.name} = allow"
            case _ if tool.name in self.said_here:
                return "run", "allowed for this chat"
            case "ask":
                return "ask", f"{tool.name} = ask"
            case _:
                free = tool.reach in ("none", "workspace") or (tool.reach == "command" and self.walled)
                return ("run" if free else "ask"), f"auto: {tool.reach}"
