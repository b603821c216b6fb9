"""Synthetic results: what a model is told about a call that was cancelled, expired or lost, so that every
call in history has exactly one result."""

from collections.abc import Collection, Iterable, Sequence
from typing import Any, Literal, cast

import msgspec

from holdfast.chats.commands import Decide, Notify
from holdfast.chats.view import Call
from holdfast.core.ids import CallId
from holdfast.core.messages import Message
from holdfast.core.parts import File, Outcome, Part, Parts, Source, ToolCall, ToolResult
from holdfast.core.shapes import Json, encode_text

Ending = Literal["interrupted", "failed", "finished", "edited", "reconciled", "replaced"]

_WHY: dict[Ending, str] = {
    "interrupted": "the turn was interrupted",
    "failed": "the turn failed",
    "finished": "the turn ended",
    "edited": "an earlier message was edited",
    "reconciled": "the chat had to be repaired",
    "replaced": "the user sent another message instead",
}

# The source and key of the notice for a decision that came too late for the call's result.
LATE_DECISION = "uncertain_call"

EXPIRED = "Nobody answered before the deadline."
UNCERTAIN = (
    "The server stopped while this was running. It is not known whether it took effect: look at "
    "the current state before doing it again."
)
SKIPPED = "Skipped by the user. It is not known whether it took effect before the server stopped."
DONE = "The user confirmed that this was done."
FORKED = "Cancelled (forked): the chat was copied before this call was answered."
IMPORTED = "Cancelled (imported): the file has no result for this call."
NOT_RUN = "Cancelled, not run: the turn had reached its limit."
UNANSWERED = "No result was recorded for this call."


def result_of(call: Call, ending: Ending) -> ToolResult:
    """The result of an open call when its turn ends: the real one if there is one, else what happened."""
    if call.state == "finished" and call.outcome is not None:
        return real_result(call)
    outcome: Outcome = "cancelled"
    if call.state == "started":
        output = f"Cancelled while it was running because {_WHY[ending]}; it may have had effects."
    elif call.run and call.effect != "read":
        # It ran under a worker that died, and was about to run again or was waiting for a verdict.
        outcome = "uncertain"
        output = f"{UNCERTAIN} It was not run again because {_WHY[ending]}."
    else:
        output = f"Cancelled, not run, because {_WHY[ending]}."
    return ToolResult(
        call_id=call.call_id, name=call.name, output=output, outcome=outcome, started_at=call.started_at
    )


def real_result(call: Call) -> ToolResult:
    return ToolResult(
        call_id=call.call_id,
        name=call.name,
        output=call.output,
        outcome=call.outcome or "failed",
        diff=call.diff,
        truncated=call.truncated,
        started_at=call.started_at,
        finished_at=call.finished_at,
    )


def answers(calls: Sequence[Call], results: Sequence[ToolResult]) -> Parts:
    """The results of a step as they stand in its message, followed by the files and sources they show."""
    pairs = list(zip(calls, results, strict=True))
    files = (file for call, result in pairs for file in _files_shown(call, result))
    sources = (source for call, result in pairs for source in _sources_cited(call, result))
    return (*results, *files, *sources)


class _Cited(msgspec.Struct):
    sources: tuple[Source, ...] = ()


def _sources_cited(call: Call, result: ToolResult) -> tuple[Source, ...]:
    if "cites_sources" not in call.traits or result.outcome != "succeeded":
        return ()
    try:
        return msgspec.convert(result.output, _Cited).sources
    except msgspec.ValidationError:
        return ()  # somebody else answered for the tool


def _files_shown(call: Call, result: ToolResult) -> tuple[File, ...]:
    """The output is a file, or an object that lists some as `files`."""
    if "shows_file" not in call.traits or result.outcome != "succeeded":
        return ()
    shown = _listed(result.output)
    try:
        return msgspec.convert(shown, tuple[File, ...])
    except msgspec.ValidationError:
        return ()  # somebody else answered for the tool


def _listed(output: Json) -> Json:
    fields = cast(Any, output)
    return fields.get("files", [fields]) if isinstance(output, dict) else ()


def denied(note: str | None) -> str:
    return f"The user did not allow this: {note}" if note else "The user did not allow this."


def unanswered(parts: Iterable[Part], answered: Collection[CallId]) -> tuple[ToolCall, ...]:
    """The calls among these parts that need a result from us."""
    return tuple(
        [
            part
            for part in parts
            if isinstance(part, ToolCall) and not part.provider_executed and part.call_id not in answered
        ]
    )


def heal(messages: Sequence[Message], output: str) -> list[tuple[Message, tuple[ToolResult, ...]]]:
    """Each message of a history, with the results that its calls never got."""
    answered = {
        part.call_id
        for message in messages
        if not message.removed
        for part in message.parts
        if isinstance(part, ToolResult)
    }
    return [
        (
            message,
            tuple(
                ToolResult(call_id=call.call_id, name=call.name, output=output, outcome="cancelled")
                for call in unanswered(message.parts, answered)
            ),
        )
        for message in messages
    ]


def late_decision_notice(call: Call, decision: Decide) -> Notify | None:
    """The notice for a person's decision on an uncertain call that came after the model was told that nobody
    knows the outcome: too late for the call's one result. None when the decision does not apply to this
    call."""
    if call.outcome != "uncertain" or call.state != "answered":
        return None
    match decision.verdict:
        case "retry":
            text = f"{call.name} should be run again: repeat the call."
        case "done":
            text = f"{call.name} did take effect."
            if decision.output is not None:
                text += f" Its result: {encode_text(decision.output)}"
        case "skip":
            text = f"{call.name} should not be run again: continue without it."
        case "approve" | "deny":
            return None
    if decision.note:
        text += f" {decision.note}"
    return Notify(
        source=LATE_DECISION,
        key=f"{LATE_DECISION}:{call.call_id}",
        text=f"About call {call.call_id}, whose outcome was unknown, the user says: {text}",
        data={"call_id": call.call_id, "decision": decision.verdict},
        wake=True,
    )
