"""A short call to a model, to see whether its configuration works."""

import asyncio

from holdfast.core.errors import AttemptFailed
from holdfast.core.failures import Failure
from holdfast.core.parts import Text
from holdfast.providers.interface import ModelRequest, PromptMessage, TextDelta
from holdfast.providers.registry import ModelRegistry

SECONDS = 30.0
PROMPT = "Reply with the single word: ready"


async def try_model(registry: ModelRegistry, name: str) -> str:
    """What the model said, in short. Raises AttemptFailed with what to change."""
    model = registry.resolve(name)
    request = ModelRequest(
        model=model.config,
        messages=(PromptMessage(role="user", parts=(Text(text=PROMPT),)),),
        max_output=200,
        purpose="title",
    )
    said = ""
    try:
        async with asyncio.timeout(SECONDS):
            async for event in model.adapter.stream(request):
                if isinstance(event, TextDelta):
                    said += event.text
    except TimeoutError:
        failure = Failure(
            kind="timeout",
            message=f"{model.provider.name} did not answer within {SECONDS:.0f} s.",
            provider=model.provider.name,
        )
        raise AttemptFailed(failure) from None
    return said.strip()[:200] or "(an empty answer)"
