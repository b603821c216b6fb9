"""From configuration to models that can be called. One HTTP session serves all of them and is closed with the
registry; a chat whose model is gone continues with the default. The HTTP client takes 10 MB of memory and a
quarter of a second to import: a server that only has the demo model does without it."""

import asyncio
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Self, cast

from msgspec.structs import replace

from holdfast.core.chats import ProviderTool
from holdfast.core.errors import AttemptFailed, Bug, InvalidInput, NotFound
from holdfast.core.failures import Failure, ModelLimits
from holdfast.core.shapes import Record
from holdfast.providers.anthropic import AnthropicFormat
from holdfast.providers.configs import (
    PROVIDER_TOOLS,
    Input,
    ModelConfig,
    ProviderConfig,
    check_model,
    check_provider,
    key_place,
    read_key,
)
from holdfast.providers.demo import DemoAdapter
from holdfast.providers.failures import Endpoint
from holdfast.providers.families import family_of
from holdfast.providers.google import GoogleFormat
from holdfast.providers.interface import Adapter
from holdfast.providers.kinds import KINDS, PYDANTIC_AI, Kind
from holdfast.providers.model_facts import ModelFacts, described, facts_by_name, lower
from holdfast.providers.openai import OpenAIFormat
from holdfast.providers.proxies import proxy_of
from holdfast.providers.redact import Redactor
from holdfast.providers.responses import ResponsesFormat
from holdfast.providers.wire import StreamLimits, WireFormat

if TYPE_CHECKING:
    from aiohttp import ClientSession

DEFAULT_MODEL = "default"


class Model(Record, frozen=True, kw_only=True):
    """A model that can be called."""

    config: ModelConfig
    provider: ProviderConfig
    adapter: Adapter
    # Whether this stands in for one that is no longer configured.
    instead: bool = False


@dataclass(frozen=True, slots=True)
class ProviderConnection:
    """What a request to a provider needs."""

    session: "ClientSession"
    family: str
    url: str
    key: str | None
    endpoint: Endpoint
    proxy: str | None


class Setup(Record, frozen=True, kw_only=True):
    """Providers and models by name, complete and checked."""

    providers: dict[str, ProviderConfig]
    models: dict[str, ModelConfig]
    default: str | None

    @property
    def is_demo(self) -> bool:
        """Nothing real is configured: people must be told."""
        return all(provider.kind == "demo" for provider in self.providers.values())

    @property
    def without_models(self) -> tuple[str, ...]:
        """Providers that are enabled and that no model uses."""
        used = {model.provider for model in self.models.values()}
        return tuple(one.name for one in self.providers.values() if one.enabled and one.name not in used)


def complete(
    providers: Iterable[ProviderConfig],
    models: Iterable[ModelConfig],
    environ: Mapping[str, str],
    *,
    default: str = "",
) -> Setup:
    """What is configured, with what the environment adds: a provider and its first model for every usual key
    that no provider uses yet, and the demo model when there is nothing else. `default` names the model that
    is taken when none is; empty: the one called default, else the first."""
    known = {provider.name: provider for provider in providers}
    named = {model.name: model for model in models}
    for provider in known.values():
        check_provider(provider)
        check_kind(provider)
    for model in named.values():
        check_model(model)
        if model.provider not in known and model.provider not in KINDS:
            raise InvalidInput(f"[models.{model.name}]: there is no provider {model.provider}")
    for kind in KINDS.values():
        wanted = any(model.provider == kind.name for model in named.values())
        keyed = bool(kind.key_variable and kind.base_url and environ.get(kind.key_variable, "").strip())
        if kind.name not in known and (wanted or (keyed and not _uses_kind(known, kind.name))):
            known[kind.name] = ProviderConfig(name=kind.name, kind=kind.name)
            if not wanted and kind.first_model is not None:
                _add_first_model(named, kind, kind.name)
    if not named:
        for provider in known.values():
            # An address of one's own says nothing about the models behind it.
            if provider.base_url is None and KINDS[provider.kind].first_model is not None:
                _add_first_model(named, KINDS[provider.kind], provider.name)
    # Who chose the demo model keeps it until there is a real one; it is the default only without others.
    only_demo = all(provider.kind == "demo" for provider in known.values())
    demo = ProviderConfig(name="demo", kind="demo")
    stands_in = not named and known.setdefault("demo", demo).kind == "demo"
    if stands_in:
        named["demo"] = ModelConfig(name="demo", provider="demo", model="demo", context_limit=100_000)
    for model in named.values():
        if (fault := unfit(model, known[model.provider])) is not None:
            raise InvalidInput(f"[models.{model.name}]: {fault[1]}", field=fault[0])
    if default and default not in named:
        raise InvalidInput(
            f"[models] default names {default}, and there is no such model; there is "
            f"{', '.join(named) or 'none'}"
        )
    first = next(iter(named), None) if only_demo or not stands_in else None
    chosen = default or (DEFAULT_MODEL if DEFAULT_MODEL in named else first)
    return Setup(providers=known, models=named, default=chosen)


