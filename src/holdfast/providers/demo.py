"""The built-in model: no network, no key, nothing random. It follows the steps written in the user's message,
one per line (`say:`, `say slowly:`, `think:`, `call:`, `calls:`, `wait:`, `fail:`, `repeat 3:`, ...; the
demo-model page of the reference has them all). If there are none it gives an answer that matches the
requested schema, or explains itself."""

import asyncio
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence

from msgspec import structs

from holdfast.core.calls import STRUCTURED_OUTPUT
from holdfast.core.shapes import Json, encode_text
from holdfast.providers.demo_answers import fitting
from holdfast.providers.demo_script import (
    Called,
    Calls,
    Cite,
    Mistake,
    Pace,
    Report,
    Say,
    ScriptedFailure,
    ScriptedStop,
    ScriptedWait,
    ScriptPosition,
    Step,
    fill_in,
    find_place,
)
from holdfast.providers.encoding import stable
from holdfast.providers.failures import Endpoint
from holdfast.providers.interface import (
    Event,
    Finished,
    ModelRequest,
    ReasoningDelta,
    ReasoningEnd,
    ReportedUsage,
    SourceFound,
    StopReason,
    TextDelta,
    ToolCallEnd,
    ToolCallStart,
    ToolCallText,
)
from holdfast.providers.redact import Redactor
from holdfast.providers.usage import usage

KIND = "demo"
DEFAULT_PACE_SECONDS = 0.1
# Words that are said at once go out in bites of this size, so that a stream has parts.
_WORDS_AT_ONCE = 8
_WORDS = re.compile(r"\s*\S+\s*?(?=\s|$)|\s+$")

_HELP = """\
I am the demo model: I run inside the server, need no key and always answer the same. You said: {said}

I know a few plain sentences: "Show me a tool call", "Start two sub-agents", "Run a workflow".

Or write steps in your message, one a line, and I will follow them:

    say: Hello!
    think: I should look first.
    call: list {{"path": "."}}
    say slowly: The tool said {{result}}
    fail: overloaded 2 times

To talk to a real model, add a provider on the page under Settings, Models and providers. Or set \
ANTHROPIC_API_KEY or OPENAI_API_KEY in the server's environment, or add a provider to holdfast.toml, and \
restart."""


class DemoAdapter:
    kind = KIND

    def __init__(
        self, provider: str = KIND, *, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    ) -> None:
        self._sleep = sleep
        self._endpoint = Endpoint(
            provider=provider, url="demo:", key_place="(the demo model has no key)", redactor=Redactor()
        )

    def body(self, request: ModelRequest) -> bytes:
        return stable(
            {
                "model": request.model.model,
                "system": request.system,
                "tools": request.tools,
                "messages": request.messages,
            }
        )

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Event, None]:
        place = find_place(request.messages)
        steps = _steps(request, place)
        pace = DEFAULT_PACE_SECONDS
        stop: StopReason = "stop"
        counts: dict[str, int] = {}
        said = 0
        for step in steps:
            match step:
                case Say():
                    words = _bites(step.text, slowly=step.slowly)
                    for number, word in enumerate(words):
                        if step.slowly and number:
                            await self._sleep(pace)
                        said += len(word)
                        yield ReasoningDelta(word) if step.reasoning else TextDelta(word)
                    if step.reasoning:
                        yield ReasoningEnd({"kind": KIND})
                case ScriptedWait(seconds=seconds):
                    await self._sleep(seconds)
                case Pace(seconds=seconds):
                    pace = seconds
                case ScriptedFailure():
                    if step.times is None or request.attempt <= step.times:
                        raise self._endpoint.failed(
                            step.kind, f"The demo model was told to fail: {step.kind}."
                        )
                case Calls(calls=calls):
                    stop = "tool_calls"
                    for key, call in enumerate(calls):
                        said += len(call.input)
                        yield ToolCallStart(key, call.name, f"demo_{place.answered}_{key}", KIND)
                        yield ToolCallText(key, call.input)
                        yield ToolCallEnd(key)
                case Cite(url=url, title=title):
                    yield SourceFound(url, title)
                case Report():
                    counts = step.counts
                case ScriptedStop(reason=reason):
                    stop = reason
                case Mistake(line=line, reason=reason):
                    yield TextDelta(f"I do not understand `{line}`: {reason}.\n")
        yield ReportedUsage(self._usage(request, said, counts))
        yield Finished(stop, f"demo-{len(request.messages)}-{request.attempt}", request.model.model)

    def _usage(self, request: ModelRequest, said: int, counts: dict[str, int]):
        """About four characters a token; all but the newest message was seen before."""
        whole = len(self.body(request)) // 4
        newest = len(stable(request.messages[-1:])) // 4
        claimed: dict[str, Json] = {
            "input": whole,
            "output": max(said // 4, 1),
            "cache_read": whole - newest,
            **counts,
        }
        if "input" in counts and "cache_read" not in counts:
            claimed["cache_read"] = 0
        return usage(
            total_input=claimed["input"],
            output=claimed["output"],
            cache_read=claimed["cache_read"],
            cache_write=claimed.get("cache_write", 0),
            reasoning=claimed.get("reasoning", 0),
        )


def _steps(request: ModelRequest, place: ScriptPosition) -> Sequence[Step]:
    if request.purpose == "compaction":
        return (Say(text=f"A summary by the demo model of {len(request.messages)} messages."),)
    if request.purpose == "title":
        return (Say(text="A chat with the demo model"),)
    if request.purpose == "commit_message":
        return (Say(text="Change files with the demo model"),)
    if not place.script and (asked := _asked_shape(request)) is not None:
        return (asked,)
    if not place.script:
        return (Say(text=_HELP.format(said=place.said.strip()[:500] or "(nothing)")),)
    if place.answered >= len(place.script):
        return (Say(text="The script is done."),)
    return [
        structs.replace(step, text=fill_in(step.text, place.results)) if isinstance(step, Say) else step
        for step in place.script[place.answered]
    ]


def _asked_shape(request: ModelRequest) -> Calls | None:
    """The answer of an agent whose answer must have a shape."""
    for tool in request.tools:
        if tool.name == STRUCTURED_OUTPUT:
            value = fitting(tool.input_schema)
            return Calls(calls=(Called(name=tool.name, input=encode_text(value)),))
    return None


def _bites(text: str, *, slowly: bool) -> list[str]:
    words = _WORDS.findall(text)
    size = 1 if slowly else _WORDS_AT_ONCE
    return ["".join(words[start : start + size]) for start in range(0, len(words), size)]
