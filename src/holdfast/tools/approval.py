"""Whose approval a call needs before it runs. The policy is per tool (`auto`, `ask`, `allow`, `deny`); `auto`
allows what stays inside the workspace or behind the operating system's wall, and asks for everything else."""

from collections.abc import Iterable
from pathlib import PurePosixPath
from typing import Literal, cast
from urllib.parse import urlsplit

from msgspec.structs import replace

from holdfast.core.calls import UserRule, said_key
from holdfast.core.shapes import Json, Record
from holdfast.tools.choice import Policy, policies_of
from holdfast.tools.contract import Tool

Verdict = Literal["run", "ask", "deny"]
# The tool whose rules apply to every command.
EXECUTE = "execute"
ALWAYS = "always allowed"


class Subject(Record, frozen=True, kw_only=True):
    """What a rule about a call is limited to, besides its tool."""

    host: str | None = None
    path: str | None = None


def subject_of(name: str, call_input: Json) -> Subject:
    fields = cast(dict[str, Json], call_input) if isinstance(call_input, dict) else {}
    path, url = fields.get("path"), fields.get("url")
    if name == "request_access" and isinstance(path, str):
        return Subject(path=path)
    if name.startswith("web_") and isinstance(url, str):
        return Subject(host=_host_of(url))
    return Subject()


def _host_of(url: str) -> str | None:
    try:
        return urlsplit(url).hostname
    except ValueError:
        return None


def _covers(rule: UserRule, name: str, subject: Subject) -> bool:
    if rule.tool != name or rule.host != subject.host:
        return False
    if rule.path is None or subject.path is None:
        return rule.path == subject.path
    # A directory includes everything below it. ".." could lead out of it again.
    asked = PurePosixPath(subject.path)
    return ".." not in asked.parts and asked.is_relative_to(PurePosixPath(rule.path))


class ApprovalRules(Record, frozen=True, kw_only=True):
    default: Policy = "auto"
    per_tool: dict[str, Policy] = {}  # noqa: RUF012 - msgspec copies it
    # What a person allowed (or denied) for the whole chat, by `said_key`.
    said_here: dict[str, bool] = {}  # noqa: RUF012
    # The owner's rules for all chats in this workspace.
    always: tuple[UserRule, ...] = ()
    # Whether commands run behind the operating system's wall.
    walled: bool = False

    def beneath(self, tools: Iterable[Tool]) -> "ApprovalRules":
        """With the tools' own policies for those tools that no policy was chosen for. If the default is deny,
        nothing changes."""
        brought = {tool.name: tool.policy for tool in tools if tool.policy is not None}
        if not brought or self.default == "deny":
            return self
        return replace(self, per_tool=brought | self.per_tool)

    def for_chat(
        self, chosen: Json, said_here: dict[str, bool], always: tuple[UserRule, ...] = ()
    ) -> "ApprovalRules":
        """Adds the policy of one chat, by tool. What is already denied, by name or because everything is,
        stays denied."""
        per_tool = self.per_tool | {
            name: policy
            for name, policy in policies_of(chosen).items()
            if self.per_tool.get(name, self.default) != "deny"
        }
        return replace(self, per_tool=per_tool, said_here=said_here, always=always)

    def denial(self, name: str, call_input: Json = None) -> str | None:
        """The rule that denies a tool, whatever its kind; None: it is not denied."""
        match self.per_tool.get(name, self.default):
            case "deny":
                return f"{name} = deny"
            case "allow":
                return None
            case "auto" | "ask":
                if (said := self._said(name, call_input)) is not None:
                    return None if said else "not allowed for this chat"
                refused = any(rule.tool == name and not rule.allowed for rule in self.always)
                return "never allowed, by your rule" if refused else None

    def rule_for(self, name: str, call_input: Json) -> UserRule | None:
        """The user's own rule that allows this call."""
        subject = subject_of(name, call_input)
        return next((rule for rule in self.always if rule.allowed and _covers(rule, name, subject)), None)

    def _said(self, name: str, call_input: Json) -> bool | None:
        return self.said_here.get(said_key(name, subject_of(name, call_input).host))

    def judge(self, tool: Tool, call_input: Json = None) -> tuple[Verdict, str]:
        """What to do with a call, and the rule that decided it."""
        if (rule := self.denial(tool.name, call_input)) is not None:
            return "deny", rule
        allowed = self.rule_for(tool.name, call_input) is not None
        if tool.always_asks and allowed:
            return "run", ALWAYS
        if tool.always_asks:
            return "ask", f"{tool.name} always asks"
        match self.per_tool.get(tool.name, self.default):
            case "allow":
                return "run", f"{tool.name} = allow"
            case _ if self._said(tool.name, call_input) is not None:
                return "run", "allowed for this chat"
            case _ if allowed:
                return "run", ALWAYS
            case "ask":
                return "ask", f"{tool.name} = ask"
            case _:
                free = tool.reach in ("none", "workspace") or (tool.reach == "command" and self.walled)
                return ("run" if free else "ask"), f"auto: {tool.reach}"

    @property
    def runs_commands(self) -> bool:
        """Whether a command written by an agent runs without asking anybody, as a call of `execute` would."""
        if self.denial(EXECUTE) is not None:
            return False
        policy = self.per_tool.get(EXECUTE, self.default)
        return policy == "allow" or EXECUTE in self.said_here or (policy == "auto" and self.walled)