def _uses_kind(providers: Mapping[str, ProviderConfig], kind: str) -> bool:
    return any(provider.kind == kind for provider in providers.values())


def _add_first_model(models: dict[str, ModelConfig], kind: Kind, provider: str) -> None:
    assert kind.first_model is not None
    models.setdefault(
        provider,
        ModelConfig(
            name=provider,
            provider=provider,
            model=kind.first_model,
            inputs=cast(tuple[Input, ...], kind.inputs),
            efforts=kind.efforts,
        ),
    )


def check_kind(provider: ProviderConfig) -> Kind:
    """Raises InvalidInput when there is no such kind, or it cannot be what is said of it."""
    kind = KINDS.get(provider.kind)
    if kind is None:
        raise InvalidInput(
            f"[providers.{provider.name}]: kind is one of {', '.join(KINDS)}, not {provider.kind}"
        )
    where = f"[providers.{provider.name}]"
    if provider.api != "chat" and not _is_openai(kind.name):
        raise InvalidInput(f'{where}: api = "{provider.api}" is for kinds that speak the OpenAI format')
    if not kind.base_url and not provider.base_url:
        raise InvalidInput(f"{where}: kind {kind.name} needs the base_url of your own resource")
    return kind


def _is_openai(kind: str) -> bool:
    return kind not in ("anthropic", "google", "demo", PYDANTIC_AI)


def unfit(model: ModelConfig, provider: ProviderConfig) -> tuple[str, str] | None:
    """What is configured for the model and its provider cannot do: the field, and what is wrong with it."""
    if model.chain and provider.api != "responses":
        return "chain", f'chain needs api = "responses" of [providers.{provider.name}]'
    if wrong := [tool for tool in model.provider_tools if tool not in provider_tools_of(provider)]:
        can = ", ".join(provider_tools_of(provider)) or "no tool"
        return "provider_tools", f"{provider.name} does not run {', '.join(wrong)} itself; it runs {can}"
    if provider.kind == PYDANTIC_AI and ":" not in model.model:
        return "model", "model is written as provider:model here, as in bedrock:amazon.nova-lite-v1:0"
    return None


def provider_tools_of(provider: ProviderConfig) -> tuple[ProviderTool, ...]:
    """The tools that a provider runs itself, as far as its format goes."""
    kind = check_kind(provider)
    if kind.name in ("anthropic", "google", PYDANTIC_AI) or provider.api == "responses":
        return PROVIDER_TOOLS
    if kind.name == "demo":
        return ()
    known = family_of(kind.name, provider.base_url or kind.base_url).provider_tools
    return tuple(tool for tool in PROVIDER_TOOLS if tool in known)


def _written_key(provider: ProviderConfig) -> str | None:
    """As it is configured; without that, the usual variable of its kind."""
    variable = check_kind(provider).key_variable
    return f"env:{variable}" if provider.api_key is None and variable is not None else provider.api_key


def check_key(provider: ProviderConfig, environ: Mapping[str, str]) -> None:
    """Raises InvalidInput when the key that it needs is not where it is said to be."""
    read_key(_written_key(provider), environ)


