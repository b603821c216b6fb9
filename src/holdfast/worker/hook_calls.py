"""Hooks around calls: they look at a call before anybody is asked, and are told when it has ended. What they
said is in the recorded runs: after a crash none is repeated, and no call runs that one refused."""

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from holdfast.chats.commands import FinishTurn, JudgeCalls, NewCall, NewMessage
from holdfast.chats.view import Call, View
from holdfast.core.calls import STRUCTURED_OUTPUT, Approval
from holdfast.core.hooks import HookRun
from holdfast.core.parts import Part, ToolCall
from holdfast.core.shapes import Json
from holdfast.prompt.notices import hook_says, hook_stopped
from holdfast.store import hook_runs
from holdfast.tools.hooks.definitions import Hook
from holdfast.tools.hooks.hooks import KnownHooks
from holdfast.tools.hooks.inputs import Occasion, parts_of
from holdfast.worker.active_turn import ActiveTurn
from holdfast.worker.hook_runs import HooksSaid, ask, call_key, deciding, has_hooks, place_of, wanted
from holdfast.worker.new_calls import new_calls

CHANGED_HOOKS = "Trusted hooks of this workspace were changed or removed, and nobody has decided on that yet."


async def held_for_hooks(
    turn: ActiveTurn, calls: Sequence[NewCall], parts: Sequence[Part]
) -> tuple[NewCall, ...]:
    """The calls of an answer; those that a hook looks at wait for it."""
    if not calls or not has_hooks(turn):
        return tuple(calls)
    known = await _guarding(turn)
    inputs = {part.call_id: part.input for part in parts if isinstance(part, ToolCall)}
    return tuple(
        replace(call, waits_for="hook", approval=None, deadline_seconds=None)
        if call.outcome is None
        and call.name != STRUCTURED_OUTPUT
        and (known.unsettled or wanted(known.hooks, _before(turn, call, inputs.get(call.call_id))))
        else call
        for call in calls
    )


async def judge_calls(turn: ActiveTurn) -> None:
    waiting = [call for call in turn.chat.view.calls if call.waits_for == "hook" and not call.abandoned]
    asked = (await turn.chat.history()).calls
    known = await _guarding(turn)
    said: list[HooksSaid] = []
    for call in waiting:
        one = await ask(turn, known.hooks, _before(turn, call, asked[call.call_id].input))
        if known.unsettled and one.ruling in ("none", "allow"):
            one = replace(one, ruling="ask", reason=CHANGED_HOOKS, name="")
        said.append(one)
    await turn.hear_decisions()
    modes = await turn.binding_modes()
    judged: list[NewCall] = []
    for call, one in zip(waiting, said, strict=True):
        part = asked[call.call_id]
        part = part if one.input is None else replace(part, input=one.input)
        (anew,) = new_calls((part,), turn.setup.tools, turn.setup.permitted, turn.clock.now(), modes)
        judged.append(_ruled(turn, replace(anew, input=one.input), one))
    stopped = next((one for one in said if one.stop is not None), None)
    ends = (
        () if stopped is None else (FinishTurn(notice=hook_stopped(stopped.stop or "", name=stopped.name)),)
    )
    await turn.chat.commit(JudgeCalls(calls=tuple(judged)), *ends)


def _ruled(turn: ActiveTurn, call: NewCall, said: HooksSaid) -> NewCall:
    """What the rules say of a call, with what hooks want. A rule that denies wins over a hook that allows."""
    if call.outcome is not None:
        return call
    rule = Approval(by="rule", rule=f"hook: {said.name}", note=said.reason or None, at=turn.clock.now())
    tool = turn.setup.tools.get(call.name)
    match said.ruling:
        case "deny":
            output = f"A hook did not allow this: {said.reason}"
            return replace(call, outcome="denied", output=output, approval=rule, waits_for=None)
        case "allow" if call.waits_for == "approval" and tool is not None and not tool.always_asks:
            return replace(call, waits_for=None, approval=rule)
        case "ask" if call.waits_for is None and tool is not None:
            return replace(call, waits_for="approval", approval=None)
        case _:
            return call


async def _guarding(turn: ActiveTurn) -> KnownHooks:
    hooks = turn.resources.hooks
    if hooks is None or hooks.is_empty():
        return KnownHooks()
    return await turn.chat.prepare(lambda: hooks.guarding(place_of(turn)))


def _before(turn: ActiveTurn, call: Call | NewCall, call_input: Json) -> Occasion:
    chat = turn.chat.view.chat
    return Occasion(
        event="pre_tool",
        key=f"pre_tool:{call.call_id}",
        chat_id=chat.id,
        turn=chat.turn,
        mode=chat.mode,
        call_id=call.call_id,
        tool=call.name,
        input=call_input,
    )


# --- after calls ---


def ended_calls(view: View) -> list[Call]:
    """Those of the newest step that really ran and have ended."""
    return [call for call in view.calls if call.state == "finished" and call.run and not call.abandoned]


def _after(turn: ActiveTurn, call: Call, call_input: Json) -> Occasion:
    return replace(
        _before(turn, call, call_input if call.input is None else call.input),
        event="post_tool",
        key=call_key(call, "post_tool"),
        output=call.output,
        outcome=call.outcome,
    )


async def after_calls(turn: ActiveTurn) -> None:
    hooks = await deciding(turn, "post_tool")
    asked = (await turn.chat.history()).calls
    for call in ended_calls(turn.chat.view):
        said = await ask(turn, hooks, _after(turn, call, asked[call.call_id].input))
        if said.stop is not None:
            return


async def untold(turn: ActiveTurn, view: View, hooks: Sequence[Hook], runs: Sequence[HookRun]) -> bool:
    """Whether a hook is still to be told of a call that ended."""
    answered = {(run.key, run.hook_id, run.part) for run in runs}
    asked = (await turn.chat.history()).calls
    for call in ended_calls(view):
        occasion = _after(turn, call, asked[call.call_id].input)
        for hook in wanted(hooks, occasion):
            for part in parts_of(occasion, hook.dialect):
                if (occasion.key, hook.id, part.part) not in answered:
                    return True
    return False


def of_calls(view: View, runs: Iterable[HookRun]) -> list[HookRun]:
    """The runs about calls whose results are not in history yet."""
    waiting = {call.call_id for call in view.calls if not call.abandoned}
    return [run for run in runs if run.call_id in waiting]


async def notes(turn: ActiveTurn, view: View) -> tuple[NewMessage, ...]:
    """What hooks have to say about the calls whose results enter history next, and about the user's words."""
    if not has_hooks(turn):
        return ()
    chat = view.chat
    runs = await turn.chat.read(hook_runs.of_turns(chat.id, chat.turn, chat.turn))
    history = await turn.chat.history()
    about_prompts = [run for run in runs if run.event == "user_prompt" and run.key not in history.hook_keys]
    return tuple(
        NewMessage(role="system", parts=(hook_says(run.verdict.context, name=run.name, key=run.key),))
        for run in (*about_prompts, *of_calls(view, runs))
        if run.verdict.context
    )
