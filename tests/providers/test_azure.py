"""Azure by its addresses: the header of its own, the API version, deployments in the path of older ones."""

import pytest

from holdfast.providers.configs import ModelConfig, ProviderConfig
from holdfast.providers.families import family_of
from holdfast.providers.model_facts import facts_by_name
from holdfast.providers.registry import ModelRegistry, complete
from tests.providers.calling import KEY, ask, request, text_of
from tests.providers.replies import say
from tests.providers.server import ProviderServer


@pytest.mark.parametrize(
    "base, version, api, path",
    [
        ("/azure/v1", None, "chat", "/azure/v1/chat/completions"),
        ("/azure/v1", "preview", "chat", "/azure/v1/chat/completions?api-version=preview"),
        (
            "/azure",
            "2025-04-01-preview",
            "chat",
            "/azure/openai/deployments/my-gpt-5/chat/completions?api-version=2025-04-01-preview",
        ),
        (
            "/azure/openai",
            "2024-10-21",
            "chat",
            "/azure/openai/deployments/my-gpt-5/chat/completions?api-version=2024-10-21",
        ),
        (
            "/azure/openai/deployments/my-gpt-5",
            "2024-10-21",
            "chat",
            "/azure/openai/deployments/my-gpt-5/chat/completions?api-version=2024-10-21",
        ),
        ("/azure/v1", None, "responses", "/azure/v1/responses"),
        (
            "/azure",
            "2025-04-01-preview",
            "responses",
            "/azure/openai/responses?api-version=2025-04-01-preview",
        ),
    ],
)
async def test_where_requests_go(
    server: ProviderServer, base: str, version: str | None, api: str, path: str
) -> None:
    server.queue(say("Hello"))
    provider = ProviderConfig(
        name="azure",
        kind="azure",
        base_url=server.url + base,
        api_key=KEY,
        api_version=version,
        api="responses" if api == "responses" else "chat",
    )
    chosen = ModelConfig(name="default", provider="azure", model="my-gpt-5")
    async with ModelRegistry(complete([provider], [chosen], {}), environ={}) as registry:
        model = registry.resolve(None)
        assert text_of(await ask(model.adapter, request(model))) == "Hello"
    (asked,) = server.log
    assert asked.path == path
    assert asked.headers["api-key"] == KEY
    assert "authorization" not in asked.headers


@pytest.mark.parametrize(
    "address",
    [
        "https://mine.openai.azure.com/openai/v1",
        "https://mine.cognitiveservices.azure.com/openai/v1",
        "https://mine.services.ai.azure.com/openai/v1",
    ],
)
def test_azure_is_known_by_its_addresses(address: str) -> None:
    assert family_of("openai", address).kind == "azure"


@pytest.mark.parametrize(
    "address", ["https://openai.azure.com.evil.example/v1", "https://example.org/.azure.com"]
)
def test_and_by_nothing_else(address: str) -> None:
    assert family_of("openai", address).kind == "compatible"


def test_deployments_have_any_name() -> None:
    assert facts_by_name("azure", "prod").efforts == ()
    assert facts_by_name("azure", "my-gpt-5-mini").efforts == ("low", "medium", "high")