class ModelRegistry:
    """Open it as a context manager, on the loop that will call the models."""

    def __init__(
        self, setup: Setup, *, environ: Mapping[str, str], limits: StreamLimits | None = None
    ) -> None:
        self._setup = setup
        self._environ = environ
        self._limits = limits or StreamLimits()
        self._is_open = False
        self._session: ClientSession | None = None
        self._adapters: dict[str, Adapter] = {}
        # What refusals said about models, by provider and model. It is asked anew after a change or a start.
        self._learned: dict[tuple[str, str], ModelLimits] = {}
        self._known_keys: frozenset[str] | None = None
        # Set when there is other configuration.
        self.changed = asyncio.Event()
        # What providers and the price list say about models, by provider and model.
        self._facts: dict[str, dict[str, ModelFacts]] = {}

    @property
    def setup(self) -> Setup:
        return self._setup

    def replace(self, setup: Setup) -> None:
        """Other configuration from the next call on; calls under way go on with what they began with."""
        self._facts = {
            name: facts
            for name, facts in self._facts.items()
            if setup.providers.get(name) == self._setup.providers.get(name)
        }
        self._setup = setup
        self._adapters, self._learned = {}, {}
        self._known_keys = None
        self.changed.set()
        self._prepare()

    def require(self, name: str | None) -> ModelConfig:
        """The config of a model that somebody names now: it must exist and be enabled."""
        if name is None:
            return self.described(self._default())
        config = self._setup.models.get(name)
        if config is None:
            raise NotFound(f"there is no model {name}; there is {', '.join(self._setup.models) or 'none'}")
        if not config.enabled or not self._provider(config).enabled:
            raise InvalidInput(f"the model {name} is disabled")
        return self.described(config)

    def resolve(self, name: str | None) -> Model:
        """The model for a chat that chose this one some time ago. Raises `AttemptFailed` when it cannot be
        called."""
        config = self._setup.models.get(name) if name is not None else None
        instead = name is not None and config is None
        if config is None:
            config = self._default()
        provider = self._provider(config)
        if not config.enabled or not provider.enabled:
            raise _unusable(provider, "disabled", f"The model {config.name} is disabled; choose another.")
        config = _within(self.described(config), self._learned.get((provider.name, config.model)))
        return Model(config=config, provider=provider, adapter=self._adapter(provider), instead=instead)

    def learn(self, model: Model, limits: ModelLimits) -> None:
        """What a refusal said about the model counts from the next call on."""
        key = (model.provider.name, model.config.model)
        before = self._learned.get(key, ModelLimits())
        self._learned[key] = ModelLimits(
            max_output=limits.max_output or before.max_output,
            context_limit=limits.context_limit or before.context_limit,
            tools=limits.tools and before.tools,
        )

    def described(self, config: ModelConfig) -> ModelConfig:
        """The config, with what is known about its model where nothing is configured."""
        return described(config, self.facts(config.provider, config.model))

    def facts(self, provider: str, model: str) -> ModelFacts:
        """What is known about a model of this provider."""
        found = self._facts.get(provider, {}).get(model)
        if found is None and (known := self._setup.providers.get(provider)) is not None:
            return facts_by_name(self.family(known), model)
        return found or ModelFacts()

    def note_facts(self, provider: str, facts: Mapping[str, ModelFacts]) -> None:
        """What was found out about models of this provider counts from the next call on."""
        self._facts[provider] = {**self._facts.get(provider, {}), **facts}

    def family(self, provider: ProviderConfig) -> str:
        """Whose dialect it speaks: `anthropic`, `google`, or a family of the OpenAI format."""
        kind = check_kind(provider)
        if not _is_openai(kind.name):
            return kind.name
        return family_of(kind.name, provider.base_url or kind.base_url).kind

    def has_key(self, provider: ProviderConfig) -> bool:
        """Whether a key is there to be sent, wherever it is written."""
        try:
            return read_key(_written_key(provider), self._environ) is not None
        except InvalidInput:
            return False

    def known_keys(self) -> frozenset[str]:
        """Of all providers there are, as far as they can be read. For whoever must not repeat them."""
        if self._known_keys is None:
            found: set[str] = set()
            for provider in self._setup.providers.values():
                with suppress(InvalidInput):
                    found.add(read_key(_written_key(provider), self._environ) or "")
            self._known_keys = frozenset(found)
        return self._known_keys

    def _default(self) -> ModelConfig:
        config = self._setup.models.get(self._setup.default or "")
        if config is None:
            empty = self._setup.without_models
            raise InvalidInput(
                f"The provider {empty[0]} has no model yet. Add one under Settings, Models and providers, "
                f"or with: holdfast model discover {empty[0]}"
                if empty
                else "No model is configured: add [models.default] to holdfast.toml."
            )
        return config

    def _provider(self, config: ModelConfig) -> ProviderConfig:
        provider = self._setup.providers.get(config.provider)
        if provider is None:
            raise InvalidInput(f"[models.{config.name}]: there is no provider {config.provider}")
        return provider

    def _adapter(self, provider: ProviderConfig) -> Adapter:
        if (adapter := self._adapters.get(provider.name)) is None:
            adapter = self._adapters[provider.name] = self._make(provider)
        return adapter

    def _make(self, provider: ProviderConfig) -> Adapter:
        kind = check_kind(provider)
        if kind.name == "demo":
            return DemoAdapter(provider.name)
        if kind.name == PYDANTIC_AI:
            # The library is loaded by the first call, off the loop.
            from holdfast.providers.pydantic_ai_adapter import PydanticAIAdapter

            return PydanticAIAdapter(provider, read_key(provider.api_key, self._environ), self._limits)
        from holdfast.providers.transport import HttpAdapter

        to = self.connection(provider)
        _, wire = _wire(provider, kind)
        return HttpAdapter(
            to.session,
            wire,
            to.endpoint,
            key=to.key,
            limits=self._limits,
            environ=self._environ,
            query=f"api-version={provider.api_version}" if provider.api_version else "",
        )

    def connection(self, provider: ProviderConfig) -> ProviderConnection:
        """How to reach it. Raises AttemptFailed when its key is missing."""
        session = self._connected()
        written = _written_key(provider)
        try:
            key = read_key(written, self._environ)
        except InvalidInput as error:
            raise _unusable(
                provider,
                "auth",
                f"{provider.name} has no key: {error.text}. Set it, or choose another model.",
            ) from None
        url, _ = _wire(provider, check_kind(provider))
        place = key_place(
            provider if provider.api_key else ProviderConfig(name=provider.name, kind="", api_key=written)
        )
        return ProviderConnection(
            session=session,
            family=self.family(provider),
            url=url,
            key=key,
            endpoint=Endpoint(provider=provider.name, url=url, key_place=place, redactor=Redactor([key])),
            proxy=proxy_of(url, self._environ),
        )

    def _prepare(self) -> None:
        """What is slow happens now, not at somebody's first message."""
        if self._is_open and not self._setup.is_demo:
            self._connected()

    def _connected(self) -> "ClientSession":
        from holdfast.providers.transport import open_session

        if not self._is_open:
            raise Bug("the registry is not open")
        if self._session is None:
            self._session = open_session(self._limits)
        return self._session

    async def __aenter__(self) -> Self:
        self._is_open = True
        self._prepare()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        session, self._session = self._session, None
        self._is_open, self._adapters = False, {}
        if session is not None:
            await session.close()


