"""Spans from turns, steps and calls. Nothing is stored for them: those rows are the trace."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import cast

import msgspec
from msgspec.structs import replace

from holdfast.chats.view import Call
from holdfast.core.chats import Chat
from holdfast.core.checks import CHECK, Checked
from holdfast.core.events import LiveStep
from holdfast.core.hooks import HookRun
from holdfast.core.ids import CallId, ChatId, MessageId, StepId
from holdfast.core.messages import Message
from holdfast.core.parts import Notice, Text, ToolCall, ToolResult
from holdfast.core.segments import StepCache
from holdfast.core.shapes import Json, encode_text
from holdfast.core.spans import Span, SpanKind
from holdfast.core.steps import Step, Turn, TurnOutcome
from holdfast.core.titles import title_of
from holdfast.telemetry.cache import hit_rate

SHOWN = 2000


def spans(
    chat_id: ChatId,
    turns: Iterable[Turn],
    steps: Iterable[Step],
    calls: Iterable[Call],
    messages: Iterable[Message],
    hooks: Iterable[HookRun] = (),
    *,
    whole: bool = False,
) -> tuple[Span, ...]:
    """The trace of these turns, by turn and start. `messages` are theirs, because the texts are there. With
    `whole` nothing is cut."""
    steps = tuple(steps)
    said = {message.id: message for message in messages}
    inputs = {
        part.call_id: part.input
        for message in said.values()
        for part in message.parts
        if isinstance(part, ToolCall)
    }
    of_message = {step.message_id: step for step in steps if step.message_id is not None}
    outputs = {
        part.call_id: part.output
        for message in said.values()
        for part in message.parts
        if isinstance(part, ToolResult)
    }
    found = [_turn(chat_id, turn, said) for turn in turns]
    for step in steps:
        answer = said.get(step.message_id) if step.message_id else None
        if step.beside is not None:
            # A commit message is a summary too: of what was changed.
            kind = "title" if step.kind == "title" else "summary"
            found.append(_beside(chat_id, step, kind, step.beside))
        elif step.kind == "compaction":
            found.append(_compaction(chat_id, step, answer, outputs))
        else:
            found += _model_step(chat_id, step, answer)
    for call in calls:
        found.append(_call(chat_id, call, inputs, of_message, said.get(call.message_id)))
        if (agent_id := started_by(call)) is not None:
            found.append(_agent(chat_id, call, agent_id, inputs.get(call.call_id)))
    found += [span for message in said.values() if (span := _check(chat_id, message)) is not None]
    found += [_hook(chat_id, run) for run in hooks]
    found.sort(key=lambda span: (span.turn, span.started_at is None, span.started_at))
    return tuple(found) if whole else tuple(_cut(span) for span in found)


def under_way(live: LiveStep) -> tuple[Span, ...]:
    """The spans of a step that has not ended, with the ids they will have when it is stored."""
    begun = Step(
        id=StepId(""),
        turn=live.turn,
        number=live.number,
        kind=live.kind,
        model=live.model,
        attempts=live.episode.attempt,
        failures=live.failures,
        usage=live.usage,
        started_at=live.started_at,
        finished_at=live.started_at,
    )
    if live.kind == "compaction":
        found = [_compaction(live.chat_id, begun, None, {})]
    else:
        found = _model_step(live.chat_id, begun, None)
    return tuple(
        replace(span, finished_at=None, duration_ms=None, estimated=False, outcome=None) for span in found
    )


def turn_id(turn: int) -> str:
    return f"turn-{turn}"


def step_id(step: Step) -> str:
    return f"step-{step.turn}-{step.number}"


def call_span_id(call_id: CallId) -> str:
    return f"call-{call_id}"


def agent_span_id(agent_id: ChatId) -> str:
    return f"agent-{agent_id}"


def check_span_id(message: Message) -> str:
    return f"check-{message.turn}-{message.revision}"


def _turn(chat_id: ChatId, turn: Turn, said: Mapping[MessageId, Message]) -> Span:
    asked = said.get(turn.message_id) if turn.message_id else None
    return Span(
        id=turn_id(turn.number),
        parent_id=None,
        chat_id=chat_id,
        message_id=turn.message_id,
        turn=turn.number,
        kind="turn",
        name=turn.kind,
        input=_text(asked),
        started_at=turn.started_at,
        finished_at=turn.finished_at,
        duration_ms=_milliseconds(turn.started_at, turn.finished_at),
        estimated=_contradict(turn.started_at, turn.finished_at),
        outcome=turn.outcome,
        failure=turn.failure,
    )


def _model_step(chat_id: ChatId, step: Step, answer: Message | None) -> list[Span]:
    """The step and the model call in it."""
    whole = _step(chat_id, step, "step", f"step {step.number}")
    model_call = replace(
        whole,
        id=f"model-{step.turn}-{step.number}",
        parent_id=whole.id,
        kind="model_call",
        name=step.model or "model",
        input=_attempts(step),
        output=_text(answer),
        cache=_cache(step),
    )
    return [whole, model_call]


def _compaction(chat_id: ChatId, step: Step, answer: Message | None, outputs: Mapping[CallId, Json]) -> Span:
    """One span: the model call in it has nothing to show but the summary."""
    call = next((part for part in answer.parts if isinstance(part, ToolCall)), None) if answer else None
    return replace(
        _step(chat_id, step, "compaction", "compaction"),
        input=_attempts(step),
        output=outputs.get(call.call_id) if call else None,
        cache=_cache(step),
    )


def _beside(chat_id: ChatId, step: Step, kind: SpanKind, beside: str) -> Span:
    """What it came to is the chat's title or summary, or what a person was proposed."""
    return replace(
        _step(chat_id, step, kind, step.model or kind), id=f"{beside}-{step.turn}", cache=_cache(step)
    )


