"""Providers and models of all sources as one: the file and the environment take precedence over the database,
and hide its entries of the same name."""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from typing import Literal, TypeVar

from holdfast.config.sections import Config
from holdfast.core.errors import BadConfig, InvalidInput
from holdfast.providers.configs import ModelConfig, ProviderConfig, check_model, check_provider
from holdfast.providers.kinds import KINDS
from holdfast.providers.registry import check_kind, unfit

T = TypeVar("T")

# Who defined it, so that people know where to change it. built_in: the server added it.
Origin = Literal["file", "environment", "database", "built_in"]


@dataclass(frozen=True, slots=True)
class Merged:
    """For `providers.registry.complete`."""

    providers: tuple[ProviderConfig, ...] = ()
    models: tuple[ModelConfig, ...] = ()
    provider_origins: dict[str, Origin] = field(default_factory=dict[str, Origin])
    model_origins: dict[str, Origin] = field(default_factory=dict[str, Origin])
    # The default model; empty: nobody chose one.
    default: str = ""
    # What was left out of the database's entries and why, one sentence each: a bad row must not keep the
    # server from starting.
    left_out: tuple[str, ...] = ()


def merged(
    config: Config,
    providers: Iterable[ProviderConfig] = (),
    models: Iterable[ModelConfig] = (),
    default: str = "",
) -> Merged:
    """`providers`, `models` and `default` are the database's: see `accounts.stored_providers`. Raises
    BadConfig for a model of the configuration whose provider does not exist."""
    near_providers = {provider.name: provider for provider in config.providers}
    near_models = {model.name: model for model in config.models}
    far_providers: dict[str, ProviderConfig] = {}
    far_models: dict[str, ModelConfig] = {}
    left_out: list[str] = []
    for provider in providers:
        if fault := _fault(check_provider, provider) or _fault(check_kind, provider):
            left_out.append(f"The provider {provider.name} of the database is left out: {fault}")
        elif provider.name not in near_providers:
            far_providers[provider.name] = provider
    known = {*near_providers, *far_providers, *KINDS}
    for model in near_models.values():
        if model.provider not in known:
            raise BadConfig(f"[models.{model.name}]: there is no provider {model.provider}; add it.")
    for model in models:
        provider = near_providers.get(model.provider) or far_providers.get(model.provider)
        if fault := _fault(check_model, model) or _unknown_provider(model, known) or _unfit(model, provider):
            left_out.append(f"The model {model.name} of the database is left out: {fault}")
        elif model.name not in near_models:
            far_models[model.name] = model
    if default and default not in near_models and default not in far_models and default not in KINDS:
        left_out.append(f"The default model {default} of the database is left out: there is no such model.")
        default = ""
    return Merged(
        providers=(*near_providers.values(), *far_providers.values()),
        models=(*near_models.values(), *far_models.values()),
        provider_origins=_origins("providers", config, near_providers, far_providers),
        model_origins=_origins("models", config, near_models, far_models),
        default=config.default_model or default,
        left_out=tuple(left_out),
    )


def _origins(section: str, config: Config, near: Iterable[str], far: Iterable[str]) -> dict[str, Origin]:
    origins: dict[str, Origin] = dict.fromkeys(far, "database")
    for name in near:
        origins[name] = "environment" if f"{section}.{name}" in config.only_in_environment else "file"
    return origins


def _fault(check: Callable[[T], object], config: T) -> str | None:
    try:
        check(config)
    except InvalidInput as error:
        return error.text
    return None


def _unfit(model: ModelConfig, provider: ProviderConfig | None) -> str | None:
    fault = unfit(model, provider or ProviderConfig(name=model.provider, kind=model.provider))
    return None if fault is None else fault[1]


def _unknown_provider(model: ModelConfig, known: Collection[str]) -> str | None:
    return None if model.provider in known else f"there is no provider {model.provider}."
