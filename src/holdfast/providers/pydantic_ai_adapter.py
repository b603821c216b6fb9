"""Every provider that has no adapter of its own (Bedrock, Vertex, ...), through the library pydantic-ai.
Slower than our own adapters by far, the same parts and the same failures. The library is loaded by the first
call, in a thread: it takes seconds."""

import asyncio
import importlib.util
from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING

from holdfast.core.errors import AttemptFailed
from holdfast.core.failures import Failure
from holdfast.providers.configs import ProviderConfig, key_place
from holdfast.providers.encoding import stable
from holdfast.providers.failures import Endpoint
from holdfast.providers.interface import Event, ModelRequest
from holdfast.providers.kinds import PYDANTIC_AI
from holdfast.providers.redact import Redactor
from holdfast.providers.wire import StreamLimits

if TYPE_CHECKING:
    from holdfast.providers.pydantic_ai_exchange import Exchange

EXTRA = 'pip install "holdfast[pydantic-ai]"'


def require_library(provider: str) -> None:
    """Raises AttemptFailed when the extra is not installed."""
    if importlib.util.find_spec("pydantic_ai") is None:
        raise AttemptFailed(
            Failure(
                kind="config",
                message=f"The library for [providers.{provider}] is not installed: {EXTRA}",
                provider=provider,
            )
        )


class PydanticAIAdapter:
    kind = PYDANTIC_AI

    def __init__(self, provider: ProviderConfig, key: str | None, limits: StreamLimits) -> None:
        require_library(provider.name)
        self._provider = provider
        self._key = key
        self._limits = limits
        self._endpoint = Endpoint(
            provider=provider.name,
            url=provider.base_url or "",
            key_place=key_place(provider) if provider.api_key else "the environment that the library reads",
            redactor=Redactor([key]),
        )
        self._exchanges: dict[str, Exchange] = {}

    def body(self, request: ModelRequest) -> bytes:
        """What the library is given; what it sends is its own."""
        return stable(
            {
                "model": request.model.model,
                "system": request.system,
                "messages": request.messages,
                "tools": request.tools,
                "effort": request.effort,
            }
        )

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Event, None]:
        exchange = self._exchanges.get(request.model.model)
        if exchange is None:
            exchange = await asyncio.to_thread(self._load, request.model.model)
            self._exchanges[request.model.model] = exchange
        async for event in exchange.stream(request):
            yield event

    def _load(self, model: str) -> "Exchange":
        from holdfast.providers.pydantic_ai_exchange import open_exchange

        return open_exchange(model, self._provider.base_url, self._key, self._endpoint, self._limits)
