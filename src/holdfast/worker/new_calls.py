"""Judges the calls of an answer before any is run: which tool, whether its input is valid, who must approve
it. A call that cannot run is answered at once with what the model should do instead. A pure function of the
answer and the rules."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Literal

from msgspec.structs import replace

from holdfast.chats.commands import NewCall
from holdfast.core.calls import Approval, Effect
from holdfast.core.chats import ClientTool
from holdfast.core.parts import Outcome, Part, ToolCall
from holdfast.core.shapes import Record
from holdfast.providers.input_repair import invalid_input
from holdfast.tools.approval import ALWAYS, ApprovalRules
from holdfast.tools.contract import Tool, ToolError
from holdfast.tools.modes import Mode, denied_text, forbidding
from holdfast.tools.registry import ToolRegistry

# A step with more calls than this is taken for a runaway model.
MOST_CALLS = 100


class Permitted(Record, frozen=True, kw_only=True):
    """The tools the chat may use, and how its calls are treated."""

    rules: ApprovalRules
    client_tools: Mapping[str, ClientTool]
    client_tool_seconds: float
    on_uncertain: Literal["tell", "ask"]
    # Exceptions for single tools.
    uncertain_tools: Mapping[str, Literal["tell", "ask"]] = {}


def new_calls(
    parts: Sequence[Part],
    tools: ToolRegistry,
    permitted: Permitted,
    now: datetime,
    modes: Sequence[Mode] = (),
) -> tuple[NewCall, ...]:
    """`modes`: those that bind the chat now. They are asked again when a call begins."""
    calls = [part for part in parts if isinstance(part, ToolCall) and not part.provider_executed]
    if len(calls) > MOST_CALLS:
        text = f"{len(calls)} calls in one step are too many. Nothing was run: make at most {MOST_CALLS}."
        return tuple(_answered(call, "failed", text) for call in calls)
    alone = next((call for call in calls if (tool := tools.get(call.name)) and tool.exclusive), None)
    if alone is not None and len(calls) > 1:
        text = f"{alone.name} must be the only call of a step. Nothing was run: call it alone, or without it."
        return tuple(_answered(call, "failed", text) for call in calls)
    return tuple(_judge(call, tools, permitted, now, modes) for call in calls)


def _judge(
    call: ToolCall, tools: ToolRegistry, permitted: Permitted, now: datetime, modes: Sequence[Mode]
) -> NewCall:
    tool = None if call.name in permitted.client_tools else tools.get(call.name)
    if tool is None and call.name not in permitted.client_tools:
        return _answered(call, "failed", tools.unknown(call.name))
    if (wrong := _unreadable(call)) is not None:
        return _answered(call, "failed", wrong)
    if (rule := permitted.rules.denial(call.name)) is not None:
        return _denied(call, rule, now)
    if (mode := forbidding(modes, call.name, tool, walled=permitted.rules.walled)) is not None:
        answer = _answered(call, "denied", denied_text(mode, call.name))
        return replace(answer, approval=Approval(by="rule", rule=f"mode = {mode.name}", at=now))
    if tool is None:
        return NewCall(
            call_id=call.call_id,
            name=call.name,
            waits_for="client_tool",
            deadline_seconds=permitted.client_tool_seconds,
        )
    try:
        parsed = tool.parse(call.input)
    except ToolError as error:
        return _answered(call, "failed", str(error))
    if tool.asks is not None:
        return NewCall(
            call_id=call.call_id,
            name=call.name,
            effect=tool.effect,
            reach=tool.reach,
            traits=tool.traits,
            source=tool.source,
            waits_for=tool.asks,
            deadline_seconds=tool.deadline_seconds,
        )
    return _permit(call, tool, tool.call_effect(parsed), permitted, now)


def _permit(call: ToolCall, tool: Tool, effect: Effect, permitted: Permitted, now: datetime) -> NewCall:
    verdict, rule = permitted.rules.judge(tool, call.input)
    if verdict == "deny":
        return _denied(call, rule, now)
    theirs = permitted.rules.rule_for(tool.name, call.input) if rule == ALWAYS else None
    by = None if theirs is None else theirs.user_id
    return NewCall(
        call_id=call.call_id,
        name=call.name,
        effect=effect,
        reach=tool.reach,
        traits=tool.traits,
        source=tool.source,
        on_uncertain=permitted.uncertain_tools.get(tool.name, permitted.on_uncertain),
        waits_for="approval" if verdict == "ask" else None,
        approval=Approval(by="rule", rule=rule, user_id=by, at=now) if verdict == "run" else None,
    )


def _denied(call: ToolCall, rule: str, now: datetime) -> NewCall:
    text = f"{call.name} is not allowed here. Do without it, or ask the user."
    return replace(_answered(call, "denied", text), approval=Approval(by="rule", rule=rule, at=now))


def _answered(call: ToolCall, outcome: Outcome, text: str) -> NewCall:
    return NewCall(call_id=call.call_id, name=call.name, effect="read", outcome=outcome, output=text)


def _unreadable(call: ToolCall) -> str | None:
    """Why the input is not JSON, if it is not; the model's own text is kept in its place."""
    if not isinstance(call.input, dict):
        return f"The input of {call.name} must be a JSON object."
    reason = invalid_input(call)
    if reason is not None:
        return f"The input of {call.name} could not be read: {reason}. Send the call again."
    return None
