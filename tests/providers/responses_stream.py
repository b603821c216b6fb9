"""A scripted reply as the OpenAI responses format streams it."""

from collections.abc import Iterator
from typing import Any

import msgspec

from tests.providers.openai_stream import pieces
from tests.providers.replies import Call, Redacted, Refuse, Reply, RunCode, Say, Search, Think
from tests.providers.responses_rules import sealed

Object = dict[str, Any]
_STOPS = {"length": "max_output_tokens", "content_filter": "content_filter"}


def events(reply: Reply, model: str, number: int, prompt_tokens: int, store: bool) -> Iterator[bytes]:
    """The stream, event by event; the last one is the terminal one."""
    counted = 0

    def event(kind: str, fields: Object) -> bytes:
        nonlocal counted
        data = msgspec.json.encode({"type": kind, **fields, "sequence_number": counted})
        counted += 1
        return b"event: %b\ndata: %b\n\n" % (kind.encode(), data)

    frame = _response(number, model, store)
    yield event("response.created", {"response": frame})
    yield event("response.in_progress", {"response": frame})
    output: list[Object] = []
    for part in reply.content:
        for first, whole, middle in _items(part, reply, number, len(output)):
            index = len(output)
            place: Object = {"output_index": index, "item_id": whole["id"]}
            yield event("response.output_item.added", {"output_index": index, "item": first})
            for kind, fields in middle:
                yield event(kind, {**place, **fields})
            yield event("response.output_item.done", {"output_index": index, "item": whole})
            output.append(whole)
    cut = _STOPS.get(reply.stop or "")
    last: Object = {
        **frame,
        "output": output,
        "status": "incomplete" if cut else "completed",
        "incomplete_details": {"reason": cut} if cut else None,
        "usage": usage_of(reply, prompt_tokens),
    }
    yield event("response.incomplete" if cut else "response.completed", {"response": last})


def response_id(number: int) -> str:
    return f"resp_{number:06d}"


def _response(number: int, model: str, store: bool) -> Object:
    return {
        "id": response_id(number),
        "object": "response",
        "created_at": 1,
        "status": "in_progress",
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "model": model,
        "output": [],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "metadata": {},
        "temperature": 1.0,
        "top_p": 1.0,
        "store": store,
        "usage": None,
    }


def usage_of(reply: Reply, prompt_tokens: int) -> Object:
    counts: Object = {"input": prompt_tokens, "output": 8, **(reply.usage or {})}
    usage: Object = {
        "input_tokens": counts["input"],
        "input_tokens_details": {
            "cached_tokens": counts.get("cache_read", 0),
            "cache_write_tokens": counts.get("cache_write", 0),
        },
        "output_tokens": counts["output"],
        "output_tokens_details": {"reasoning_tokens": counts.get("reasoning", 0)},
    }
    if all(isinstance(counts[name], int) for name in ("input", "output")):
        usage["total_tokens"] = counts["input"] + counts["output"]
    return usage


_Event = tuple[str, Object]


def _items(
    part: object, reply: Reply, number: int, index: int
) -> Iterator[tuple[Object, Object, Iterator[_Event]]]:
    """Each item as it begins, as it is in the end, and what comes between."""
    own = f"{number}_{index}"
    match part:
        case Say(text):
            yield _message(f"msg_{own}", "output_text", text, reply.piece)
        case Refuse(text):
            yield _message(f"msg_{own}", "refusal", text, reply.piece)
        case Think(text):
            head: Object = {"type": "reasoning", "id": f"rs_{own}", "summary": []}
            summary = [{"type": "summary_text", "text": text}]
            whole = {**head, "summary": summary, "encrypted_content": sealed(text)}
            yield head, whole, _summary(text, reply.piece)
        case Redacted(data):
            head = {"type": "reasoning", "id": f"rs_{own}", "summary": []}
            yield head, {**head, "encrypted_content": sealed(data)}, iter(())
        case Call(name, given, call_id):
            arguments = given if isinstance(given, str) else msgspec.json.encode(given).decode()
            head = {
                "type": "function_call",
                "id": f"fc_{own}",
                "call_id": call_id or f"call_{own}",
                "name": name,
                "arguments": "",
                "status": "in_progress",
            }
            yield (
                head,
                {**head, "arguments": arguments, "status": "completed"},
                _arguments(arguments, reply.piece),
            )
        case Search(query, url, title):
            head = {"type": "web_search_call", "id": f"ws_{own}", "status": "in_progress", "action": {}}
            action = {"type": "search", "query": query, "queries": [query]}
            whole = {**head, "status": "completed", "action": action}
            searching: _Event = ("response.web_search_call.searching", {})
            yield head, whole, iter([searching])
            said, done, middle = _message(f"msg_{own}_s", "output_text", f"See {title}.", reply.piece)
            found = {"type": "url_citation", "url": url, "title": title, "start_index": 0, "end_index": 3}
            done["content"][0]["annotations"] = [found]
            cited = (
                "response.output_text.annotation.added",
                {"content_index": 0, "annotation_index": 0, "annotation": found},
            )
            yield said, done, iter([*middle, cited])
        case RunCode(code, output):
            head = {
                "type": "code_interpreter_call",
                "id": f"ci_{own}",
                "code": "",
                "container_id": "cntr_1",
                "outputs": None,
                "status": "in_progress",
            }
            logs = [{"type": "logs", "logs": output}]
            yield head, {**head, "code": code, "outputs": logs, "status": "completed"}, iter(())
        case _:
            raise TypeError(part)


def _message(own: str, kind: str, text: str, size: int) -> tuple[Object, Object, Iterator[_Event]]:
    head: Object = {"type": "message", "id": own, "role": "assistant", "content": [], "status": "in_progress"}
    chunk: Object = {"type": kind, "text": text, "annotations": []}
    if kind == "refusal":
        chunk = {"type": kind, "refusal": text}
    whole = {**head, "content": [chunk], "status": "completed"}
    empty = {**chunk, "text": ""} if kind == "output_text" else {**chunk, "refusal": ""}

    def middle() -> Iterator[_Event]:
        place: Object = {"content_index": 0}
        yield "response.content_part.added", {**place, "part": empty}
        for piece in pieces(text, size):
            yield f"response.{kind}.delta", {**place, "delta": piece, "logprobs": []}
        last: Object = {"refusal": text} if kind == "refusal" else {"text": text, "logprobs": []}
        yield f"response.{kind}.done", {**place, **last}
        yield "response.content_part.done", {**place, "part": chunk}

    return head, whole, middle()


def _summary(text: str, size: int) -> Iterator[_Event]:
    place: Object = {"summary_index": 0}
    part = {"type": "summary_text", "text": ""}
    yield "response.reasoning_summary_part.added", {**place, "part": part}
    for piece in pieces(text, size):
        yield "response.reasoning_summary_text.delta", {**place, "delta": piece}
    yield "response.reasoning_summary_text.done", {**place, "text": text}
    yield "response.reasoning_summary_part.done", {**place, "part": {**part, "text": text}}


def _arguments(arguments: str, size: int) -> Iterator[_Event]:
    for piece in pieces(arguments, size):
        yield "response.function_call_arguments.delta", {"delta": piece}
    yield "response.function_call_arguments.done", {"arguments": arguments}
