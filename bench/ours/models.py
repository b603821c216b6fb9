"""The models that turns are run with: scripted in process, or the ordinary OpenAI adapter towards a scripted
server. Either tells the stopwatch when it is called."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from msgspec.structs import replace

from bench.measure import Stopwatch
from bench.ours.working import INPUT, TOOL, USAGE
from bench.task import Task
from holdfast.core.failures import ModelLimits
from holdfast.core.shapes import encode_text
from holdfast.core.usage import Usage
from holdfast.providers.assemble import ModelAnswer
from holdfast.providers.configs import NO_KEY, ModelConfig, ProviderConfig
from holdfast.providers.interface import (
    Adapter,
    Event,
    Finished,
    ModelRequest,
    ReportedUsage,
    TextDelta,
    ToolCallEnd,
    ToolCallStart,
    ToolCallText,
)
from holdfast.providers.prices import Prices
from holdfast.providers.registry import Model, ModelRegistry, complete
from holdfast.worker.models import ConfiguredModels, Models


class Scripted:
    """Asks for the tool until the turn has had its steps, then answers with text."""

    kind = "scripted"

    def __init__(self, steps: int) -> None:
        self._calls = steps - 1
        self._input = encode_text(INPUT)

    def body(self, request: ModelRequest) -> bytes:
        raise NotImplementedError("nothing is sent")

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Event]:
        answered = 0
        for message in reversed(request.messages):
            if message.role == "user":
                break
            answered += message.role == "tool"
        if answered < self._calls:
            yield ToolCallStart(key=0, name=TOOL, provider_id=f"p{answered}", kind=self.kind)
            yield ToolCallText(key=0, text=self._input)
            yield ToolCallEnd(key=0)
        else:
            yield TextDelta(text="done")
        yield ReportedUsage(usage=USAGE)
        stop = "tool_calls" if answered < self._calls else "stop"
        yield Finished(stop_reason=stop, response_id="r1", model="scripted")


class OneModel:
    """The scripted model is the only one there is, and costs nothing."""

    def __init__(self, steps: int) -> None:
        self._model = Model(
            config=ModelConfig(name="scripted", provider="scripted", model="scripted"),
            provider=ProviderConfig(name="scripted", kind="scripted"),
            adapter=Scripted(steps),
        )

    def resolve(self, name: str | None) -> Model:
        return self._model

    def learn(self, model: Model, limits: ModelLimits) -> None:
        pass

    async def prepare(self, model: Model) -> None:
        pass

    def priced(self, model: Model, answer: ModelAnswer) -> Usage:
        return answer.usage


class Timed:
    """Models whose calls the stopwatch is told of."""

    def __init__(self, models: Models, stopwatch: Stopwatch) -> None:
        self._models = models
        self._stopwatch = stopwatch

    def resolve(self, name: str | None) -> Model:
        model = self._models.resolve(name)
        return replace(model, adapter=TimedAdapter(model.adapter, self._stopwatch))

    def learn(self, model: Model, limits: ModelLimits) -> None:
        self._models.learn(model, limits)

    async def prepare(self, model: Model) -> None:
        await self._models.prepare(model)

    def priced(self, model: Model, answer: ModelAnswer) -> Usage:
        return self._models.priced(model, answer)


class TimedAdapter:
    """The chat is known by the key that its requests share."""

    def __init__(self, adapter: Adapter, stopwatch: Stopwatch) -> None:
        self._adapter = adapter
        self._stopwatch = stopwatch

    @property
    def kind(self) -> str:
        return self._adapter.kind

    def body(self, request: ModelRequest) -> bytes:
        return self._adapter.body(request)

    def stream(self, request: ModelRequest) -> AsyncGenerator[Event]:
        assert request.cache_key is not None
        self._stopwatch.lap(request.cache_key)
        return self._adapter.stream(request)


@asynccontextmanager
async def models_for(task: Task, stopwatch: Stopwatch) -> AsyncGenerator[Timed]:
    if task.model_url is None:
        yield Timed(OneModel(task.steps), stopwatch)
        return
    setup = complete(
        [ProviderConfig(name="local", kind="openai", base_url=task.model_url, api_key=NO_KEY)],
        [ModelConfig(name="scripted", provider="local", model="scripted")],
        {},
    )
    async with ModelRegistry(setup, environ={}) as registry:
        yield Timed(ConfiguredModels(registry, Prices()), stopwatch)
