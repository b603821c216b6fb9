"""The tools a chat may use, by name."""

from collections.abc import Iterable, Iterator
from difflib import get_close_matches

from holdfast.tools.contract import Tool


class ToolRegistry:
    def __init__(self, tools: Iterable[Tool] = ()) -> None:
        self._tools: dict[str, Tool] = {}
        for tool in tools:
            if tool.name in self._tools:
                raise ValueError(f"two tools are named {tool.name}")
            self._tools[tool.name] = tool

    def __iter__(self) -> Iterator[Tool]:
        """In a fixed order: the list is part of the prompt's prefix, and a changed prefix is a cache miss."""
        return iter(sorted(self._tools.values(), key=lambda tool: tool.name))

    def __contains__(self, name: object) -> bool:
        return name in self._tools

    def get(self, name: str) -> Tool | None:
        return self._tools.get(name)

    def only(self, names: Iterable[str] | None) -> "ToolRegistry":
        """The tools with these names; None: all."""
        if names is None:
            return self
        wanted = set(names)
        return ToolRegistry(tool for tool in self._tools.values() if tool.name in wanted)

    def unknown(self, name: str) -> str:
        """What to tell a model that asked for a tool that is not there."""
        near = get_close_matches(name[:100], self._tools, n=3, cutoff=0.5) or sorted(self._tools)[:20]
        names = ", ".join(near) if near else "none"
        return f"There is no tool {name[:100]!r}. Tools with a similar name: {names}."
