"""Which tools of a server a user approved, by the hash of what the server said of them. The first list of a
server that a person configured, or trusted, is taken as it is; what differs later waits for approval and the
others work. Pure."""

from collections.abc import Collection, Mapping, Sequence
from typing import Literal

from holdfast.core.shapes import Record
from holdfast.tools.mcp.definitions import ToolDefinition

PinState = Literal["approved", "changed", "new", "gone"]


class KnownTools(Record, frozen=True, kw_only=True):
    """What is kept of a server for one user: the tools as they were approved, and as it listed them last."""

    approved: tuple[ToolDefinition, ...] = ()
    listed: tuple[ToolDefinition, ...] = ()
    # What it called itself when it listed them.
    title: str = ""
    version: str = ""
    # The configuration that it was listed under.
    config_hash: str = ""
    # How many it had, if not all of them are offered.
    count: int = 0
    prompts: tuple["KnownPrompt", ...] = ()
    has_resources: bool = False


class PromptArgument(Record, frozen=True, kw_only=True):
    name: str
    description: str = ""
    required: bool = False


class KnownPrompt(Record, frozen=True, kw_only=True):
    """A prompt of a server, which people call as a slash command."""

    name: str
    description: str = ""
    arguments: tuple[PromptArgument, ...] = ()


class PinnedTool(Record, frozen=True, kw_only=True):
    tool: ToolDefinition
    state: PinState
    # As it was approved, if that differs.
    before: ToolDefinition | None = None


def listed_anew(known: KnownTools | None, now: KnownTools) -> KnownTools:
    """After the server listed its tools. The very first list is approved by having configured it."""
    if known is None:
        return _with(now, now.listed)
    return _with(now, known.approved)


def approve(known: KnownTools, names: Collection[str] | None) -> KnownTools:
    """These tools (None: all) as they are listed now; those that are gone are forgotten."""
    chosen = {tool.name: tool for tool in known.listed if names is None or tool.name in names}
    listed = {tool.name for tool in known.listed}
    kept = [tool for tool in known.approved if tool.name in listed and tool.name not in chosen]
    return _with(known, (*kept, *chosen.values()))


def judged(known: KnownTools) -> tuple[PinnedTool, ...]:
    """Every tool that was approved or listed, by name."""
    approved = {tool.name: tool for tool in known.approved}
    listed = {tool.name: tool for tool in known.listed}
    return tuple(
        _judge(approved.get(name), listed.get(name)) for name in sorted(approved.keys() | listed.keys())
    )


def usable(known: KnownTools) -> tuple[ToolDefinition, ...]:
    """Those that are what was approved."""
    return tuple(one.tool for one in judged(known) if one.state == "approved" and one.tool.error is None)


def waiting(known: KnownTools) -> int:
    return sum(one.state in ("changed", "new") for one in judged(known))


def _judge(before: ToolDefinition | None, now: ToolDefinition | None) -> PinnedTool:
    if now is None:
        assert before is not None
        return PinnedTool(tool=before, state="gone")
    if before is None:
        return PinnedTool(tool=now, state="new")
    if before.hash != now.hash:
        return PinnedTool(tool=now, state="changed", before=before)
    return PinnedTool(tool=now, state="approved")


def _with(known: KnownTools, approved: Sequence[ToolDefinition]) -> KnownTools:
    return KnownTools(
        approved=tuple(approved),
        listed=known.listed,
        title=known.title,
        version=known.version,
        config_hash=known.config_hash,
        count=known.count,
        prompts=known.prompts,
        has_resources=known.has_resources,
    )


def by_full_name(tools: Sequence[ToolDefinition]) -> Mapping[str, ToolDefinition]:
    return {tool.full_name: tool for tool in tools}
