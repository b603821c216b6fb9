"""From configuration to models: what is refused, what the environment adds, what replaces missing models."""

from pathlib import Path
from typing import Any

import pytest

from holdfast.core.errors import AttemptFailed, InvalidInput, NotFound
from holdfast.providers.configs import ModelConfig, ProviderConfig, read_key
from holdfast.providers.demo import DemoAdapter
from holdfast.providers.families import family_of
from holdfast.providers.proxies import proxy_of
from holdfast.providers.registry import ModelRegistry, Setup, complete
from tests.providers.calling import ask, request, text_of
from tests.providers.replies import say
from tests.providers.server import ProviderServer


def provider(**more: Any) -> ProviderConfig:
    given: dict[str, Any] = {"name": "here", "kind": "openai", **more}
    return ProviderConfig(**given)


def model(**more: Any) -> ModelConfig:
    given: dict[str, Any] = {"name": "default", "provider": "here", "model": "m", **more}
    return ModelConfig(**given)


@pytest.mark.parametrize(
    "wrong",
    [
        {"temperature": -0.1},
        {"temperature": 2.5},
        {"temperature": float("nan")},
        {"top_p": 1.1},
        {"top_k": 0},
        {"presence_penalty": -3},
        {"frequency_penalty": 3},
        {"max_output": 0},
        {"max_output": 10**9},
        {"context_limit": 0},
        {"context_limit": 10**18},
        {"compaction_threshold": 101},
        {"model": ""},
        {"model": "two words"},
        {"model": "line\nbreak"},
        {"name": "../x"},
        {"efforts": ("HIGH!",)},
        {"inputs": ("image",)},
        {"provider_options": {"messages": []}},
        {"provider_options": {"stream": False}},
        {"provider_options": {"x": 10**30}},
        {"provider": "nobody"},
    ],
    ids=str,
)
def test_models_that_make_no_sense(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput) as raised:
        complete([provider()], [model(**wrong)], {})
    assert raised.value.text.startswith("[models.")


@pytest.mark.parametrize(
    "wrong",
    [
        {"kind": "telepathy"},
        {"kind": "anthropic", "api": "responses"},
        {"kind": "google", "api": "responses"},
        {"kind": "azure"},
        {"api_version": "2025?x=1"},
        {"name": ""},
        {"base_url": "ftp://host/v1"},
        {"base_url": "host/v1"},
        {"base_url": "https://me:secret@host/v1"},
        {"base_url": "https://host/v1?key=1"},
        {"base_url": "https://host/\nv1"},
        {"base_url": "https://hösť/v1"},
        {"base_url": "https://host:99999/v1"},
        {"base_url": "https:///v1"},
        {"api_key": "line\nbreak"},
        {"api_key": ""},
    ],
    ids=str,
)
def test_providers_that_make_no_sense(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput) as raised:
        complete([provider(**wrong)], [], {})
    assert raised.value.text.startswith("[providers.")
    assert "secret" not in raised.value.text


def test_a_provider_does_not_show_its_key() -> None:
    assert "sk-" not in repr(complete([provider(api_key="sk-abcdef123")], [model()], {}))


def test_nothing_configured_means_the_demo_model() -> None:
    setup = complete([], [], {})
    assert setup.is_demo
    assert list(setup.models) == ["demo"]


def test_a_key_in_the_environment_is_enough() -> None:
    setup = complete([], [], {"DEEPSEEK_API_KEY": "k", "ANTHROPIC_API_KEY": "k", "OPENAI_API_KEY": " "})
    assert list(setup.providers) == ["anthropic", "deepseek"]
    assert setup.default == "anthropic"
    assert setup.models["anthropic"].model.startswith("claude-")
    assert not setup.is_demo


def test_what_is_configured_comes_first() -> None:
    own = provider(name="mine", kind="anthropic", api_key="env:MY_KEY")
    setup = complete([own], [model(provider="mine")], {"ANTHROPIC_API_KEY": "k"})
    assert list(setup.providers) == ["mine"]
    assert setup.default == "default"