def _step(chat_id: ChatId, step: Step, kind: SpanKind, name: str) -> Span:
    return Span(
        id=step_id(step),
        parent_id=turn_id(step.turn),
        chat_id=chat_id,
        message_id=step.message_id,
        turn=step.turn,
        kind=kind,
        name=name,
        started_at=step.started_at,
        finished_at=step.finished_at,
        duration_ms=_milliseconds(step.started_at, step.finished_at),
        estimated=_contradict(step.started_at, step.finished_at),
        usage=step.usage,
        outcome=step.outcome,
        failure=step.failures[-1] if step.failures and step.outcome == "failed" else None,
    )


def _attempts(step: Step) -> Json:
    return {"attempts": step.attempts, "failures": [failure.kind for failure in step.failures]}


def _cache(step: Step) -> StepCache:
    """What was decided when the step was made; of an older one, what its usage says."""
    cache = step.cache
    if cache is not None:
        return cache
    usage = step.usage
    fresh = max(usage.input - usage.cache_read - usage.cache_write, 0)
    return StepCache(read=usage.cache_read, write=usage.cache_write, fresh=fresh, hit_rate=hit_rate(usage))


def _call(
    chat_id: ChatId,
    call: Call,
    inputs: Mapping[CallId, Json],
    of_message: Mapping[MessageId, Step],
    asked: Message | None,
) -> Span:
    step = of_message.get(call.message_id)
    return Span(
        id=call_span_id(call.call_id),
        parent_id=step_id(step) if step else turn_id(call.turn),
        chat_id=chat_id,
        message_id=call.message_id,
        turn=call.turn,
        kind="tool_call",
        name=call.name,
        input=inputs.get(call.call_id) if call.input is None else call.input,
        output=call.output,
        truncated=call.truncated,
        asked_at=None if asked is None else asked.created_at,
        started_at=call.started_at,
        finished_at=call.finished_at,
        duration_ms=_milliseconds(call.started_at, call.finished_at),
        # The end of a call with an unknown outcome is when somebody noticed.
        estimated=call.outcome == "uncertain" or _contradict(call.started_at, call.finished_at),
        diff=call.diff,
        outcome=call.outcome,
        approved_by=call.approval,
    )


def started_by(call: Call) -> ChatId | None:
    """The sub-agent that this call started."""
    output: Json = call.output
    if "starts_agent" not in call.traits or call.outcome != "succeeded" or not isinstance(output, dict):
        return None
    fields = cast(dict[str, Json], output)
    agent_id = fields.get("agent_id", fields.get("chat_id"))
    return ChatId(agent_id) if isinstance(agent_id, str) else None


def _agent(chat_id: ChatId, call: Call, agent_id: ChatId, asked: Json) -> Span:
    """Starts when it was started. Its progress is known from its own chat: see `with_agents`."""
    fields = cast(dict[str, Json], asked) if isinstance(asked, dict) else {}
    label, prompt = fields.get("label"), fields.get("prompt", fields.get("input"))
    return Span(
        id=agent_span_id(agent_id),
        parent_id=call_span_id(call.call_id),
        chat_id=chat_id,
        message_id=call.message_id,
        turn=call.turn,
        kind="agent",
        name=label if isinstance(label, str) and label else _named_by(prompt),
        input={"agent_id": agent_id, "prompt": prompt},
        started_at=call.started_at,
    )


