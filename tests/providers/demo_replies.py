"""The demo model's language, answered over HTTP: a test writes its script into the message and needs no other
channel to a server in another process."""

from collections.abc import Sequence

from holdfast.core.ids import CallId
from holdfast.core.parts import ToolResult
from holdfast.providers import demo_script as demo
from tests.providers.openai_rules import Object
from tests.providers.replies import Call, Content, Reply, Say, Status, Think

_STATUSES = {
    "overloaded": 529,
    "rate_limit": 429,
    "timeout": 504,
    "server": 500,
    "auth": 401,
    "usage_limit": 402,
    "context_overflow": 413,
}
_STOPS = {"length": ("length", "max_tokens"), "content_filter": ("content_filter", "refusal")}


def reply_for(said: str, answered: int, attempt: int, body: Object) -> Reply:
    script = demo.answers(demo.parse_script(said))
    if not script:
        return Reply(content=(Say(f"You said: {said}"[:500]),))
    if answered >= len(script):
        return Reply(content=(Say("The script is done."),))
    anthropic = "max_tokens" in body and "stream_options" not in body
    results = _results(body)
    content: list[Content] = []
    more: dict[str, object] = {}
    for step in script[answered]:
        match step:
            case demo.Say():
                text = demo.fill_in(step.text, results)
                content.append(Think(text) if step.reasoning else Say(text))
                if step.slowly:
                    more["delay_seconds"] = more.get("delay_seconds", 0.1)
            case demo.ScriptedWait(seconds=seconds):
                more["first_delay_seconds"] = seconds
            case demo.Pace(seconds=seconds):
                more["delay_seconds"] = seconds
            case demo.ScriptedFailure():
                if step.times is None or attempt <= step.times:
                    return Reply(fault=Status(_STATUSES.get(step.kind, 400)))
            case demo.Calls(calls=calls):
                content.extend(Call(call.name, call.input) for call in calls)
            case demo.Report(counts=counts):
                more["usage"] = counts
            case demo.ScriptedStop(reason=reason):
                if reason in _STOPS:
                    more["stop"] = _STOPS[reason][anthropic]
            case demo.Cite():
                pass
            case demo.Mistake(line=line, reason=reason):
                content.append(Say(f"I do not understand `{line}`: {reason}.\n"))
    return Reply(content=tuple(content), **more)  # pyright: ignore[reportArgumentType]


def _newest_outputs(body: Object) -> list[str]:
    """Of a request in Google's or in the responses format."""
    if "contents" in body:
        answers = [
            part["functionResponse"] for part in body["contents"][-1]["parts"] if "functionResponse" in part
        ]
        return [str(next(iter(one["response"].values()))) for one in answers]
    texts: list[str] = []
    for item in reversed(body["input"]):
        if item.get("type") != "function_call_output":
            break
        texts.insert(0, item["output"])
    return texts


def _results(body: Object) -> Sequence[ToolResult]:
    """The results that came with this request, in either format."""
    texts: list[str] = []
    if "contents" in body or isinstance(body.get("input"), list):
        texts = _newest_outputs(body)
    for message in reversed(body.get("messages", [])):
        if message["role"] == "assistant":
            break
        if message["role"] == "tool":
            texts.insert(0, message["content"])
        elif isinstance(message["content"], list):
            texts[:0] = [block["content"] for block in message["content"] if block["type"] == "tool_result"]
    return [
        ToolResult(call_id=CallId(str(number)), name="", output=text, outcome="succeeded")
        for number, text in enumerate(texts)
    ]
