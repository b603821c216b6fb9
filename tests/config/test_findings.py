"""What whoever starts a server is told about its configuration; and the default model in its file."""

import pytest

from holdfast.config.findings import findings
from holdfast.config.sections import CompactionSection, Config, TitlesSection
from holdfast.config.sources import merged
from holdfast.core.errors import BadConfig
from holdfast.providers.configs import ModelConfig, ProviderConfig
from holdfast.providers.registry import complete
from tests.config.conftest import Loading

LOCAL = ProviderConfig(name="local", kind="vllm", api_key="env:RACK_KEY")
MODEL = ModelConfig(name="big", provider="local", model="m")


def told(config: Config, **environ: str) -> list[str]:
    return list(findings(config, complete(config.providers, config.models, environ), environ))


def test_nothing_is_told_of_what_is_well() -> None:
    well = Config(providers=(LOCAL,), models=(MODEL,), compaction=CompactionSection(model="big"))
    assert told(well, RACK_KEY="k") == []
    assert told(Config()) == []


def test_a_model_that_is_not_there_is_told() -> None:
    config = Config(
        providers=(LOCAL,),
        models=(MODEL,),
        compaction=CompactionSection(model="smal"),
        titles=TitlesSection(model="tiny"),
    )
    compaction, titles = told(config, RACK_KEY="k")
    assert compaction.startswith("compaction.model names smal, and there is no such model; there is big.")
    assert titles.startswith("titles.model names tiny")


@pytest.mark.parametrize("key", ["env:RACK_KEY", "file:/no/such/file"])
def test_a_key_that_is_not_there_is_told(key: str) -> None:
    provider = ProviderConfig(name="local", kind="vllm", api_key=key)
    [sentence] = told(Config(providers=(provider,), models=(MODEL,)))
    assert sentence.startswith("The provider local has no key: the ")


def test_a_provider_without_models_is_told() -> None:
    [sentence] = told(Config(providers=(LOCAL,)), RACK_KEY="k")
    assert "holdfast model discover local" in sentence


TABLES = """
[providers.local]
kind = "vllm"
[models.big]
provider = "local"
model = "m"
[models.small]
provider = "local"
model = "s"
"""


def test_the_default_model_is_named_in_the_file(loading: Loading) -> None:
    config = loading(f'[models]\ndefault = "small"\n{TABLES}')
    assert config.default_model == "small"
    assert [model.name for model in config.models] == ["big", "small"]
    assert merged(config, default="big").default == "small"
    assert loading(TABLES, HOLDFAST_MODELS_DEFAULT="big").default_model == "big"


def test_a_table_called_default_is_a_model_as_before(loading: Loading) -> None:
    config = loading(TABLES.replace("models.small", "models.default"))
    assert config.default_model == ""
    assert [model.name for model in config.models] == ["big", "default"]
    with pytest.raises(BadConfig):
        loading("[models]\ndefault = 7\n")


def test_a_choice_of_the_database_whose_model_is_gone_is_left_out(loading: Loading) -> None:
    chosen = merged(loading(TABLES), default="gone")
    assert chosen.default == ""
    assert "gone" in chosen.left_out[0]