def _named_by(prompt: Json) -> str:
    return (title_of(prompt) if isinstance(prompt, str) else "") or "agent"


def with_agents(found: Iterable[Span], agents: Iterable[Chat]) -> tuple[Span, ...]:
    """The same spans, with the progress of sub-agents filled in."""
    by_span = {agent_span_id(agent.id): agent for agent in agents}
    return tuple(
        span if (agent := by_span.get(span.id)) is None else _with_agent(span, agent) for span in found
    )


def _with_agent(span: Span, agent: Chat) -> Span:
    over = agent.status in ("idle", "error")
    finished_at = agent.updated_at if over else None
    return replace(
        span,
        output=agent.summary or None,
        usage=agent.usage,
        finished_at=finished_at,
        duration_ms=_milliseconds(span.started_at, finished_at),
        # Started by one chat, ended by another.
        estimated=_contradict(span.started_at, finished_at),
        outcome=_end_of(agent) if over else None,
        failure=agent.last_error,
    )


def _end_of(agent: Chat) -> TurnOutcome:
    if agent.status == "error":
        return "failed"
    return "finished" if agent.last_turn is None else agent.last_turn.outcome


def _check(chat_id: ChatId, message: Message) -> Span | None:
    told = next((part for part in message.parts if isinstance(part, Notice) and part.code == CHECK), None)
    if told is None:
        return None
    try:
        checked = msgspec.convert(told.data, Checked)
    except msgspec.ValidationError:
        return None  # of another version, or not ours
    return Span(
        id=check_span_id(message),
        parent_id=turn_id(message.turn),
        chat_id=chat_id,
        message_id=message.id,
        turn=message.turn,
        kind="check",
        name=checked.command,
        input={"command": checked.command},
        output={"exit_code": checked.exit_code, "output": checked.output},
        started_at=checked.started_at,
        finished_at=checked.finished_at,
        duration_ms=_milliseconds(checked.started_at, checked.finished_at),
        outcome=checked.result,
    )


def hook_span_id(run: HookRun) -> str:
    return f"hook-{run.id}"


def _hook(chat_id: ChatId, run: HookRun) -> Span:
    verdict = run.verdict
    wants = {
        "ruling": None if verdict.ruling == "none" else verdict.ruling,
        "reason": verdict.reason,
        "input": verdict.input,
        "context": verdict.context,
        "message": verdict.message,
        "failure": verdict.failure,
    }
    return Span(
        id=hook_span_id(run),
        parent_id=turn_id(run.turn) if run.call_id is None else call_span_id(run.call_id),
        chat_id=chat_id,
        turn=run.turn,
        kind="hook",
        name=f"{run.event}: {run.name}",
        input={"event": run.event, "hook": run.hook_id},
        output={
            **{name: value for name, value in wants.items() if value},
            "exit_code": run.exit_code,
            "output": run.output,
        },
        started_at=run.started_at,
        finished_at=run.finished_at,
        duration_ms=_milliseconds(run.started_at, run.finished_at),
        outcome=run.outcome,
    )


def _cut(span: Span) -> Span:
    shown_input, input_cut = _bounded(span.input)
    shown_output, output_cut = _bounded(span.output)
    diff_cut = span.diff is not None and len(span.diff) > SHOWN
    if not input_cut and not output_cut and not diff_cut:
        return span
    diff = None if span.diff is None else span.diff[:SHOWN]
    return replace(span, input=shown_input, output=shown_output, diff=diff, truncated=True)


def _bounded(value: Json) -> tuple[Json, bool]:
    text = value if isinstance(value, str) else encode_text(value)
    return (text[:SHOWN], True) if len(text) > SHOWN else (value, False)


def _text(message: Message | None) -> str | None:
    if message is None:
        return None
    return "\n".join(part.text for part in message.parts if isinstance(part, Text))


def _milliseconds(start: datetime | None, end: datetime | None) -> int | None:
    """Never negative, whatever the clocks said."""
    return None if start is None or end is None else max(round((end - start).total_seconds() * 1000), 0)


def _contradict(start: datetime | None, end: datetime | None) -> bool:
    """Whether the clocks of those who saw the start and the end cannot both be right: nothing takes no time
    at all."""
    return start is not None and end is not None and end <= start
