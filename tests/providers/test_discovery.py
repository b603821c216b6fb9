"""Which models a provider has, asked of the provider itself, and what that means for configured ones."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest

from holdfast.core.errors import AttemptFailed, NotFound
from holdfast.providers.configs import ModelConfig, ProviderConfig
from holdfast.providers.discovery import Discovery
from holdfast.providers.model_facts import ModelPrice
from holdfast.providers.prices import Prices
from holdfast.providers.registry import ModelRegistry, complete
from tests.providers.calling import KEY
from tests.providers.server import Page, ProviderServer, page


@asynccontextmanager
async def at(
    server: ProviderServer, family: str, model: str = "m", **more: Any
) -> AsyncGenerator[tuple[Discovery, ModelRegistry]]:
    kind = "openai" if family == "compatible" else family
    provider = ProviderConfig(name="here", kind=kind, base_url=server.base_url(family), api_key=KEY)
    config = ModelConfig(name="default", provider="here", model=model, **more)
    async with ModelRegistry(complete([provider], [config], {}), environ={}) as registry:
        yield Discovery(registry, Prices()), registry


async def test_a_plain_list_has_names_alone(server: ProviderServer) -> None:
    server.pages["/compatible/v1/models"] = page(
        {"data": [{"id": "b"}, {"id": "a", "owned_by": "us"}, {"id": 7}]}
    )
    async with at(server, "compatible") as (discovery, _):
        models = await discovery.list_models("here")
    assert [model.id for model in models] == ["a", "b"]
    assert models[0].facts.context is None
    [(_, headers)] = server.asked_pages
    assert headers["authorization"] == f"Bearer {KEY}"


async def test_vllm_tells_its_context(server: ProviderServer) -> None:
    server.pages["/vllm/v1/models"] = page({"data": [{"id": "m", "owned_by": "vllm", "max_model_len": 8192}]})
    async with at(server, "vllm") as (discovery, registry):
        assert registry.resolve(None).config.context_limit is None
        assert await discovery.look()
        assert registry.resolve(None).config.context_limit == 8192
        assert registry.require("default").context_limit == 8192


async def test_llamacpp_tells_what_it_was_started_with(server: ProviderServer) -> None:
    meta = {"n_ctx_train": 131_072}
    server.pages["/compatible/v1/models"] = page(
        {"data": [{"id": "m", "owned_by": "llamacpp", "meta": meta}]}
    )
    server.pages["/compatible/props"] = page(
        {
            "default_generation_settings": {"n_ctx": 4096},
            "modalities": {"vision": True, "audio": False},
        }
    )
    async with at(server, "compatible") as (discovery, registry):
        assert await discovery.look()
        config = registry.resolve(None).config
    assert (config.context_limit, config.inputs) == (4096, ("text", "image"))


async def test_ollama_is_asked_about_each_model(server: ProviderServer) -> None:
    shown = {
        "small": {"capabilities": ["completion"], "model_info": {"llama.context_length": 8192}},
        "seeing": {
            "capabilities": ["completion", "tools", "vision", "thinking"],
            "model_info": {"gemma.context_length": 131_072},
            "parameters": "stop  x\nnum_ctx                        16384",
        },
        "loaded": {"capabilities": ["completion", "tools"], "model_info": {"q.context_length": 40_960}},
    }

    def show(body: bytes) -> tuple[int, Any]:
        name = msgspec.json.decode(body)["model"]
        return (200, shown[name]) if name in shown else (404, {"error": "not found"})

    server.pages["/ollama/api/tags"] = page({"models": [{"name": name} for name in (*shown, "gone")]})
    server.pages["/ollama/api/ps"] = page({"models": [{"name": "loaded", "context_length": 4096}]})
    server.pages["/ollama/api/show"] = show
    async with at(server, "ollama", "small") as (discovery, registry):
        found = {model.id: model.facts for model in await discovery.list_models("here")}
        assert not registry.require("default").tools
    assert found["small"].context == 8192
    assert found["small"].tools is False
    assert found["seeing"].context == 16_384
    assert found["seeing"].inputs == ("text", "image")
    assert found["seeing"].efforts == ("low", "medium", "high")
    assert found["loaded"].context == 4096
    assert found["gone"].tools is None


async def test_openrouter_tells_nearly_everything(server: ProviderServer) -> None:
    server.pages["/openrouter/v1/models"] = page(
        {
            "data": [
                {
                    "id": "some/model",
                    "name": "Some: Model",
                    "context_length": 400_000,
                    "architecture": {"input_modalities": ["file", "image", "text", "audio"]},
                    "top_provider": {"context_length": 200_000, "max_completion_tokens": 8000},
                    "supported_parameters": ["reasoning", "tools"],
                    "pricing": {"prompt": "0.000003", "completion": "0.000015"},
                },
                {
                    "id": "auto",
                    "pricing": {"prompt": "-1", "completion": "-1"},
                    "supported_parameters": ["seed"],
                },
            ]
        }
    )
    async with at(server, "openrouter", "some/model") as (discovery, registry):
        auto, some = await discovery.list_models("here")
        config = registry.require("default")
    assert (auto.facts.price, auto.facts.tools) == (None, False)
    assert some.title == "Some: Model"
    assert some.facts.price == ModelPrice(input_usd_micros=3_000_000, output_usd_micros=15_000_000)
    assert (config.context_limit, config.max_output) == (200_000, 8000)
    assert config.inputs == ("text", "image", "pdf")
    assert config.efforts == ("low", "medium", "high")


async def test_anthropic_tells_limits_and_capabilities(server: ProviderServer) -> None:
    yes, no = {"supported": True}, {"supported": False}
    server.pages["/anthropic/v1/models"] = page(
        {
            "data": [
                {
                    "id": "claude-new-1",
                    "display_name": "Claude New",
                    "max_input_tokens": 300_000,
                    "max_tokens": 16_000,
                    "capabilities": {
                        "image_input": yes,
                        "pdf_input": no,
                        "effort": {"supported": True, "low": yes, "medium": yes, "high": yes, "max": no},
                    },
                }
            ]
        }
    )
    async with at(server, "anthropic", "claude-new-1") as (discovery, registry):
        [model] = await discovery.list_models("here")
        config = registry.require("default")
    assert model.title == "Claude New"
    assert (config.context_limit, config.max_output) == (300_000, 16_000)
    assert config.inputs == ("text", "image")
    assert config.efforts == ("low", "medium", "high")
    [(_, headers)] = server.asked_pages
    assert headers["x-api-key"] == KEY
    assert "authorization" not in headers


async def test_what_is_configured_counts(server: ProviderServer) -> None:
    server.pages["/vllm/v1/models"] = page({"data": [{"id": "m", "max_model_len": 8192}]})
    own: dict[str, Any] = {
        "context_limit": 4096,
        "inputs": ("text",),
        "efforts": ("some",),
        "max_output": 100,
    }
    async with at(server, "vllm", **own) as (discovery, registry):
        await discovery.look()
        config = registry.require("default")
    assert {key: getattr(config, key) for key in own} == own


async def test_the_price_list_fills_in_what_a_provider_does_not_tell(server: ProviderServer) -> None:
    provider = ProviderConfig(name="mine", kind="anthropic", base_url=server.url, api_key=KEY)
    config = ModelConfig(name="default", provider="mine", model="claude-sonnet-4-5")
    async with ModelRegistry(complete([provider], [config], {}), environ={}) as registry:
        # By its name, before anybody was asked.
        assert registry.require(None).inputs == ("text", "image", "pdf")
        discovery = Discovery(registry, Prices())
        assert not await discovery.look()
        filled = registry.require(None)
        assert (filled.context_limit or 0) >= 200_000
        price = registry.facts("mine", "claude-sonnet-4-5").price
    assert price == ModelPrice(input_usd_micros=3_000_000, output_usd_micros=15_000_000)


@pytest.mark.parametrize(
    "answer",
    [
        page({"detail": "Not Found"}, 404),
        page({"object": "list"}),
        page({"data": "none"}),
        page(["a", "b"]),
        page(None),
    ],
    ids=["missing", "empty", "no list", "other", "null"],
)
async def test_a_provider_without_a_list_says_what_to_do(server: ProviderServer, answer: Page) -> None:
    server.pages["/compatible/v1/models"] = answer
    async with at(server, "compatible") as (discovery, _):
        with pytest.raises(AttemptFailed) as raised:
            await discovery.list_models("here")
        assert "has no list of models" in raised.value.failure.message
        assert not await discovery.look()


async def test_a_refused_key_is_told_without_the_key(server: ProviderServer) -> None:
    refusal = {"error": {"message": f"bad key {KEY}", "code": "invalid_api_key"}}
    server.pages["/compatible/v1/models"] = page(refusal, 401)
    async with at(server, "compatible") as (discovery, _):
        with pytest.raises(AttemptFailed) as raised:
            await discovery.list_models("here")
        with pytest.raises(NotFound):
            await discovery.list_models("nobody")
    assert raised.value.failure.kind == "auth"
    assert KEY not in str(raised.value.failure)


async def test_a_list_is_asked_for_again_after_a_change(server: ProviderServer) -> None:
    server.pages["/vllm/v1/models"] = page({"data": [{"id": "m", "max_model_len": 8192}]})
    async with at(server, "vllm") as (discovery, registry):
        await discovery.look()
        registry.replace(registry.setup)
        assert registry.changed.is_set()
        assert registry.require(None).context_limit == 8192
        moved = ProviderConfig(name="here", kind="vllm", base_url="http://127.0.0.1:1/v1", api_key=KEY)
        registry.replace(complete([moved], [ModelConfig(name="default", provider="here", model="m")], {}))
        assert registry.require(None).context_limit is None
