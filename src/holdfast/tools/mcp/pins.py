"""Which tools of a server a user approved, by the hash of their definitions. The first list of a configured
or trusted server is approved as a whole; a tool that differs later waits for approval while the others
work. Pure."""

from collections.abc import Collection, Mapping, Sequence
from typing import Literal

from holdfast.core.shapes import Record
from holdfast.tools.mcp.definitions import ToolDefinition

PinState = Literal["approved", "changed", "new", "gone"]


class KnownTools(Record, frozen=True, kw_only=True):
    """What is stored of a server for one user: the tools as approved, and as listed last."""

    approved: tuple[ToolDefinition, ...] = ()
    listed: tuple[ToolDefinition, ...] = ()
    # The server's name for itself at that time.
    title: str = ""
    version: str = ""
    # The configuration at that time.
    config_hash: str = ""
    # How many tools it has, if not all of them are offered.
    count: int = 0
    prompts: tuple["KnownPrompt", ...] = ()
    has_resources: bool = False


class PromptArgument(Record, frozen=True, kw_only=True):
    name: str
    description: str = ""
    required: bool = False


class KnownPrompt(Record, frozen=True, kw_only=True):
    """A prompt of a server, which people use as a slash command."""

    name: str
    description: str = ""
    arguments: tuple[PromptArgument, ...] = ()


class PinnedTool(Record, frozen=True, kw_only=True):
    tool: ToolDefinition
    state: PinState
    # The approved definition, if it differs.
    before: ToolDefinition | None = None


def listed_anew(known: KnownTools | None, now: KnownTools) -> KnownTools:
    """The state after the server listed its tools. The first list is approved by configuring the server."""
    if known is None:
        return _with(now, now.listed)
    return _with(now, known.approved)


def approve(known: KnownTools, names: Collection[str] | None) -> KnownTools:
    """Approves these tools (None: all) as listed now; tools that are gone are forgotten."""
    chosen = {tool.name: tool for tool in known.listed if names is None or tool.name in names}
    listed = {tool.name for tool in known.listed}
    kept = [tool for tool in known.approved if tool.name in listed and tool.name not in chosen]
    return _with(known, (*kept, *chosen.values()))


def judged(known: KnownTools) -> tuple[PinnedTool, ...]:
    """Every approved or listed tool, by name."""
    approved = {tool.name: tool for tool in known.approved}
    listed = {tool.name: tool for tool in known.listed}
    return tuple(
        _judge(approved.get(name), listed.get(name)) for name in sorted(approved.keys() | listed.keys())
    )


def usable(known: KnownTools) -> tuple[ToolDefinition, ...]:
    """The tools whose definition is the approved one."""
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
