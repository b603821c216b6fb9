"""What the place a chat works in has to say, put into history before a model call: its instructions, once for
each workspace and again after a summary has hidden them; and what its check says after a step that wrote
files. The model is only told what is wrong, people also that it was looked."""

import msgspec

from holdfast.chats.commands import NewMessage
from holdfast.chats.view import View
from holdfast.core.checks import CHECK
from holdfast.core.parts import Notice
from holdfast.worker.history import INSTRUCTIONS
from holdfast.worker.run import Run, Surroundings, Where

NONE = "This workspace has no instructions of its own."


async def said(run: Run) -> tuple[NewMessage, ...]:
    """The messages that are still to be committed."""
    if run.surroundings is None:
        return ()
    return (*await _instructions(run, run.surroundings), *await _check(run, run.surroundings))


async def _instructions(run: Run, surroundings: Surroundings) -> tuple[NewMessage, ...]:
    where = run.where
    history = await run.chat.history()
    if history.instructed_for == (where.workspace_id or ""):
        return ()
    return await run.chat.prepare(lambda: instructions_of(where, surroundings))


async def instructions_of(where: Where, surroundings: Surroundings) -> tuple[NewMessage, ...]:
    """What is said of the place to a chat that was told nothing of it yet."""
    text = await surroundings.instructions(where)
    if text is None and where.workspace_id is None:
        return ()
    notice = Notice(code=INSTRUCTIONS, text=text or NONE, data={"workspace_id": where.workspace_id or ""})
    return (NewMessage(role="system", parts=(notice,), visibility="model"),)


async def _check(run: Run, surroundings: Surroundings) -> tuple[NewMessage, ...]:
    if not wrote(run, run.chat.view):
        return ()
    checked = await run.chat.prepare(lambda: surroundings.check(run.where))
    if checked is None:
        return ()
    notice = Notice(code=CHECK, text=checked.text, data=msgspec.to_builtins(checked))
    visibility = "user" if checked.result == "passed" else "both"
    return (NewMessage(role="system", parts=(notice,), visibility=visibility),)


def wrote(run: Run, view: View) -> bool:
    """Whether a call of the step that is just over wrote files."""
    return run.surroundings is not None and any(
        call.state == "finished"
        and call.outcome == "succeeded"
        and not call.abandoned
        and (tool := run.tools.get(call.name)) is not None
        and tool.reach == "workspace"
        and tool.effect != "read"
        for call in view.calls
    )
