"""A scripted reply as the Anthropic messages format streams it."""

from collections.abc import Iterator
from typing import Any

import msgspec

from tests.providers.anthropic_rules import signature_of
from tests.providers.openai_stream import pieces
from tests.providers.replies import Call, Redacted, Refuse, Reply, RunCode, Say, Search, Think

Object = dict[str, Any]


def events(reply: Reply, model: str, number: int, prompt_tokens: int) -> Iterator[bytes]:
    """The stream, event by event; the last one is the terminal one."""
    usage = _usage(reply, prompt_tokens)
    message: Object = {
        "id": f"msg_{number}",
        "type": "message",
        "role": "assistant",
        "content": [],
        "model": model,
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {**usage, "output_tokens": 1},
    }
    yield _event("message_start", {"message": message})
    yield _event("ping", {})
    index = 0
    for part in reply.content:
        for block, deltas in _blocks(part, reply, number, index):
            yield _event("content_block_start", {"index": index, "content_block": block})
            for delta in deltas:
                yield _event("content_block_delta", {"index": index, "delta": delta})
            yield _event("content_block_stop", {"index": index})
            index += 1
    called = any(isinstance(part, Call) for part in reply.content)
    stop = reply.stop or ("tool_use" if called else "end_turn")
    yield _event("message_delta", {"delta": {"stop_reason": stop, "stop_sequence": None}, "usage": usage})
    yield _event("message_stop", {})


def _usage(reply: Reply, prompt_tokens: int) -> Object:
    """Our words to theirs: their input leaves out what the cache served or took."""
    counts: Object = {
        "input": prompt_tokens,
        "output": 8,
        "cache_read": 0,
        "cache_write": 0,
        **(reply.usage or {}),
    }
    plain = counts["input"]
    if all(isinstance(counts[name], int) for name in ("input", "cache_read", "cache_write")):
        plain = counts["input"] - counts["cache_read"] - counts["cache_write"]
    usage: Object = {
        "input_tokens": plain,
        "cache_read_input_tokens": counts["cache_read"],
        "cache_creation_input_tokens": counts["cache_write"],
        "output_tokens": counts["output"],
    }
    if "reasoning" in counts:
        usage["output_tokens_details"] = {"thinking_tokens": counts["reasoning"]}
    return usage


def _blocks(part: object, reply: Reply, number: int, index: int) -> Iterator[tuple[Object, Iterator[Object]]]:
    match part:
        case Say(text) | Refuse(text):
            deltas = ({"type": "text_delta", "text": piece} for piece in pieces(text, reply.piece))
            yield {"type": "text", "text": ""}, deltas
        case Think(text):
            yield {"type": "thinking", "thinking": "", "signature": ""}, _thinking(text, reply.piece)
        case Redacted(data):
            yield {"type": "redacted_thinking", "data": data}, iter(())
        case Call(name, given, call_id):
            arguments = given if isinstance(given, str) else msgspec.json.encode(given).decode()
            block: Object = {
                "type": "tool_use",
                "id": call_id or f"toolu_{number}_{index}",
                "name": name,
                "input": {},
            }
            deltas = (
                {"type": "input_json_delta", "partial_json": piece}
                for piece in pieces(arguments, reply.piece)
            )
            yield block, deltas
        case Search(query, url, title):
            used = f"srvtoolu_{number}_{index}"
            text = msgspec.json.encode({"query": query}).decode()
            found = {"type": "web_search_result", "url": url, "title": title, "encrypted_content": "c"}
            yield (
                {"type": "server_tool_use", "id": used, "name": "web_search", "input": {}},
                iter([{"type": "input_json_delta", "partial_json": text}]),
            )
            yield {"type": "web_search_tool_result", "tool_use_id": used, "content": [found]}, iter(())
        case RunCode(code, output):
            used = f"srvtoolu_{number}_{index}"
            result = {"type": "code_execution_result", "stdout": output, "stderr": "", "return_code": 0}
            yield (
                {"type": "server_tool_use", "id": used, "name": "code_execution", "input": {"code": code}},
                iter(()),
            )
            yield (
                {
                    "type": "code_execution_tool_result",
                    "tool_use_id": used,
                    "content": {**result, "content": []},
                },
                iter(()),
            )
        case _:
            raise TypeError(part)


def _thinking(text: str, size: int) -> Iterator[Object]:
    for piece in pieces(text, size):
        yield {"type": "thinking_delta", "thinking": piece}
    yield {"type": "signature_delta", "signature": signature_of(text)}


def _event(kind: str, fields: Object) -> bytes:
    return b"event: %b\ndata: %b\n\n" % (kind.encode(), msgspec.json.encode({"type": kind, **fields}))
