"""What a model is told about a workflow that the person started in its chat."""

from holdfast.core.ids import RunId
from holdfast.core.runs import RunError, RunStatus


def begun(name: str, run_id: RunId) -> str:
    return (
        f"The user started the workflow {name!r} (run {run_id}). It works by itself; you are told when it "
        "has ended."
    )


def ended(name: str, run_id: RunId, status: RunStatus, *, result: str, error: RunError | None) -> str:
    workflow = f"The workflow {name!r} (run {run_id})"
    match status:
        case "succeeded":
            return f"{workflow} is done. Its result:\n\n{result}"
        case "cancelled":
            return f"{workflow} was cancelled before its end."
        case _:
            where = "" if error is None or error.line is None else f" (line {error.line} of its script)"
            reason = "no reason is known" if error is None else error.message
            return f"{workflow} failed{where}: {reason}"
