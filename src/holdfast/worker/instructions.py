"""What a workspace tells every agent that works in it: committed into history once for each workspace, before
the first model call that needs it, and again after a summary has hidden it."""

from holdfast.chats.commands import NewMessage
from holdfast.core.parts import Notice
from holdfast.worker.history import INSTRUCTIONS
from holdfast.worker.run import Run

NONE = "This workspace has no instructions of its own."


async def due(run: Run) -> tuple[NewMessage, ...]:
    """The message that is still to be committed, if any."""
    if run.instructions is None:
        return ()
    workspace_id = run.chosen.workspace_id
    history = await run.chat.history()
    if history.instructed_for == (workspace_id or ""):
        return ()
    chat = run.chat.view.chat
    text = await run.instructions(chat.id, chat.owner_id, workspace_id)
    if text is None and workspace_id is None:
        return ()
    notice = Notice(code=INSTRUCTIONS, text=text or NONE, data={"workspace_id": workspace_id or ""})
    return (NewMessage(role="system", parts=(notice,), visibility="model"),)
