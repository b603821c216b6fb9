# ruff: noqa: E501 - an example on one line is easier to read than one that is broken up
"""What models are told about workflows: briefly which there are, and on request all of one, or the language
that scripts are written in. The same workflows always give the same text, so that requests stay in the
cache."""

from collections.abc import Iterable
from typing import cast

from holdfast.core.shapes import Json, encode_text
from holdfast.core.text import one_line
from holdfast.prompt.sources import Passage, PromptChat, PromptPlace
from holdfast.scripts.discovery import Workflow
from holdfast.scripts.runs.library import Library

MOST_LISTED = 40
LINE_LENGTH = 200
SCRIPT_CHARACTERS = 24_000

WORDS = """\
A script begins with its meta, a plain literal; the rest is ordinary code with await and return at its top. It has no \
files, network, clock, random numbers or imports of packages: agents do such things.
export const meta = {name: 'review', description: 'Reviews from three sides', phases: [{title: 'Review'}]}
- agent(prompt, {label, phase, model, effort, schema, tools, agent, timeout, budget, isolation: 'worktree'}): an agent with a \
fresh context; its final text, with a schema an object, null when it failed.
  const found = await agent(`Find bugs in ${args.path}`, {label: 'bugs', schema: {type: 'object', properties: {bugs: {type: 'array'}}}})
- parallel(functions): all at once, in order; what throws is null.
  const all = await parallel(['a', 'b'].map(x => () => agent(`Look at ${x}`)))
- pipeline(items, ...stages): each item by itself through stages (previous, item, index); null drops it.
  const done = await pipeline(files, f => agent(`Read ${f}`), (text, f) => agent(`Check ${f}: ${text}`))
- phase(title), log(text): progress.
  phase('Review'); log(`${all.length} found`)
- budget.total, budget.spent(), budget.remaining(): output tokens of the run.
  while (budget.remaining() > 5000) ideas.push(await agent('One more idea'))
- args: the arguments. workflow(name, args): another workflow, one level deep.
  return await workflow('review-code', {focus: args.focus})
In Python the same words: await agent(f"...", label="x"), parallel([lambda: agent(...)]), meta = {"name": ..., "description": ...}."""


def listed(workflows: Iterable[Workflow]) -> str:
    """One line each, of those that can be run."""
    lines = [_line(workflow) for workflow in workflows if _can_be_run(workflow)]
    more = [f"- and {len(lines) - MOST_LISTED} more: see read_workflow"] if len(lines) > MOST_LISTED else []
    return "\n".join([*lines[:MOST_LISTED], *more])


class WorkflowList:
    """Those that people put into the workspace; the others are described with the tool."""

    place: PromptPlace = "skills"

    def __init__(self, library: Library) -> None:
        self._library = library

    async def passages(self, where: PromptChat) -> tuple[Passage, ...]:
        if where.workspace_id is None:
            return ()
        found = await self._library.listed(where.workspace_id, where.owner_id)
        lines = listed(workflow for workflow in found if workflow.origin == "project")
        head = "Workflows of this workspace (run_workflow starts one, read_workflow tells all):"
        return (Passage(label="workflows", text=f"{head}\n{lines}"),) if lines else ()


def whole(workflow: Workflow) -> str:
    """Everything one needs to know to run it, or to copy it."""
    script = workflow.script
    if script is None:
        return f"{workflow.name} cannot be run: {workflow.error}"
    meta = script.meta
    text = script.text
    if len(text) > SCRIPT_CHARACTERS:
        text = f"{text[:SCRIPT_CHARACTERS]}\n... ({len(text) - SCRIPT_CHARACTERS} characters more)"
    parts = [
        f"{meta.name}: {meta.description}",
        f"When to use it: {meta.when_to_use}" if meta.when_to_use else "",
        "Arguments: any JSON, or none" if meta.args is None else f"Arguments: {encode_text(meta.args)}",
        f"Phases: {', '.join(phase.title for phase in meta.phases)}" if meta.phases else "",
        f"Budget: {meta.budget} output tokens" if meta.budget else "",
        f"Script ({script.language}):\n{text}",
    ]
    return "\n".join(part for part in parts if part)


def _can_be_run(workflow: Workflow) -> bool:
    return workflow.script is not None and workflow.hidden_by is None


def _line(workflow: Workflow) -> str:
    assert workflow.script is not None
    meta = workflow.script.meta
    properties = cast(dict[str, Json], (meta.args or {}).get("properties") or {})
    takes = f" ({', '.join(properties)})" if properties else ""
    when = f" When: {meta.when_to_use}" if meta.when_to_use else ""
    return f"- {one_line(f'{meta.name}{takes}: {meta.description}{when}', LINE_LENGTH)}"
