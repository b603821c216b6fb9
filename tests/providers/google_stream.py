"""A scripted reply as Google's generateContent format streams it."""

from collections.abc import Iterator
from typing import Any

import msgspec

from tests.providers.anthropic_rules import signature_of
from tests.providers.openai_stream import pieces
from tests.providers.replies import Call, Redacted, Refuse, Reply, RunCode, Say, Search, Think

Object = dict[str, Any]
_STOPS = {"length": "MAX_TOKENS", "content_filter": "SAFETY"}


def events(reply: Reply, model: str, number: int, prompt_tokens: int) -> Iterator[bytes]:
    """The stream, event by event; the last one says why it ended."""
    usage = usage_of(reply, prompt_tokens)
    frame: Object = {"modelVersion": model, "responseId": f"resp-{number}"}
    thought = "".join(part.text for part in reply.content if isinstance(part, Think))
    grounding: Object = {}
    signed = False
    for part in reply.content:
        for shown in _parts(part, reply, thought, first_call=not signed):
            signed = signed or "functionCall" in shown
            yield _event({**frame, "candidates": [_candidate([shown])], "usageMetadata": usage})
        if isinstance(part, Search):
            grounding = {
                "webSearchQueries": [part.query],
                "groundingChunks": [{"web": {"uri": part.url, "title": part.title}}],
            }
    stop = reply.stop or "STOP"
    # The signature of what was thought comes last, with an empty text, when no call carried it.
    last: list[Object] = [{"text": ""}]
    if thought and not signed:
        last = [{"text": "", "thoughtSignature": signature_of(thought)}]
    ending: Object = {**_candidate(last), "finishReason": _STOPS.get(stop, stop)}
    if grounding:
        ending["groundingMetadata"] = grounding
    yield _event({**frame, "candidates": [ending], "usageMetadata": usage})


def usage_of(reply: Reply, prompt_tokens: int) -> Object:
    """Our words to theirs: their output leaves the thoughts out."""
    counts: Object = {"input": prompt_tokens, "output": 8, **(reply.usage or {})}
    written = counts["output"]
    if isinstance(written, int) and isinstance(counts.get("reasoning", 0), int):
        written -= counts.get("reasoning", 0)
    usage: Object = {"promptTokenCount": counts["input"], "candidatesTokenCount": written}
    if "reasoning" in counts:
        usage["thoughtsTokenCount"] = counts["reasoning"]
    if "cache_read" in counts:
        usage["cachedContentTokenCount"] = counts["cache_read"]
    if all(isinstance(counts[name], int) for name in ("input", "output")):
        usage["totalTokenCount"] = counts["input"] + counts["output"]
    return usage


def _parts(part: object, reply: Reply, thought: str, *, first_call: bool) -> Iterator[Object]:
    match part:
        case Say(text) | Refuse(text):
            for piece in pieces(text, reply.piece):
                yield {"text": piece}
        case Think(text):
            for piece in pieces(text, reply.piece):
                yield {"text": piece, "thought": True}
        case Redacted():
            pass
        case Call(name, given, call_id):
            call: Object = {"name": name, "args": given}
            if call_id is not None:
                call["id"] = call_id
            signature = {"thoughtSignature": signature_of(thought)} if first_call else {}
            yield {"functionCall": call, **signature}
        case Search(title=title):
            yield {"text": f"See {title}."}
        case RunCode(code, output):
            yield {"executableCode": {"language": "PYTHON", "code": code}}
            yield {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": output}}
        case _:
            raise TypeError(part)


def _candidate(parts: list[Object]) -> Object:
    return {"content": {"role": "model", "parts": parts}, "index": 0}


def _event(chunk: Object) -> bytes:
    return b"data: " + msgspec.json.encode(chunk) + b"\r\n\r\n"
