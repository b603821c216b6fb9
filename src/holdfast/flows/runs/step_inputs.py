"""The inputs of steps: conditions, prompts and arguments, evaluated in the evaluator process from the run's
rows; and code, run in the workflow sandboxes. Repeating any of it after a crash gives the same result."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec

from holdfast.core.errors import BadFlow
from holdfast.core.flow_runs import FlowRun, FlowStep
from holdfast.core.shapes import Json
from holdfast.duties.persistence import persist
from holdfast.flows.code import line_in_flow, read_code
from holdfast.flows.definition import (
    AgentStep,
    ApprovalStep,
    CodeStep,
    Step,
    SwitchStep,
    WaitStep,
    WorkflowStep,
)
from holdfast.flows.discovery import FlowLibrary
from holdfast.flows.evaluator_messages import Asked, Evaluate, Value
from holdfast.scripts.engines.messages import AgentCall, AgentOptions, ScriptDone, ScriptFailed, ScriptStart
from holdfast.scripts.reader import ScriptReader
from holdfast.scripts.runs.sandboxes import Sandboxes
from holdfast.scripts.runs.settings import RunSettings


@dataclass(frozen=True, slots=True)
class Computed:
    value: Json = None
    error: str | None = None


class StepInputs:
    def __init__(self, library: FlowLibrary, reader: ScriptReader, sandboxes: Sandboxes) -> None:
        self._library = library
        self._reader = reader
        self._sandboxes = sandboxes

    async def evaluate(
        self, run: FlowRun, rows: Mapping[str, FlowStep], asked: Sequence[Asked]
    ) -> tuple[Value, ...]:
        if not asked:
            return ()
        question = Evaluate(
            asked=tuple(asked),
            args=_args(run),
            results=_results(rows),
            states={row.id: row.state for row in rows.values()},
            run={"id": run.id, "name": run.name},
        )
        return await persist(lambda: self._library.evaluator.evaluate(question))

    async def compute(
        self, run: FlowRun, rows: Mapping[str, FlowStep], step: CodeStep, settings: RunSettings
    ) -> Computed:
        try:
            script = await asyncio.to_thread(read_code, step, self._reader)
        except BadFlow as error:
            return Computed(error=error.text)
        args: Json = {"args": _args(run), "results": _results(rows)}
        start = ScriptStart(language=step.language, program=script.program, args=args, limits=settings.limits)
        async with await self._sandboxes.open(step.language) as sandbox:
            turn = await sandbox.start(start)
        match turn.stop:
            case ScriptDone(value=value):
                return Computed(value)
            case ScriptFailed(message=message, line=line):
                at = "" if line is None else f"line {line_in_flow(step, line)}: "
                return Computed(error=f"{at}{message}")
            case _:
                return Computed(error="code starts nobody and waits for nothing: use a step of kind agent.")


def asked_of(step: Step) -> Asked | None:
    """What must be evaluated before the step starts."""
    match step:
        case AgentStep(prompt=text) | ApprovalStep(text=text):
            return Asked(kind="template", texts=(text,))
        case WaitStep(duration=duration, until=until):
            return Asked(kind="template", texts=(duration or until or "",))
        case WorkflowStep(args=args):
            return Asked(kind="values", value=args)
        case SwitchStep(cases=cases):
            return Asked(kind="choice", texts=tuple(case.when for case in cases))
        case CodeStep():
            return None


def agent_call(run: FlowRun, step: AgentStep, row: FlowStep, prompt: str) -> AgentCall:
    """The call of an agent step, in the form that workflow scripts use. What the step leaves open is taken
    from the run."""
    return AgentCall(
        number=row.position + 1,
        prompt=prompt,
        options=AgentOptions(
            label=(step.title or step.id)[:80],
            model=step.model or run.model,
            effort=step.effort or run.effort,
            schema=step.schema,
            agent=step.agent,
            tools=step.tools,
            budget=step.budget,
            isolation=step.isolation,
        ),
        phase=None,
        branch=None,
    )


def _args(run: FlowRun) -> Json:
    return None if run.args is msgspec.UNSET else run.args


def _results(rows: Mapping[str, FlowStep]) -> dict[str, Json]:
    return {row.id: row.output for row in rows.values() if row.state == "succeeded"}
