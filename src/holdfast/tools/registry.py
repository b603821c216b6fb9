"""The tools a chat may use, by name; and sources of tools that differ by owner and workspace."""

from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from typing import Protocol

from holdfast.core.ids import ChatId, UserId, WorkspaceId
from holdfast.core.shapes import Record
from holdfast.tools.contract import Tool

# Names of tools from outside begin with it, and no built-in tool's does.
OUTSIDE = "mcp__"


class ToolPlace(Record, frozen=True, kw_only=True):
    """The chat that tools are asked for."""

    chat_id: ChatId
    owner_id: UserId
    workspace_id: WorkspaceId | None


class ToolSource(Protocol):
    """Tools that not every chat has. They are asked for once, when a turn begins."""

    def is_empty(self) -> bool:
        """Whether no chat has any: then a turn can begin without asking."""
        ...

    async def tools_for(self, place: ToolPlace) -> tuple[Tool, ...]:
        """Answers soon whatever the source waits for, and never raises for what is wrong with it."""
        ...


class ToolRegistry:
    def __init__(self, tools: Iterable[Tool] = (), more: Iterable[Tool] = ()) -> None:
        """`more` come last in every list, and none of them replaces one of `tools`."""
        self._tools: dict[str, Tool] = {}
        for tool in tools:
            if tool.name in self._tools:
                raise ValueError(f"two tools are named {tool.name}")
            self._tools[tool.name] = tool
        self._more: dict[str, Tool] = {}
        for tool in more:
            if tool.name not in self._tools:
                self._more.setdefault(tool.name, tool)

    def __iter__(self) -> Iterator[Tool]:
        """In a fixed order: the list is part of the prompt's prefix, and a changed prefix is a cache miss.
        Those that may come and go are at its end."""
        yield from sorted(self._tools.values(), key=lambda tool: tool.name)
        yield from sorted(self._more.values(), key=lambda tool: tool.name)

    def __contains__(self, name: object) -> bool:
        return name in self._tools or name in self._more

    def get(self, name: str) -> Tool | None:
        return self._tools.get(name) or self._more.get(name)

    def names_one(self, name: str) -> bool:
        """Whether somebody may choose this name: a tool of this list, or one that some chats have."""
        return name in self or name.startswith(OUTSIDE)

    def with_more(self, more: Iterable[Tool]) -> "ToolRegistry":
        return ToolRegistry(self._tools.values(), (*self._more.values(), *more))

    def with_own(self, own: Iterable[Tool]) -> "ToolRegistry":
        return ToolRegistry((*self._tools.values(), *own), self._more.values())

    def only(self, names: Iterable[str] | None) -> "ToolRegistry":
        """The tools with these names; None: all."""
        if names is None:
            return self
        wanted = set(names)
        return ToolRegistry(
            (tool for tool in self._tools.values() if tool.name in wanted),
            (tool for tool in self._more.values() if tool.name in wanted),
        )

    def without(self, names: Iterable[str]) -> "ToolRegistry":
        left_out = set(names)
        return self.only(tool.name for tool in self if tool.name not in left_out)

    def unknown(self, name: str) -> str:
        """What to tell a model that asked for a tool that does not exist."""
        known = [*self._tools, *self._more]
        near = get_close_matches(name[:100], known, n=3, cutoff=0.5) or sorted(known)[:20]
        names = ", ".join(near) if near else "none"
        return f"There is no tool {name[:100]!r}. Tools with a similar name: {names}."