def _wire(provider: ProviderConfig, kind: Kind) -> tuple[str, WireFormat]:
    url = (provider.base_url or kind.base_url).rstrip("/")
    if kind.name == "anthropic":
        # Written with the version by people who come from the other format.
        return url.removesuffix("/v1"), AnthropicFormat()
    if kind.name == "google":
        return url, GoogleFormat()
    family = family_of(kind.name, url)
    # Azure's addresses of old: the API below the resource, and the model in the path.
    is_resource = family.kind == "azure" and not url.endswith("/v1") and "/openai/deployments/" not in url
    root = f"{url.removesuffix('/openai')}/openai" if is_resource else url
    if provider.api == "responses":
        return root, ResponsesFormat(family)
    return root, OpenAIFormat(family, by_deployment=is_resource)


def _within(config: ModelConfig, limits: ModelLimits | None) -> ModelConfig:
    if limits is None:
        return config
    return replace(
        config,
        max_output=min(config.max_output, limits.max_output or config.max_output),
        context_limit=lower(config.context_limit, limits.context_limit),
        tools=config.tools and limits.tools,
    )


def _unusable(provider: ProviderConfig, kind: str, message: str) -> AttemptFailed:
    return AttemptFailed(Failure(kind=kind, message=message, provider=provider.name))