def test_a_provider_without_models_gets_the_first_of_its_kind() -> None:
    setup = complete([provider(name="mine", kind="deepseek", api_key="k-123456")], [], {})
    assert setup.default == "mine"
    assert setup.models["mine"].model.startswith("deepseek")


async def test_a_provider_without_models_does_not_answer_as_the_demo_model() -> None:
    setup = complete([provider(base_url="http://10.0.0.7/v1")], [], {})
    assert setup.default is None
    assert not setup.is_demo
    assert setup.without_models == ("here",)
    async with ModelRegistry(setup, environ={}) as registry:
        with pytest.raises(InvalidInput) as raised:
            registry.require(None)
        assert "Settings, Models and providers" in raised.value.text
        assert "holdfast model discover here" in raised.value.text
        # Who chose the demo model by its name keeps it until there is a real one.
        assert registry.resolve("demo").config.provider == "demo"
    assert "demo" not in complete([provider(base_url="http://10.0.0.7/v1")], [model()], {}).models


def test_a_provider_called_demo_is_no_demo_model() -> None:
    setup = complete([provider(name="demo", base_url="http://10.0.0.7/v1")], [], {})
    assert setup.models == {}


def test_the_default_model_may_be_named() -> None:
    models = [model(name="a"), model(name="default"), model(name="b")]
    assert complete([provider()], models, {}).default == "default"
    assert complete([provider()], models, {}, default="b").default == "b"
    with pytest.raises(InvalidInput) as raised:
        complete([provider()], models, {}, default="c")
    assert "there is a, default, b" in raised.value.text


def test_a_model_may_name_a_kind_without_a_provider() -> None:
    setup = complete([], [model(provider="ollama", model="llama")], {})
    assert setup.providers["ollama"].kind == "ollama"
    assert list(setup.models) == ["default"]


async def test_a_model_that_is_gone_is_replaced_by_the_default(server: ProviderServer) -> None:
    setup = complete([provider(base_url=server.base_url("compatible"), api_key="k-123456")], [model()], {})
    async with ModelRegistry(setup, environ={}) as registry:
        found = registry.resolve("deleted")
        assert found.instead
        assert found.config.name == "default"
        assert not registry.resolve("default").instead
        assert not registry.resolve(None).instead
        server.queue(say("Hi"))
        assert text_of(await ask(found.adapter, request(found))) == "Hi"
        with pytest.raises(NotFound) as raised:
            registry.require("deleted")
        assert "there is default" in raised.value.text


async def test_no_model_at_all_is_a_clear_error() -> None:
    async with ModelRegistry(Setup(providers={}, models={}, default=None), environ={}) as registry:
        with pytest.raises(InvalidInput, match=r"\[models.default\]"):
            registry.resolve("gone")


@pytest.mark.parametrize("which", ["model", "provider"])
async def test_what_is_disabled_is_not_called(which: str) -> None:
    setup = complete([provider(enabled=which != "provider")], [model(enabled=which != "model")], {})
    async with ModelRegistry(setup, environ={}) as registry:
        with pytest.raises(AttemptFailed) as raised:
            registry.resolve(None)
        assert raised.value.failure.kind == "disabled"
        assert not raised.value.failure.retryable
        with pytest.raises(InvalidInput):
            registry.require("default")


@pytest.mark.parametrize(
    "written, place",
    [("env:NOT_SET", "NOT_SET"), ("file:/no/such/file", "/no/such/file"), (None, "OPENAI_API_KEY")],
)
async def test_a_missing_key_says_where_it_should_be(written: str | None, place: str) -> None:
    setup = complete([provider(api_key=written)], [model()], {})
    async with ModelRegistry(setup, environ={}) as registry:
        with pytest.raises(AttemptFailed) as raised:
            registry.resolve(None)
    assert raised.value.failure.kind == "auth"
    assert place in raised.value.failure.message


