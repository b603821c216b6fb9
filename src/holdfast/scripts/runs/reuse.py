"""Which earlier run's finished calls a new run reuses, and the sentence that says why: a pure decision. Calls
whose agents can look at the workspace are reused only while it is as the earlier run left it."""

from holdfast.core.ids import RunId
from holdfast.core.runs import RunStatus
from holdfast.core.shapes import Record
from holdfast.scripts.engines.messages import AgentCall
from holdfast.scripts.runs.run_terms import RunTerms
from holdfast.tools.choice import names_of, narrowed


class Earlier(Record, frozen=True, kw_only=True):
    """A finished run of the same workflow with the same arguments."""

    id: RunId
    status: RunStatus


class Lending(Record, frozen=True, kw_only=True):
    lender: RunId | None = None
    # None: there was nothing to decide.
    why: str | None = None


def decide(*, named: RunId | None, fresh: bool, reuse: bool, always: bool, newest: Earlier | None) -> Lending:
    """`named` is the run that was asked for, `newest` the one that would be used by default."""
    if fresh:
        return Lending(why="Nothing is reused: a fresh run was asked for.")
    if named is not None:
        return Lending(lender=named, why=f"Calls that run {named} finished are reused, as asked for.")
    if newest is None:
        return Lending()
    match newest.status:
        case "failed":
            why = "because it failed"
        case "cancelled":
            why = "because it was cancelled"
        case _ if reuse:
            why = "as asked for"
        case _ if always:
            why = "because the workflow says so (meta.reuse)"
        case _:
            return Lending(
                why=f"Nothing is reused: run {newest.id} finished. Ask with reuse to have its answers."
            )
    return Lending(lender=newest.id, why=f"Calls that run {newest.id} finished are reused, {why}.")


def is_as_left(run: RunTerms, lender: RunTerms) -> bool:
    """Whether the workspace is as the earlier run left it. If it could not be examined, it is not."""
    if run.workspace_id is None and lender.workspace_id is None:
        return True
    left = lender.final_state or lender.workspace_state
    return run.workspace_id == lender.workspace_id and left is not None and left == run.workspace_state


def reads_workspace(run: RunTerms, call: AgentCall) -> bool:
    """Whether the agent has any tool to look at the workspace with."""
    options = call.options
    names = names_of(narrowed(run.tools, options.tools))
    return run.workspace_id is not None and names != () and options.max_tool_calls != 0
