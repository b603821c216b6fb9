"""The workflow runs of a server, assembled: what starts them, and what drives them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from holdfast.config.sections import Config
from holdfast.core.errors import HoldfastError, InvalidInput
from holdfast.providers.registry import ModelRegistry as Providers
from holdfast.scripts.reader import ScriptReader
from holdfast.scripts.runs.agent_chats import AgentChats
from holdfast.scripts.runs.library import Library
from holdfast.scripts.runs.run_driver import RunResources
from holdfast.scripts.runs.run_duty import RunDuty
from holdfast.scripts.runs.run_start import Runs
from holdfast.scripts.runs.sandboxes import Sandboxes
from holdfast.scripts.runs.settings import RunSettings
from holdfast.telemetry.crashes import Crashes
from holdfast.tools.family import AgentFamily
from holdfast.worker.chat_duty import ChatDuty
from holdfast.workspaces.commands.walled_programs import Walled
from holdfast.workspaces.places.chat_directory import Workspaces


@dataclass(frozen=True, kw_only=True)
class WorkflowParts:
    runs: Runs
    resources: RunResources
    crashes: Crashes

    def duty(self, chats: ChatDuty) -> RunDuty:
        """Drives them in the worker that runs these chats."""
        return RunDuty(self.resources, self.runs, chats, self.crashes)


def workflows(
    *,
    config: Callable[[], Config],
    family: AgentFamily,
    workspaces: Workspaces,
    providers: Providers,
    reader: ScriptReader,
    walled: Walled,
    environ: Mapping[str, str],
    crashes: Crashes,
) -> WorkflowParts:
    library = Library(workspaces, home_of(environ), reader, walled)
    runs = Runs(
        store=family.store,
        clock=family.clock,
        ids=family.ids,
        library=library,
        check_model=lambda name: check_model(providers, name),
    )
    resources = RunResources(
        store=family.store,
        clock=family.clock,
        ids=family.ids,
        agent_chats=AgentChats(family),
        library=library,
        sandboxes=Sandboxes(spares=True, kept_in=config().server.data / "interpreter"),
        settings=lambda: _settings(config()),
    )
    return WorkflowParts(runs=runs, resources=resources, crashes=crashes)


def home_of(environ: Mapping[str, str]) -> Path | None:
    home = environ.get("HOME")
    return Path(home) if home else None


def check_model(providers: Providers, name: str) -> None:
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
        budget=chosen.budget,
        cpu_seconds=chosen.cpu_seconds,
        memory_mib=chosen.memory_mib,
        agent_seconds=chosen.agent_seconds,
        run_seconds=chosen.run_seconds,
    )