def test_keys_are_read_from_where_they_are_kept(tmp_path: Path) -> None:
    kept = tmp_path / "key"
    kept.write_text(" sk-in-a-file\n")
    assert read_key(f"file:{kept}", {}) == "sk-in-a-file"
    assert read_key("env:K", {"K": "sk-in-env"}) == "sk-in-env"
    assert read_key("sk-plain", {}) == "sk-plain"
    assert read_key("none", {}) is None
    assert read_key(None, {}) is None


async def test_a_server_without_a_key_gets_none(server: ProviderServer) -> None:
    setup = complete([provider(base_url=server.base_url("compatible"), api_key="none")], [model()], {})
    async with ModelRegistry(setup, environ={}) as registry:
        found = registry.resolve(None)
        await ask(found.adapter, request(found))
    assert "authorization" not in server.log[0].headers


async def test_anthropic_with_a_version_too_many(server: ProviderServer) -> None:
    own = provider(kind="anthropic", base_url=server.url + "/anthropic/v1/", api_key="k-123456")
    async with ModelRegistry(complete([own], [model()], {}), environ={}) as registry:
        found = registry.resolve(None)
        server.queue(say("Hi"))
        assert text_of(await ask(found.adapter, request(found))) == "Hi"
    assert server.log[0].headers["x-api-key"] == "k-123456"


async def test_new_configuration_counts_from_the_next_call(server: ProviderServer) -> None:
    first = complete([provider(base_url="http://127.0.0.1:9/v1", api_key="none")], [model()], {})
    async with ModelRegistry(first, environ={}) as registry:
        registry.resolve(None)
        registry.replace(
            complete([provider(base_url=server.base_url("compatible"), api_key="none")], [model()], {})
        )
        found = registry.resolve(None)
        server.queue(say("Hi"))
        assert text_of(await ask(found.adapter, request(found))) == "Hi"


async def test_the_demo_model_needs_nothing() -> None:
    async with ModelRegistry(complete([], [], {}), environ={}) as registry:
        assert isinstance(registry.resolve(None).adapter, DemoAdapter)


@pytest.mark.parametrize(
    "kind, url, family",
    [
        ("openai", "https://api.openai.com/v1", "openai"),
        ("openai", "https://api.deepseek.com", "deepseek"),
        ("openai", "https://openrouter.ai/api/v1", "openrouter"),
        ("openai", "https://api.groq.com/openai/v1", "groq"),
        ("openai", "https://api.mistral.ai/v1", "mistral"),
        ("openai", "http://127.0.0.1:11434/v1", "ollama"),
        ("openai", "http://10.0.0.7:8000/v1", "compatible"),
        ("vllm", "http://10.0.0.7:8000/v1", "vllm"),
        ("deepseek", "http://proxy.corp/v1", "deepseek"),
    ],
)
def test_families_by_address(kind: str, url: str, family: str) -> None:
    assert family_of(kind, url).kind == family


@pytest.mark.parametrize(
    "url, environ, proxy",
    [
        ("https://api.example/v1", {"HTTPS_PROXY": "http://p:1"}, "http://p:1"),
        ("https://api.example/v1", {"https_proxy": "http://p:1", "no_proxy": "corp, .example"}, None),
        ("https://api.example/v1", {"all_proxy": "http://p:1", "NO_PROXY": "sample"}, "http://p:1"),
        ("https://api.example/v1", {"https_proxy": "http://p:1", "no_proxy": "*"}, None),
        ("http://api.example/v1", {"HTTPS_PROXY": "http://p:1"}, None),
        ("http://127.0.0.1:8000/v1", {"HTTP_PROXY": "http://p:1"}, None),
        ("http://localhost/v1", {"ALL_PROXY": "http://p:1"}, None),
        ("https://api.example/v1", {}, None),
    ],
)
def test_proxies(url: str, environ: dict[str, str], proxy: str | None) -> None:
    assert proxy_of(url, environ) == proxy
