"""Flow runs of a server, put together: who starts them, who drives them."""

from dataclasses import dataclass
from pathlib import Path

from holdfast.flows.discovery import FlowLibrary
from holdfast.flows.evaluator import FlowEvaluator
from holdfast.flows.runs.driven_run import FlowResources
from holdfast.flows.runs.flow_duty import FlowDuty
from holdfast.flows.runs.flow_start import FlowRuns
from holdfast.flows.runs.step_inputs import StepInputs
from holdfast.providers.registry import ModelRegistry as Providers
from holdfast.scripts.reader import ScriptReader
from holdfast.server.workflows import WorkflowParts, check_model
from holdfast.tools.family import AgentFamily
from holdfast.worker.chat_duty import ChatDuty
from holdfast.workspaces.places.chat_directory import Workspaces


@dataclass(frozen=True, kw_only=True)
class FlowParts:
    runs: FlowRuns
    resources: FlowResources
    workflows: WorkflowParts

    def duty(self, chats: ChatDuty) -> FlowDuty:
        """Drives them in the worker that runs these chats."""
        return FlowDuty(self.resources, chats, self.workflows.crashes)


def flows(
    *,
    family: AgentFamily,
    workspaces: Workspaces,
    home: Path | None,
    evaluator: FlowEvaluator,
    reader: ScriptReader,
    providers: Providers,
    workflows: WorkflowParts,
) -> FlowParts:
    library = FlowLibrary(workspaces, home, evaluator, reader)
    runs = FlowRuns(
        store=family.store,
        clock=family.clock,
        ids=family.ids,
        library=library,
        workflows=workflows.runs,
        check_model=lambda name: check_model(providers, name),
    )
    driven = workflows.resources
    resources = FlowResources(
        store=family.store,
        clock=family.clock,
        ids=family.ids,
        agent_chats=driven.agent_chats,
        inputs=StepInputs(library, reader, driven.sandboxes),
        commands=runs,
        settings=driven.settings,
    )
    return FlowParts(runs=runs, resources=resources, workflows=workflows)
