"""What callers name must exist, belong to them, and make sense: models, efforts, named agents, labels,
tools."""

import re
from typing import Annotated

from msgspec import Meta

from holdfast.accounts.access import Caller
from holdfast.api.bodies import checked_json
from holdfast.api.problems import invalid
from holdfast.api.services import Services
from holdfast.core.accounts import NamedAgent
from holdfast.core.chats import ClientTool, ProviderTool, Writes
from holdfast.core.errors import HoldfastError
from holdfast.core.ids import WorkspaceId, is_uuid7
from holdfast.core.shapes import Border, Json
from holdfast.core.usage import Budget
from holdfast.providers.configs import PROVIDER_TOOLS
from holdfast.providers.registry import provider_tools_of
from holdfast.store import workspaces
from holdfast.tools.approval import Policy
from holdfast.tools.modes import BUILT_IN

Title = Annotated[str, Meta(max_length=200)]
Label = Annotated[str, Meta(min_length=1, max_length=100)]
Labels = Annotated[tuple[Label, ...], Meta(max_length=50)]
ModelName = Annotated[str, Meta(min_length=1, max_length=64)]
Effort = Annotated[str, Meta(min_length=1, max_length=20)]
MaxSteps = Annotated[int, Meta(ge=1, le=100_000)]
Instructions = Annotated[str, Meta(max_length=200_000)]
ModeName = Annotated[str, Meta(min_length=1, max_length=64)]
ToolName = Annotated[str, Meta(min_length=1, max_length=128)]
# Only these tools; or the approval policy of each.
ToolsIn = Annotated[tuple[ToolName, ...], Meta(max_length=500)] | dict[str, Policy]

MAX_SCHEMA_BYTES = 64 * 1024
_TOOL_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
_EFFORT = re.compile(r"[a-z]{1,20}")


class BudgetIn(Border, frozen=True, kw_only=True):
    tokens: Annotated[int, Meta(ge=1, le=2**53)] | None = None
    cost_usd_micros: Annotated[int, Meta(ge=1, le=2**53)] | None = None


class ClientToolIn(Border, frozen=True, kw_only=True):
    name: ToolName
    description: Annotated[str, Meta(max_length=20_000)]
    input_schema: dict[str, Json]


ProviderToolsIn = Annotated[tuple[ProviderTool, ...], Meta(max_length=len(PROVIDER_TOOLS))]
ClientToolsIn = Annotated[tuple[ClientToolIn, ...], Meta(max_length=100)]


def check_model(
    services: Services, model: str | None, effort: str | None, *, otherwise: str | None = None
) -> None:
    """A model that is named must exist, be enabled, and know the effort. An effort alone is checked against
    the model that is used otherwise."""
    if effort is not None and _EFFORT.fullmatch(effort) is None:
        raise invalid("effort", "not an effort, such as low or high")
    try:
        config = services.providers.require(model or otherwise)
    except HoldfastError as error:
        if model is None:
            return
        raise invalid("model", error.text) from None
    if effort is not None and config.efforts and effort not in config.efforts:
        raise invalid("effort", f"the model {config.name} knows {', '.join(config.efforts)}")


def writes_of(services: Services, writes: Writes | None, agent: NamedAgent | None) -> Writes:
    """What was asked for, else what the named agent says, else the default of the configuration."""
    return writes or (None if agent is None else agent.writes) or services.config().changes.writes


def check_mode(services: Services, mode: str | None) -> None:
    known = (*BUILT_IN, *services.config().modes)
    if mode is not None and mode not in known:
        raise invalid("mode", f"there is no mode {mode[:64]!r}; there are {', '.join(known)}")


async def find_agent(
    services: Services, caller: Caller, name: str | None, workspace_id: WorkspaceId | None = None
) -> NamedAgent | None:
    if name is None:
        return None
    found = await services.agent_names.find(name, caller.user.id, workspace_id)
    if found.agent is not None:
        return found.agent
    if found.untrusted is not None:
        raise invalid("agent", found.missing(name))
    raise invalid("agent", f"there is no agent {name[:64]!r}; GET /api/v1/agents lists them")


async def find_workspace(services: Services, caller: Caller, workspace_id: str | None) -> WorkspaceId | None:
    if workspace_id is None:
        return None
    wanted = WorkspaceId(workspace_id)
    found = (
        await services.store.read(workspaces.workspace(wanted, caller.user.id)) if is_uuid7(wanted) else None
    )
    if found is None:
        raise invalid("workspace_id", "there is no such workspace")
    return found.id


def check_tools(services: Services, tools: ToolsIn | None, extra: tuple[str, ...] = ()) -> Json:
    """Names must be those of existing tools, so that a typing error does not silently forbid one."""
    if tools is None:
        return None
    for name in tools:
        if not services.tools.names_one(name) and name not in extra:
            raise invalid("tools", services.tools.unknown(name))
    return tools if isinstance(tools, dict) else list(tools)


def check_provider_tools(
    services: Services, tools: tuple[ProviderTool, ...] | None, model: str | None
) -> None:
    """What is switched on now must be something that the model's provider runs."""
    if not tools:
        return
    if len(set(tools)) != len(tools):
        raise invalid("provider_tools", "a tool is named twice")
    try:
        config = services.providers.require(model)
    except HoldfastError:
        return  # the chat's model is gone: whoever calls the next one is told
    provider = services.providers.setup.providers[config.provider]
    can = provider_tools_of(provider)
    if wrong := [tool for tool in tools if tool not in can]:
        runs = ", ".join(can) or "no tool"
        raise invalid(
            "provider_tools", f"{provider.name} does not run {', '.join(wrong)} itself; it runs {runs}"
        )


def check_client_tools(services: Services, tools: ClientToolsIn) -> tuple[ClientTool, ...]:
    seen: set[str] = set()
    for number, tool in enumerate(tools):
        field = f"client_tools.{number}"
        if _TOOL_NAME.fullmatch(tool.name) is None:
            raise invalid(f"{field}.name", "a letter, then letters, digits, _ and -, at most 64")
        if tool.name in services.tools or tool.name in seen:
            raise invalid(f"{field}.name", f"there is already a tool {tool.name}")
        if tool.input_schema.get("type", "object") != "object":
            raise invalid(f"{field}.input_schema", "the input of a tool is an object")
        checked_json(f"{field}.input_schema", tool.input_schema, most_bytes=MAX_SCHEMA_BYTES)
        seen.add(tool.name)
    return tuple(
        ClientTool(name=tool.name, description=tool.description, input_schema=tool.input_schema)
        for tool in tools
    )


def budget_of(given: BudgetIn | None, services: Services) -> Budget | None:
    """What was asked for, else the configured default."""
    if given is not None:
        return budget_in(given)
    default = services.config().budget
    tokens, money = int(default.tokens) or None, round(default.cost_usd * 1_000_000) or None
    return budget_in(BudgetIn(tokens=tokens, cost_usd_micros=money))


def budget_in(given: BudgetIn) -> Budget | None:
    """A budget without limits is no budget."""
    if given.tokens is None and given.cost_usd_micros is None:
        return None
    return Budget(tokens=given.tokens, cost_usd_micros=given.cost_usd_micros)


def check_debug(services: Services, wanted: bool) -> bool:
    if wanted and services.config().debug.mode == "off":
        raise invalid("debug", "debug records are switched off on this server ([debug] mode)")
    return wanted
