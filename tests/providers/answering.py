"""How the scripted provider answers: a reply as its format streams it, or the failure that was asked for."""

from collections.abc import Iterator
from typing import Literal

import msgspec

from tests.providers import anthropic_stream, google_stream, openai_stream, responses_stream
from tests.providers.openai_rules import Object
from tests.providers.replies import (
    BadUtf8,
    Dribble,
    Drop,
    ErrorEvent,
    Garbage,
    Hang,
    KeepAlives,
    NoEnd,
    Page,
    Raw,
    Reply,
    Stall,
    Status,
)
from tests.providers.wire import Connection

Outcome = Literal["answered", "refused", "failed", "gone", "open"]
PAGE = b"<!DOCTYPE html><html><head><title>Welcome</title></head><body>Nothing to see here.</body></html>"
_FOREVER_SECONDS = 3600.0


class Asked(msgspec.Struct, kw_only=True):
    """One request, as it came. `gone`: the client closed the connection before the answer was over."""

    number: int
    at: float
    format: str
    family: str
    model: str
    body: Object
    headers: dict[str, str]
    raw: bytes
    path: str = ""
    outcome: Outcome = "open"
    refusal: str | None = None
    finished_at: float | None = None


async def answer(connection: Connection, asked: Asked, reply: Reply, delay_seconds: float) -> None:
    fault = reply.fault
    await connection.pause(reply.first_delay_seconds)
    match fault:
        case Status():
            body = fault.body.encode() if fault.body is not None else _error_body(asked.format, fault.status)
            await connection.answer(fault.status, body, fault.headers)
            return
        case Page():
            await connection.answer(fault.status, PAGE, {"Content-Type": "text/html"})
            return
        case Drop(after=0, reset=True):
            connection.reset()
            return
        case Hang(after_headers=False):
            await connection.pause(_FOREVER_SECONDS)
        case _:
            pass
    await connection.begin_stream()
    await _stream(connection, asked, reply, delay_seconds)


async def _stream(connection: Connection, asked: Asked, reply: Reply, delay_seconds: float) -> None:
    events = _events(asked, reply)
    match reply.fault:
        case Hang():
            await connection.pause(_FOREVER_SECONDS)
        case KeepAlives(seconds):
            while True:
                await connection.send(b": keep-alive\n\n")
                await connection.pause(seconds)
        case Dribble(seconds):
            for byte in b"".join(events):
                await connection.send(bytes([byte]))
                await connection.pause(seconds)
        case Stall(after=after):
            whole = list(events)
            await connection.send(b"".join(whole[: max(int(len(whole) * after), 1)]))
            await connection.pause(_FOREVER_SECONDS)
        case Raw(text):
            await connection.send(text.encode("utf-8", "surrogateescape"))
        case Drop(after=after, reset=reset):
            whole = b"".join(events)
            await connection.send(whole[: int(len(whole) * after)])
            await connection.pause(0.02)
            connection.reset() if reset else connection.close()
            return
        case ErrorEvent():
            whole = list(events)
            await connection.send(b"".join(whole[: max(int(len(whole) * reply.fault.after), 1)]))
            await connection.send(_error_event(asked.format, reply.fault))
        case NoEnd():
            # Neither the terminal event nor the one that says why it stopped.
            for event in [event for event in events if not _is_ending(event)]:
                await connection.send(event)
        case Garbage():
            await connection.send(next(events) + b"data: {this is no JSON\n\n")
        case _:
            await _paced(connection, events, delay_seconds)
    await connection.end_stream()


async def _paced(connection: Connection, events: Iterator[bytes], delay_seconds: float) -> None:
    if not delay_seconds:
        await connection.send(b"".join(events))
        return
    for event in events:
        await connection.send(event)
        await connection.pause(delay_seconds)


def _events(asked: Asked, reply: Reply) -> Iterator[bytes]:
    tokens = len(asked.raw) // 4
    if asked.format == "anthropic":
        events = anthropic_stream.events(reply, asked.model, asked.number, tokens)
    elif asked.format == "responses":
        store = asked.body.get("store", True)
        events = responses_stream.events(reply, asked.model, asked.number, tokens, store)
    elif asked.format == "google":
        events = google_stream.events(reply, asked.model, asked.number, tokens)
    else:
        events = openai_stream.events(asked.family, reply, asked.model, asked.number, tokens)
    if isinstance(reply.fault, BadUtf8):
        return (event.replace(b"e", b"\xff", 0) if b'"usage"' in event else _spoil(event) for event in events)
    return events


def _spoil(event: bytes) -> bytes:
    """A byte that is no UTF-8 in the first text of the event."""
    for field in (b'"content":"', b'"text":"', b'"delta":"'):
        before, found, after = event.partition(field)
        if found and not after.startswith(b'"'):
            return before + found + b"\xff" + after
    return event


def _is_ending(event: bytes) -> bool:
    signs = (
        b"[DONE]",
        b"message_stop",
        b"message_delta",
        b'_reason":"',
        b"response.completed",
        b"finishReason",
    )
    return any(sign in event for sign in signs)


_KINDS = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: "api_error",
    504: "timeout_error",
    529: "overloaded_error",
}


def _error_body(wire: str, status: int) -> bytes:
    kind = _KINDS.get(status, "server_error" if status >= 500 else "invalid_request_error")
    if wire == "google":
        inner = {"code": status, "message": f"scripted failure {status}", "status": kind.upper()}
        return msgspec.json.encode({"error": inner})
    error = {"type": kind, "message": f"scripted failure {status}"}
    return msgspec.json.encode({"type": "error", "error": error} if wire == "anthropic" else {"error": error})


def _error_event(wire: str, fault: ErrorEvent) -> bytes:
    error = {"type": fault.error_type, "message": fault.message}
    if wire == "anthropic":
        return b"event: error\ndata: " + msgspec.json.encode({"type": "error", "error": error}) + b"\n\n"
    if wire == "responses":
        event = {"type": "error", "code": fault.error_type, "message": fault.message, "param": None}
        return b"event: error\ndata: " + msgspec.json.encode({**event, "sequence_number": 9}) + b"\n\n"
    return b"data: " + msgspec.json.encode({"error": error}) + b"\n\n"
