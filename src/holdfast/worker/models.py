"""The models and prices a worker uses, behind one small interface. Configuration may change at any time, so a
turn asks again for each call."""

import asyncio
from typing import Protocol

from msgspec.structs import replace

from holdfast.core.failures import ModelLimits
from holdfast.core.usage import Usage
from holdfast.providers.assemble import ModelAnswer
from holdfast.providers.configs import NO_KEY
from holdfast.providers.prices import Prices
from holdfast.providers.registry import Model, ModelRegistry


class Models(Protocol):
    def resolve(self, name: str | None) -> Model:
        """The model with this name, or the default one if it does not exist (any more). AttemptFailed or
        InvalidInput say why none can be called."""
        ...

    def learn(self, model: Model, limits: ModelLimits) -> None:
        """Remembers what a refusal said about the model, for later calls."""
        ...

    async def prepare(self, model: Model) -> None:
        """Loads whatever `priced` needs for this model and would block the loop."""
        ...

    def priced(self, model: Model, answer: ModelAnswer) -> Usage:
        """The usage of an answer, with its price and the limits of its model."""
        ...


class ConfiguredModels:
    def __init__(self, registry: ModelRegistry, prices: Prices) -> None:
        self._registry = registry
        self._prices = prices
        self._loading: asyncio.Task[None] | None = None

    def resolve(self, name: str | None) -> Model:
        return self._registry.resolve(name)

    def learn(self, model: Model, limits: ModelLimits) -> None:
        self._registry.learn(model, limits)

    async def prepare(self, model: Model) -> None:
        if self._prices.loaded or not self._prices.concern(_charging(model)):
            return
        # Once for all callers, even if one of them is cancelled meanwhile.
        if self._loading is None or self._loading.done():
            self._loading = asyncio.create_task(asyncio.to_thread(self._prices.load))
        await asyncio.shield(self._loading)

    def priced(self, model: Model, answer: ModelAnswer) -> Usage:
        usage, kind = answer.usage, _charging(model)
        named = answer.model or model.config.model
        cost = self._prices.cost_usd_micros(kind, named, usage, answer.cost_usd)
        if cost is None and named != model.config.model:
            cost = self._prices.cost_usd_micros(kind, model.config.model, usage, answer.cost_usd)
        if cost is None and kind:
            cost = self._said_cost(model, usage)
        return replace(
            usage,
            context_used=usage.input or None,
            context_limit=model.config.context_limit or self._prices.context_limit(kind, model.config.model),
            cost_usd_micros=cost or 0,
            unpriced_steps=1 if cost is None else 0,
        )

    def _said_cost(self, model: Model, usage: Usage) -> int | None:
        """By the price that the provider itself lists; a cached token costs the same as any other."""
        price = self._registry.facts(model.provider.name, model.config.model).price
        if price is None:
            return None
        return (usage.input * price.input_usd_micros + usage.output * price.output_usd_micros) // 1_000_000


def _charging(model: Model) -> str:
    """The kind of provider whose prices apply. A provider that needs no key charges nothing that we know
    of."""
    return "" if model.provider.api_key == NO_KEY else model.provider.kind
