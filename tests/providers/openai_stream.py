"""A scripted reply as the OpenAI chat format streams it, with the habits of each family."""

from collections.abc import Iterator
from typing import Any

import msgspec

from tests.providers.replies import Call, Redacted, Refuse, Reply, RunCode, Say, Search, Think

Object = dict[str, Any]

DONE = b"data: [DONE]\n\n"


def events(family: str, reply: Reply, model: str, number: int, prompt_tokens: int) -> Iterator[bytes]:
    """The stream, event by event; the last one is the terminal one."""
    frame: Object = {
        "id": f"chatcmpl-{number}",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": model,
    }
    if family == "openrouter":
        yield b": OPENROUTER PROCESSING\n\n"
    yield _data({**frame, "choices": [_choice({"role": "assistant", "content": ""})]})
    for delta in _deltas(family, reply, number):
        yield _data({**frame, "choices": [_choice(delta)]})
    called = any(isinstance(part, Call) for part in reply.content)
    stop = reply.stop or ("tool_calls" if called else "stop")
    usage = usage_of(family, reply, prompt_tokens)
    last: Object = {**frame, "choices": [_choice({}, stop)]}
    if family == "groq":
        last["x_groq"] = {"id": "req_1", "usage": usage}
    if family in ("mistral", "deepseek"):
        last["usage"] = usage
    yield _data(last)
    if family not in ("mistral", "deepseek", "groq"):
        yield _data({**frame, "choices": [], "usage": usage})
    yield DONE


def usage_of(family: str, reply: Reply, prompt_tokens: int) -> Object:
    counts: Object = {"input": prompt_tokens, "output": _output_tokens(reply), **(reply.usage or {})}
    usage: Object = {"prompt_tokens": counts["input"], "completion_tokens": counts["output"]}
    if all(isinstance(counts[name], int) for name in ("input", "output")):
        usage["total_tokens"] = counts["input"] + counts["output"]
    if "cache_read" in counts:
        if family == "deepseek":
            usage["prompt_cache_hit_tokens"] = counts["cache_read"]
            usage["prompt_cache_miss_tokens"] = counts["input"] - counts["cache_read"]
        else:
            usage["prompt_tokens_details"] = {"cached_tokens": counts["cache_read"]}
    if "cache_write" in counts:
        usage.setdefault("prompt_tokens_details", {})["cache_write_tokens"] = counts["cache_write"]
    if "reasoning" in counts:
        usage["completion_tokens_details"] = {"reasoning_tokens": counts["reasoning"]}
    if family == "openrouter":
        usage["cost"] = 0.00125
    return usage


def _output_tokens(reply: Reply) -> int:
    return max(sum(len(getattr(part, "text", "")) for part in reply.content) // 4, 1)


def _deltas(family: str, reply: Reply, number: int) -> Iterator[Object]:
    index = 0
    for part in reply.content:
        match part:
            case Say(text):
                for piece in pieces(text, reply.piece):
                    yield {"content": [{"type": "text", "text": piece}] if family == "mistral" else piece}
            case Think(text):
                for piece in pieces(text, reply.piece):
                    yield _thought(family, piece)
                if family == "openrouter":
                    detail = {"type": "reasoning.text", "index": 0, "signature": f"sig-{len(text)}"}
                    yield {"reasoning_details": [detail]}
            case Redacted(data):
                if family == "openrouter":
                    yield {"reasoning_details": [{"type": "reasoning.encrypted", "index": 1, "data": data}]}
            case Call():
                yield from _call(family, part, reply, number, index)
                index += 1
            case Refuse(text):
                yield {"refusal": text}
            case Search(url=url, title=title):
                found = {"type": "url_citation", "url_citation": {"url": url, "title": title}}
                yield {"content": f"See {title}.", "annotations": [found]}
            case RunCode():
                pass


def _thought(family: str, piece: str) -> Object:
    match family:
        case "deepseek" | "vllm" | "llamacpp" | "compatible":
            return {"reasoning_content": piece, "content": None}
        case "openrouter":
            detail = {"type": "reasoning.text", "index": 0, "text": piece, "format": "anthropic-claude-v1"}
            return {"reasoning": piece, "reasoning_details": [detail]}
        case "mistral":
            return {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": piece}]}]}
        case _:
            return {"reasoning": piece}


def _call(family: str, call: Call, reply: Reply, number: int, index: int) -> Iterator[Object]:
    arguments = call.input if isinstance(call.input, str) else msgspec.json.encode(call.input).decode()
    call_id = call.id if call.id is not None else _new_id(family, number, index)
    if family == "ollama":
        # Whole calls, all under the index 0.
        whole = {
            "index": 0,
            "id": call_id,
            "type": "function",
            "function": {"name": call.name, "arguments": arguments},
        }
        yield {"tool_calls": [whole]}
        return
    head = {
        "index": index,
        "id": call_id,
        "type": "function",
        "function": {"name": call.name, "arguments": ""},
    }
    yield {"tool_calls": [head]}
    for piece in pieces(arguments, reply.piece):
        yield {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}


def _new_id(family: str, number: int, index: int) -> str:
    return f"{number:05d}{index:04d}" if family == "mistral" else f"call_{number}_{index}"


def pieces(text: str, size: int) -> Iterator[str]:
    for start in range(0, len(text), size):
        yield text[start : start + size]


def _choice(delta: Object, finish: str | None = None) -> Object:
    return {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}


def _data(chunk: Object) -> bytes:
    return b"data: " + msgspec.json.encode(chunk) + b"\n\n"
