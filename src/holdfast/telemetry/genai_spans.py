"""Turns, steps, calls and runs as spans of OpenTelemetry's conventions for generative AI. Pure: rows go in.
What was said is left out unless it is asked for."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Literal

from holdfast.chats.view import Call
from holdfast.core.flow_runs import FlowRun
from holdfast.core.ids import ChatId, MessageId
from holdfast.core.messages import Message
from holdfast.core.parts import Part, Reasoning, Text, ToolCall, ToolResult
from holdfast.core.runs import Run
from holdfast.core.shapes import Json, Record, encode_text
from holdfast.core.steps import Step, Turn
from holdfast.core.trace_parents import TraceParent, call_span, model_span, side_span
from holdfast.providers.redact import without_secrets
from holdfast.store.side_steps import FIRST_NUMBER
from holdfast.store.steps import Traced
from holdfast.telemetry.trace_context import SpanPlace

# Of one text in a span.
MOST_CHARACTERS = 20_000

Attribute = str | int | float | bool | tuple[str, ...]


class SpanEvent(Record, frozen=True, kw_only=True):
    name: str
    at: datetime
    attributes: Mapping[str, Attribute]


class ExportedSpan(Record, frozen=True, kw_only=True):
    name: str
    kind: Literal["internal", "client"]
    place: TraceParent
    parent: TraceParent | None
    started_at: datetime
    finished_at: datetime
    attributes: Mapping[str, Attribute]
    events: tuple[SpanEvent, ...] = ()
    # What went wrong, as a short code.
    error: str | None = None


class NamedModel(Record, frozen=True, kw_only=True):
    """A model as its provider calls it, and the provider as the conventions do."""

    model: str
    provider: str


class TracedAgent(Record, frozen=True, kw_only=True):
    """As whom the chat was started."""

    id: str
    name: str


# By the names that a step has of them.
FindModel = Callable[[str | None, str | None], NamedModel]

# Kinds of providers whose names in the conventions are others than ours.
_PROVIDERS = {
    "google": "gcp.gemini",
    "azure": "azure.ai.openai",
    "mistral": "mistral_ai",
    "bedrock": "aws.bedrock",
    "vertex": "gcp.vertex_ai",
    "xai": "x_ai",
}


def provider_named(kind: str) -> str:
    return _PROVIDERS.get(kind, kind)


def turn_spans(
    chat_id: ChatId,
    place: SpanPlace,
    rows: Traced,
    find_model: FindModel,
    *,
    agent: TracedAgent | None = None,
    content: bool = False,
    beside: bool = False,
) -> tuple[ExportedSpan, ...]:
    """Of one turn that is over; none of one that is not. `beside`: only the model calls after its end."""
    turn = rows.turns[0] if rows.turns else None
    if turn is None or turn.finished_at is None:
        return ()
    if beside:
        late = [step for step in rows.steps if step.number >= FIRST_NUMBER]
        return tuple(_step(chat_id, place, step, find_model, (), None, content=content) for step in late)
    said = {message.id: message for message in rows.messages}
    found = [_turn(chat_id, place, turn, rows, find_model, agent, content=content)]
    news = iter(rows.messages)
    for step in rows.steps:
        asked: list[Message] = []
        if content and step.message_id is not None:
            # What the model had not been shown by the step before.
            for message in news:
                if message.id == step.message_id:
                    break
                asked.append(message)
        answer = None if step.message_id is None else said.get(step.message_id)
        found.append(_step(chat_id, place, step, find_model, asked, answer, content=content))
    inputs = {
        part.call_id: part.input
        for message in rows.messages
        for part in message.parts
        if isinstance(part, ToolCall)
    }
    calls = [
        _call(chat_id, place, call, said, inputs.get(call.call_id), content=content) for call in rows.calls
    ]
    return (*found, *[span for span in calls if span is not None])


def run_span_of(run: Run | FlowRun, place: SpanPlace) -> ExportedSpan | None:
    if run.finished_at is None:
        return None
    return ExportedSpan(
        name=f"invoke_workflow {run.name}",
        kind="internal",
        place=place.span,
        parent=place.parent,
        started_at=run.started_at or run.created_at,
        finished_at=run.finished_at,
        attributes={
            "gen_ai.operation.name": "invoke_workflow",
            "gen_ai.workflow.name": run.name,
            "holdfast.run.id": run.id,
            "holdfast.run.kind": "workflow" if isinstance(run, Run) else "flow",
            "holdfast.run.status": run.status,
        },
        error=run.status if run.status in ("failed", "cancelled") else None,
    )


def _turn(
    chat_id: ChatId,
    place: SpanPlace,
    turn: Turn,
    rows: Traced,
    find_model: FindModel,
    agent: TracedAgent | None,
    *,
    content: bool,
) -> ExportedSpan:
    assert turn.finished_at is not None
    attributes: dict[str, Attribute] = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.conversation.id": chat_id,
        "holdfast.turn.number": turn.number,
        "holdfast.turn.kind": turn.kind,
    }
    if turn.outcome is not None:
        attributes["holdfast.turn.outcome"] = turn.outcome
    if agent is not None:
        attributes |= {"gen_ai.agent.name": agent.name, "gen_ai.agent.id": agent.id}
    if (last := next((step for step in reversed(rows.steps) if step.kind == "model"), None)) is not None:
        attributes |= _model_attributes(find_model(last.provider, last.model))
    if content:
        asked = [message for message in rows.messages if message.id == turn.message_id]
        answers = [message for message in rows.messages if message.role == "assistant" and _says(message)]
        attributes |= _content("gen_ai.input.messages", asked)
        attributes |= _content("gen_ai.output.messages", answers[-1:])
    failure = turn.failure
    error = None
    if turn.outcome == "failed":
        error = "failed" if failure is None else failure.kind
    return ExportedSpan(
        name="invoke_agent" if agent is None else f"invoke_agent {agent.name}",
        kind="internal",
        place=place.span,
        parent=place.parent,
        started_at=turn.started_at,
        finished_at=turn.finished_at,
        attributes=attributes,
        error=error,
    )


def _step(
    chat_id: ChatId,
    place: SpanPlace,
    step: Step,
    find_model: FindModel,
    asked: Sequence[Message],
    answer: Message | None,
    *,
    content: bool,
) -> ExportedSpan:
    model, usage = find_model(step.provider, step.model), step.usage
    attributes: dict[str, Attribute] = {
        "gen_ai.operation.name": "chat",
        "gen_ai.conversation.id": chat_id,
        **_model_attributes(model),
        "gen_ai.request.stream": True,
        "gen_ai.usage.input_tokens": usage.input,
        "gen_ai.usage.output_tokens": usage.output,
        "gen_ai.usage.cache_read.input_tokens": usage.cache_read,
        "gen_ai.usage.cache_creation.input_tokens": usage.cache_write,
        "gen_ai.usage.reasoning.output_tokens": usage.reasoning,
        "holdfast.step.kind": step.kind,
        "holdfast.step.attempts": step.attempts,
        "holdfast.step.outcome": step.outcome,
        "holdfast.usage.estimated": usage.estimated,
        "holdfast.usage.cost_usd_micros": usage.cost_usd_micros,
    }
    if step.response_id is not None:
        attributes["gen_ai.response.id"] = step.response_id
    if step.first_part_at is not None:
        waited = max((step.first_part_at - step.started_at).total_seconds(), 0.0)
        attributes["gen_ai.response.time_to_first_chunk"] = waited
    if step.cache is not None and step.cache.reason is not None:
        attributes["holdfast.cache.miss_reason"] = step.cache.reason
    if content:
        attributes |= _content("gen_ai.input.messages", asked)
        attributes |= _content("gen_ai.output.messages", () if answer is None else (answer,))
    of = (
        side_span(chat_id, step.turn, step.beside)
        if step.beside is not None
        else model_span(chat_id, step.turn, step.number)
    )
    failed = step.outcome == "failed"
    return ExportedSpan(
        name=f"chat {model.model}",
        kind="client",
        place=place.span.below(*of),
        parent=place.span,
        started_at=step.started_at,
        finished_at=max(step.finished_at, step.started_at),
        attributes=attributes,
        events=tuple(
            SpanEvent(
                name="holdfast.attempt_failed", at=step.started_at, attributes={"error.type": failure.kind}
            )
            for failure in step.failures
        ),
        error=(step.failures[-1].kind if step.failures else "failed") if failed else None,
    )


def _call(
    chat_id: ChatId,
    place: SpanPlace,
    call: Call,
    said: Mapping[MessageId, Message],
    call_input: Json,
    *,
    content: bool,
) -> ExportedSpan | None:
    asked = said.get(call.message_id)
    started_at = call.started_at or call.finished_at or (None if asked is None else asked.created_at)
    if started_at is None or call.outcome is None:
        return None
    attributes: dict[str, Attribute] = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.conversation.id": chat_id,
        "gen_ai.tool.name": call.name,
        "gen_ai.tool.call.id": call.call_id,
        "gen_ai.tool.type": "function",
        "holdfast.call.effect": call.effect,
        "holdfast.call.outcome": call.outcome,
    }
    if call.approval is not None:
        attributes["holdfast.call.approved_by"] = call.approval.by
    if content:
        attributes["gen_ai.tool.call.arguments"] = _bounded(call_input)
        attributes["gen_ai.tool.call.result"] = _bounded(call.output)
    return ExportedSpan(
        name=f"execute_tool {call.name}",
        kind="internal",
        place=place.span.below(*call_span(chat_id, call.call_id)),
        parent=place.span,
        started_at=started_at,
        finished_at=max(call.finished_at or started_at, started_at),
        attributes=attributes,
        error=None if call.outcome == "succeeded" else call.outcome,
    )


def _model_attributes(model: NamedModel) -> dict[str, Attribute]:
    return {"gen_ai.provider.name": model.provider, "gen_ai.request.model": model.model}


# --- what was said ---


def _says(message: Message) -> bool:
    return any(isinstance(part, Text) for part in message.parts)


def _content(name: str, messages: Iterable[Message]) -> dict[str, Attribute]:
    """In the form of the conventions: a list of messages as JSON."""
    shown = [
        {"role": message.role, "parts": parts}
        for message in messages
        if message.visibility != "user" and (parts := _parts(message.parts))
    ]
    return {name: encode_text(shown)} if shown else {}


def _parts(parts: Iterable[Part]) -> list[dict[str, Json]]:
    found: list[dict[str, Json]] = []
    for part in parts:
        match part:
            case Text():
                found.append({"type": "text", "content": _bounded(part.text)})
            case Reasoning():
                found.append({"type": "reasoning", "content": _bounded(part.text)})
            case ToolCall():
                found.append(
                    {
                        "type": "tool_call",
                        "id": part.call_id,
                        "name": part.name,
                        "arguments": _bounded(part.input),
                    }
                )
            case ToolResult():
                found.append(
                    {"type": "tool_call_response", "id": part.call_id, "response": _bounded(part.output)}
                )
            case _:
                pass
    return found


def _bounded(value: Json) -> str:
    text = value if isinstance(value, str) else encode_text(value)
    # A secret at the cut is looked for while it is still whole.
    return without_secrets(text[: MOST_CHARACTERS + 1000])[:MOST_CHARACTERS]
