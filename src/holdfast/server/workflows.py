"""Workflow runs of a server, put together: who starts them, who drives them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from holdfast.bus.interface import Bus
from holdfast.config.sections import Config
from holdfast.core.errors import HoldfastError, InvalidInput
from holdfast.providers.registry import Registry as Providers
from holdfast.scripts.runs.agents import Agents
from holdfast.scripts.runs.conductor import Means
from holdfast.scripts.runs.keeper import RunKeeper
from holdfast.scripts.runs.library import Library
from holdfast.scripts.runs.settings import RunSettings
from holdfast.scripts.runs.stages import Sandboxes
from holdfast.scripts.runs.starting import Runs
from holdfast.tools.family import Family
from holdfast.workspaces.workspaces import Workspaces


@dataclass(frozen=True, kw_only=True)
class Workflows:
    runs: Runs
    keeper: RunKeeper


def workflows(
    *,
    config: Callable[[], Config],
    bus: Bus,
    family: Family,
    workspaces: Workspaces,
    providers: Providers,
    environ: Mapping[str, str],
) -> Workflows:
    home = environ.get("HOME")
    library = Library(workspaces, Path(home) if home else None)
    runs = Runs(
        store=family.store,
        publish=bus.publish,
        clock=family.clock,
        ids=family.ids,
        library=library,
        check_model=lambda name: _check_model(providers, name),
    )
    means = Means(
        store=family.store,
        publish=bus.publish,
        clock=family.clock,
        ids=family.ids,
        agents=Agents(family),
        library=library,
        sandboxes=Sandboxes(spares=True),
        settings=lambda: _settings(config()),
    )
    return Workflows(runs=runs, keeper=RunKeeper(bus, means, runs))


def _check_model(providers: Providers, name: str) -> None:
    try:
        providers.require(name)
    except HoldfastError as error:
        raise InvalidInput(error.text) from None


def _settings(config: Config) -> RunSettings:
    chosen = config.workflows
    return RunSettings(
        max_runs=chosen.max_runs,
        max_concurrency=chosen.max_concurrency,
        max_agents=chosen.max_agents,
        cpu_seconds=chosen.cpu_seconds,
        memory_mib=chosen.memory_mib,
        agent_seconds=chosen.agent_seconds,
        run_seconds=chosen.run_seconds,
    )
