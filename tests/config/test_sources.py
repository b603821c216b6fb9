"""Providers and models of all sources as one; and what a reload can change."""

import subprocess
import sys

import pytest

from holdfast.config.sections import (
    RELOADED,
    SECTIONS,
    Config,
    LimitsSection,
    ServerSection,
    WorkerSection,
    needs_restart,
)
from holdfast.config.sources import merged
from holdfast.core.errors import BadConfig
from holdfast.core.secret import Secret
from holdfast.providers.configs import ModelConfig, ProviderConfig


def provider(name: str, url: str | None = None, kind: str = "openai") -> ProviderConfig:
    return ProviderConfig(name=name, kind=kind, base_url=url)


def model(name: str, provider: str, called: str = "m") -> ModelConfig:
    return ModelConfig(name=name, provider=provider, model=called)


def test_the_configuration_hides_what_the_database_has_under_the_same_name() -> None:
    config = Config(
        providers=(provider("a", "http://near/v1"),), models=(model("default", "a", "near"), model("x", "b"))
    )
    result = merged(
        config,
        (provider("a", "http://far/v1"), provider("b", "http://far/v1")),
        (model("default", "b", "far"), model("y", "a")),
    )
    assert result.providers == (provider("a", "http://near/v1"), provider("b", "http://far/v1"))
    assert result.models == (model("default", "a", "near"), model("x", "b"), model("y", "a"))
    assert result.provider_origins == {"a": "file", "b": "database"}
    assert result.model_origins == {"default": "file", "x": "file", "y": "database"}
    assert result.left_out == ()


def test_a_row_never_keeps_the_server_down() -> None:
    result = merged(
        Config(),
        (provider("a", "nonsense"), provider("b", kind="gone"), provider("ok")),
        (model("m1", "a"), model("m2", "ok"), model("m3", "anthropic"), model("m4", "ok", "a b")),
    )
    assert [each.name for each in result.providers] == ["ok"]
    assert [each.name for each in result.models] == ["m2", "m3"]
    assert len(result.left_out) == 4


def test_a_model_of_the_configuration_needs_its_provider() -> None:
    config = Config(models=(model("x", "nowhere"),))
    with pytest.raises(BadConfig, match="nowhere"):
        merged(config)
    assert merged(config, (provider("nowhere"),)).left_out == ()


def test_what_needs_a_restart_is_told() -> None:
    running = Config()
    read = Config(
        server=ServerSection(port=1, secret_key=Secret("x")),
        worker=WorkerSection(max_chats=1),
        limits=LimitsSection(steps=1),
    )
    assert needs_restart(running, running) == ()
    assert needs_restart(running, read) == ("server.port", "server.secret_key", "worker.max_chats")


def test_every_reloaded_section_exists() -> None:
    assert {*SECTIONS, "modes", "providers", "models", "mcp", "hooks"} > RELOADED


def test_reading_the_configuration_loads_no_server() -> None:
    program = (
        "import sys, holdfast.config.load, holdfast.config.sources, holdfast.config.sections; "
        "print({'litestar', 'aiohttp', 'asyncpg', 'apsw', 'cryptography'} & sys.modules.keys())"
    )
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "set()"
