"""A chat is told of the runs that its person asked for in it: that each began, and how it ended. Any replica
may do it, at any time: the notice's key lets it happen once, however often it is tried."""

from holdfast.chats.commands import Notify
from holdfast.core.runs import OVER, Run
from holdfast.core.shapes import Json, encode_text
from holdfast.prompt.workflows import begun, ended
from holdfast.store import journals, runs
from holdfast.store.interface import Store
from holdfast.tools.output import bound

# The source of the notices, which is their code in history.
SOURCE = "workflow"
BATCH = 100
# What a notice holds of a result; the run has the whole.
RESULT_LIMIT = 20_000


async def tell_chats(store: Store) -> bool:
    """Whether there may be more."""
    untold = await store.read(runs.untold(BATCH))
    for run in untold:
        await tell(store, run)
    return len(untold) == BATCH


async def tell(store: Store, run: Run) -> None:
    """What its chat has not heard of it yet. A chat that is gone hears nothing."""
    asked = run.asked_by
    if asked is None or asked.call_id is not None:
        return
    await store.transition(asked.chat_id, _begin(run))
    over = run.status in OVER
    if over:
        await store.transition(asked.chat_id, await _end(store, run))
    await store.write(runs.told(run.id, end=over))


def _begin(run: Run) -> Notify:
    return Notify(
        source=SOURCE,
        key=f"run:{run.id}:begin",
        text=begun(run.name, run.id),
        data={"run_id": run.id, "name": run.name, "event": "started"},
        enter=True,
    )


async def _end(store: Store, run: Run) -> Notify:
    found = await store.read(journals.details(run.id))
    calls = () if found is None else tuple(call for call in found.calls if call.kind == "agent")
    said = run.result if isinstance(run.result, str) else encode_text(run.result)
    result, cut = bound(said, RESULT_LIMIT)
    data: dict[str, Json] = {
        "run_id": run.id,
        "name": run.name,
        "event": "ended",
        "status": run.status,
        "agents": len(calls),
        "spent_tokens": run.budget.spent_tokens,
    }
    if run.status == "succeeded":
        data |= {"result": result if cut else run.result, "truncated": cut}
    if run.error is not None:
        data["error"] = {"message": run.error.message, "line": run.error.line}
    return Notify(
        source=SOURCE,
        key=f"run:{run.id}:end",
        text=ended(run.name, run.id, run.status, result=result, error=run.error),
        data=data,
        wake=True,
        enter=True,
    )
