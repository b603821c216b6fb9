"""What is wrong with the configuration although the server can start: one sentence each, for whoever starts
it, for its log and for `holdfast doctor`."""

from collections.abc import Iterator, Mapping

from holdfast.config.sections import Config
from holdfast.core.errors import HoldfastError
from holdfast.providers.registry import Setup, check_key


def findings(config: Config, setup: Setup, environ: Mapping[str, str]) -> Iterator[str]:
    for key, name in (("compaction.model", config.compaction.model), ("titles.model", config.titles.model)):
        if name and name not in setup.models:
            yield (
                f"{key} names {name}, and there is no such model; there is {_listed(setup)}. Until "
                "this is corrected the default model is called."
            )
    used = {model.provider for model in setup.models.values() if model.enabled}
    for provider in setup.providers.values():
        if provider.enabled and provider.name in used:
            try:
                check_key(provider, environ)
            except HoldfastError as error:
                yield f"The provider {provider.name} has no key: {error.text}. Its models cannot be called."
    for name in setup.without_models:
        yield (
            f"No model uses the provider {name} yet. `holdfast model discover {name}` lists what it has and "
            f'adds one; or write [models.default] with provider = "{name}" into holdfast.toml.'
        )


def _listed(setup: Setup) -> str:
    return ", ".join(setup.models) or "none"
