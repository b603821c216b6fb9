"""One model of pydantic-ai: its events become ours, its exceptions our failures. Only loaded with the library
itself."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from typing import Any, cast

import msgspec
from pydantic_ai.direct import model_request_stream
from pydantic_ai.exceptions import (
    ContentFilterError,
    ModelConnectionError,
    ModelHTTPError,
    ModelTimeoutError,
    UnexpectedModelBehavior,
    UserError,
)
from pydantic_ai.messages import (
    ModelResponse,
    ModelResponsePart,
    NativeToolCallPart,
    NativeToolReturnPart,
    PartDeltaEvent,
    PartEndEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ThinkingPart,
    ThinkingPartDelta,
    ToolCallPart,
    ToolCallPartDelta,
)
from pydantic_ai.models import Model, infer_model
from pydantic_ai.providers import Provider, infer_provider, infer_provider_class

from holdfast.core.errors import AttemptFailed
from holdfast.core.shapes import Json
from holdfast.providers.failures import Endpoint
from holdfast.providers.interface import (
    Event,
    Finished,
    ModelRequest,
    ProviderCall,
    ReasoningDelta,
    ReasoningEnd,
    ReportedUsage,
    SourceFound,
    StopReason,
    TextDelta,
    TextEnd,
    ToolCallEnd,
    ToolCallStart,
    ToolCallText,
)
from holdfast.providers.kinds import PYDANTIC_AI
from holdfast.providers.pydantic_ai_messages import kept, kept_pair, messages_of, parameters_of, settings_of
from holdfast.providers.usage import usage
from holdfast.providers.wire import StreamLimits

_STOPS: dict[str, StopReason] = {
    "stop": "stop",
    "length": "length",
    "content_filter": "content_filter",
    "tool_call": "tool_calls",
}


def open_exchange(
    model: str, base_url: str | None, key: str | None, endpoint: Endpoint, limits: StreamLimits
) -> "Exchange":
    """Raises AttemptFailed when the library cannot make such a model."""
    given = {name: value for name, value in (("base_url", base_url), ("api_key", key)) if value is not None}

    def provider(name: str) -> Provider[Any]:
        return infer_provider_class(name)(**given) if given else infer_provider(name)

    try:
        return Exchange(infer_model(model, provider), endpoint, limits)
    except (UserError, ImportError, ValueError, TypeError) as error:
        # What is missing (a library for this provider, a key, a region) is said in its own words.
        raise endpoint.failed(
            "config", f"The model {model} cannot be used: {error}", detail=type(error).__name__
        ) from None


class Exchange:
    def __init__(self, model: Model, endpoint: Endpoint, limits: StreamLimits) -> None:
        self._model = model
        self._endpoint = endpoint
        self._limits = limits

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Event, None]:
        silence = self._limits.silence_seconds
        try:
            # Its connections are closed with the last call under way.
            async with (
                self._model,
                model_request_stream(
                    self._model,
                    messages_of(request),
                    model_settings=settings_of(request, silence),
                    model_request_parameters=parameters_of(request),
                ) as answer,
            ):
                reading = _Reading(answer.provider_name)
                async for event in _watched(aiter(answer), silence):
                    for ours in reading.read(event):
                        yield ours
                for ours in _ending(answer.get()):
                    yield ours
        except Exception as error:  # noqa: BLE001 - each provider behind the library has its own exceptions
            raise self._failed(request.model.model, error) from None

    def _failed(self, model: str, error: Exception) -> AttemptFailed:
        endpoint = self._endpoint
        match error:
            case AttemptFailed():
                return error
            case ModelHTTPError():
                body = error.body if isinstance(error.body, str) else msgspec.json.encode(error.body).decode()
                return endpoint.refused(model, error.status_code, error.headers or {}, body.encode())
            case TimeoutError() | ModelTimeoutError():
                return endpoint.silent(self._limits.silence_seconds)
            case ModelConnectionError() | OSError():
                return endpoint.failed(
                    "transport", f"The connection of {endpoint.provider} failed.", detail=str(error)
                )
            case ContentFilterError():
                return endpoint.failed(
                    "content_filter",
                    f"{endpoint.provider} refused this because of its rules for content. "
                    "Change the message or the model.",
                    detail=str(error),
                )
            case UserError() | NotImplementedError():
                return endpoint.failed("config", f"{endpoint.provider} refused the request: {error}")
            case UnexpectedModelBehavior():
                return endpoint.failed("server", f"{endpoint.provider} failed: {error}", detail=error.body)
            case _:
                return endpoint.failed(
                    "server", f"{endpoint.provider} failed: {type(error).__name__}", detail=str(error)
                )


async def _watched(events: AsyncIterator[Any], seconds: float) -> AsyncGenerator[Any, None]:
    while True:
        try:
            async with asyncio.timeout(seconds):
                event = await anext(events)
        except StopAsyncIteration:
            return
        yield event


class _Reading:
    def __init__(self, provider: str | None) -> None:
        self._provider = provider
        self._running: NativeToolCallPart[Any] | None = None

    def read(self, event: object) -> Sequence[Event]:
        match event:
            case PartDeltaEvent(index=index, delta=delta):
                return _delta(index, delta)
            case PartStartEvent(index=index, part=part):
                return self._start(index, part)
            case PartEndEvent(index=index, part=part):
                return self._end(index, part)
            case _:
                return ()

    def _start(self, index: int, part: ModelResponsePart) -> Sequence[Event]:
        match part:
            case TextPart(content=text):
                return (TextDelta(text),) if text else ()
            case ThinkingPart(content=text):
                return (ReasoningDelta(text),) if text else ()
            case ToolCallPart():
                more = kept(part, self._provider)
                start = ToolCallStart(index, part.tool_name, part.tool_call_id, PYDANTIC_AI, more)
                return (start, ToolCallText(index, part.args)) if isinstance(part.args, str) else (start,)
            case _:
                return ()

    def _end(self, index: int, part: ModelResponsePart) -> Sequence[Event]:
        match part:
            case TextPart() if part.id or part.provider_details:
                return (TextEnd(kept(part, self._provider)),)
            case TextPart():
                return (TextEnd(),)
            case ThinkingPart():
                return (ReasoningEnd(kept(part, self._provider)),)
            case ToolCallPart():
                return (ToolCallEnd(index, part.args_as_json_str()),)
            case NativeToolCallPart():
                self._running = part
                return ()
            case NativeToolReturnPart() if self._running is not None:
                call, self._running = self._running, None
                return (_ran(call, part, self._provider), *_sources(part.content))
            case _:
                return ()


def _delta(index: int, delta: object) -> Sequence[Event]:
    match delta:
        case TextPartDelta(content_delta=text):
            return (TextDelta(text),) if text else ()
        case ThinkingPartDelta(content_delta=text):
            return (ReasoningDelta(text),) if text else ()
        case ToolCallPartDelta(args_delta=str(text)):
            return (ToolCallText(index, text),) if text else ()
        case _:
            return ()


def _ran(
    call: NativeToolCallPart[Any], result: NativeToolReturnPart[Any], provider: str | None
) -> ProviderCall:
    return ProviderCall(
        call.tool_name,
        call.args_as_dict(),
        _json(result.content),
        result.outcome != "success",
        kept_pair(call, result, provider),
    )


def _sources(content: object) -> list[SourceFound]:
    plain = _json(content)
    found: list[SourceFound] = []
    for one in cast(list[Json], plain) if isinstance(plain, list) else []:
        fields = cast(dict[str, Json], one) if isinstance(one, dict) else {}
        url, title = fields.get("url") or fields.get("uri"), fields.get("title")
        if isinstance(url, str):
            found.append(SourceFound(url, title if isinstance(title, str) else None))
    return found


def _json(value: object) -> Json:
    from pydantic_core import to_jsonable_python

    return to_jsonable_python(value, fallback=str)


def _ending(response: ModelResponse) -> Sequence[Event]:
    counts = response.usage
    return (
        ReportedUsage(
            usage(
                total_input=counts.input_tokens,
                output=counts.output_tokens,
                cache_read=counts.cache_read_tokens,
                cache_write=counts.cache_write_tokens,
                reasoning=counts.details.get("reasoning_tokens", 0),
            )
        ),
        Finished(
            _STOPS.get(response.finish_reason or "stop", "stop"),
            response.provider_response_id,
            response.model_name,
        ),
    )
