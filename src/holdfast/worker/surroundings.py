"""What the workspace contributes to history before a model call: its instructions, once per workspace and
again after a summary has hidden them; and the result of its check after a step that wrote files. The model is
only told about failures; people also see that a check passed."""

import msgspec

from holdfast.chats.commands import NewMessage
from holdfast.chats.view import View
from holdfast.core.checks import CHECK
from holdfast.core.errors import CannotRun
from holdfast.core.parts import Notice
from holdfast.core.shapes import Json
from holdfast.prompt.modes import mode_notice
from holdfast.prompt.notices import INSTRUCTIONS, INSTRUCTIONS_RENEWED
from holdfast.prompt.sources import PromptChat
from holdfast.prompt.workspace import NO_INSTRUCTIONS
from holdfast.tools.modes import Mode, find_mode, is_read_only
from holdfast.worker.active_turn import ActiveTurn
from holdfast.worker.hook_calls import notes
from holdfast.worker.resources import Surroundings


async def said(turn: ActiveTurn) -> tuple[NewMessage, ...]:
    """The messages to commit before the next model call: notes of hooks, a changed mode, the instructions of
    the workspace, the result of its check."""
    surroundings = turn.resources.surroundings
    found: list[NewMessage] = [*await notes(turn, turn.chat.view), *await _mode(turn)]
    if surroundings is None:
        return tuple(found)
    for messages in BEFORE_MODEL_CALL:
        found += await messages(turn, surroundings)
    return tuple(found)


async def _mode(turn: ActiveTurn) -> tuple[NewMessage, ...]:
    """A notice that names the mode, if it differs from the one the model was last told of. If several modes
    apply, it names the strictest."""
    await turn.binding_modes()
    if not await mode_is_news(turn):
        return ()
    mode = _strictest(turn)
    return (NewMessage(role="system", parts=(mode_notice(mode.name, mode.instructions),)),)


async def mode_is_news(turn: ActiveTurn) -> bool:
    return (await turn.chat.history()).mode_told != _strictest(turn).name


def _strictest(turn: ActiveTurn) -> Mode:
    """The mode to name. For a sub-agent: of its own mode and those of the chats above it, the one that allows
    least."""
    modes = turn.known_modes or (find_mode(turn.chat.view.chat.mode, turn.settings.modes),)
    if not turn.chat.view.chat.is_agent:
        modes = (find_mode(turn.chat.view.chat.mode, turn.settings.modes),)
    return max(modes, key=lambda mode: ("everything", "named", "planning", "reading").index(mode.allows))


async def _instructions(turn: ActiveTurn, surroundings: Surroundings) -> tuple[NewMessage, ...]:
    where = turn.where
    history = await turn.chat.history()
    if history.instructed_for == (where.workspace_id or "") and not await renewal_is_due(turn):
        return ()
    return await turn.chat.prepare(lambda: instructions_of(where, surroundings))


async def renewal_is_due(turn: ActiveTurn) -> bool:
    """Whether a person wants the instructions as they are now, and no message has them yet."""
    history = await turn.chat.history()
    return history.renewing or any(
        notice.source == INSTRUCTIONS_RENEWED and history.is_replaced(notice.data)
        for notice in turn.chat.view.inbox
    )


async def instructions_of(where: PromptChat, surroundings: Surroundings) -> tuple[NewMessage, ...]:
    """The instructions of the workspace, for a chat that has not been given them yet."""
    found = await surroundings.instructions(where)
    if not found.text and where.workspace_id is None:
        return ()
    data: Json = {"workspace_id": where.workspace_id or ""}
    if found.text:
        data["sources"] = msgspec.to_builtins(found.told)
    notice = Notice(code=INSTRUCTIONS, text=found.text or NO_INSTRUCTIONS, data=data)
    return (NewMessage(role="system", parts=(notice,), visibility="model"),)


async def _check(turn: ActiveTurn, surroundings: Surroundings) -> tuple[NewMessage, ...]:
    if not turn.setup.may_check or not wrote(turn, turn.chat.view) or is_read_only(turn.known_modes):
        return ()
    # It runs a command, which is an effect like that of a call.
    await turn.chat.ready()
    try:
        checked = await turn.chat.prepare(
            lambda: surroundings.check(turn.where, turn.chat.lease.until_fresh_in_thread)
        )
    except CannotRun:
        # If the lease ended meanwhile, that is the cause, and the turn is left to the next owner.
        await turn.chat.ready()
        raise
    if checked is None:
        return ()
    notice = Notice(code=CHECK, text=checked.text, data=msgspec.to_builtins(checked))
    visibility = "user" if checked.result == "passed" else "both"
    return (NewMessage(role="system", parts=(notice,), visibility=visibility),)


def wrote(turn: ActiveTurn, view: View) -> bool:
    """Whether a call of the step that just ended wrote files."""
    return turn.resources.surroundings is not None and any(
        call.state == "finished"
        and call.outcome == "succeeded"
        and not call.abandoned
        and "writes" in call.traits
        for call in view.calls
    )


def moved(view: View) -> bool:
    """Whether a call of the step that just ended may have led the chat to another workspace."""
    return any(
        call.state == "finished" and call.outcome == "succeeded" and "moves_chat" in call.traits
        for call in view.calls
    )


# What is added before a model call, in the order in which it enters history.
BEFORE_MODEL_CALL = (_instructions, _check)
