"""Providers and model configs that admins keep in the database. Keys go in and never come out."""

from typing import Annotated, Any, Literal

from litestar import Router, delete, get, post, put
from litestar.params import JSONBody
from msgspec import Meta, field
from msgspec.structs import asdict

from holdfast.accounts.stored_providers import Written
from holdfast.api.bodies import JsonRequest, checked_json
from holdfast.api.commands import nothing, once_of
from holdfast.api.pages import Cursor, Limit, Page, page_of
from holdfast.api.problems import Problem, invalid, not_found
from holdfast.api.services import By, InPath, With, needs
from holdfast.config.sources import Origin
from holdfast.core.chats import ProviderTool
from holdfast.core.errors import AttemptFailed, HoldfastError
from holdfast.core.shapes import Border, Json, Record
from holdfast.providers.configs import (
    DEFAULT_MAX_OUTPUT,
    Input,
    ModelConfig,
    ProviderConfig,
    TextToolCalls,
)
from holdfast.providers.kinds import KINDS
from holdfast.providers.model_facts import ListedModel, ModelPrice
from holdfast.providers.registry import unfit
from holdfast.providers.trial import try_model

MAX_OPTIONS_BYTES = 64 * 1024
Name = Annotated[str, Meta(min_length=1, max_length=64)]


class PutProvider(Border, frozen=True, kw_only=True):
    """Without `api_key` the stored key stays, unless the address changes: then it is required again."""

    kind: Annotated[str, Meta(max_length=64)]
    base_url: Annotated[str, Meta(max_length=2000)] | None = None
    api: Literal["chat", "responses"] = "chat"
    api_version: Annotated[str, Meta(max_length=40)] | None = None
    api_key: Annotated[str, Meta(min_length=1, max_length=4000)] | None = None
    enabled: bool = True


class PutModel(Border, frozen=True, kw_only=True):
    """`efforts`, `inputs` and `context_limit`, if omitted, are filled in from what is known about the
    model."""

    provider: Name
    model: Annotated[str, Meta(max_length=200)]
    context_limit: int | None = None
    max_output: int = DEFAULT_MAX_OUTPUT
    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    presence_penalty: float | None = None
    frequency_penalty: float | None = None
    efforts: tuple[str, ...] = ()
    inputs: tuple[Input, ...] = ()
    compaction_threshold: int | None = None
    tools: bool = True
    chain: bool = False
    text_tool_calls: TextToolCalls = "auto"
    provider_tools: tuple[ProviderTool, ...] = ()
    provider_options: dict[str, Json] = field(default_factory=dict[str, Json])
    enabled: bool = True


class ProviderShown(Record, frozen=True, kw_only=True):
    """`origin` says where it is configured: an entry of the file or the environment is changed there."""

    name: str
    kind: str
    base_url: str | None
    api: str
    api_version: str | None
    has_key: bool
    enabled: bool
    origin: Origin


class ModelConfigShown(ModelConfig, frozen=True, kw_only=True):
    origin: Origin


class OfferedModel(Record, frozen=True, kw_only=True):
    """A model that a provider offers, with what is known about it; null or empty if unknown. `configured_as`
    has the names of the model configs that use it."""

    model: str
    title: str | None
    context_limit: int | None
    max_output: int | None
    inputs: tuple[Input, ...]
    efforts: tuple[str, ...]
    tools: bool | None
    # Per million tokens.
    price: ModelPrice | None
    configured_as: tuple[str, ...]


class Trial(Record, frozen=True, kw_only=True):
    """The result of a short call to a model."""

    ok: bool
    message: str


@get("/providers", guards=[needs("admin")])
async def list_providers(
    services: With, caller: By, limit: Limit = 50, cursor: Cursor = None
) -> Page[ProviderShown]:
    """The providers in use, wherever they are configured; never their keys."""
    setup, origins = services.providers.setup, services.origins()
    shown = [
        _provider_shown(
            provider,
            # One that nobody configured exists because of the key in its usual variable.
            origins.provider_origins.get(
                provider.name, "built_in" if provider.kind == "demo" else "environment"
            ),
            has_key=services.providers.has_key(provider),
        )
        for provider in setup.providers.values()
    ]
    return page_of(shown, limit, cursor, lambda provider: provider.name)


@put("/providers/{name:str}", guards=[needs("admin")])
async def put_provider(
    request: JsonRequest, name: InPath, data: JSONBody[PutProvider], services: With, caller: By
) -> ProviderShown:
    """Create or replace a provider."""
    config = ProviderConfig(name=name, **asdict(data))

    def answer(written: Written) -> tuple[int, ProviderShown]:
        # Without its own key it uses that of its kind's environment variable, if there is one.
        has_key = written.has_key or services.providers.has_key(written.config)
        return 200, _provider_shown(written.config, "database", has_key=has_key)

    once = await once_of(caller, request, answer)
    written = await services.stored.put_provider(caller, config, once=once)
    await services.refresh()
    return answer(written)[1]


@delete("/providers/{name:str}", guards=[needs("admin")], status_code=204)
async def delete_provider(request: JsonRequest, name: InPath, services: With, caller: By) -> None:
    """Delete a provider and its key."""
    await services.stored.delete_provider(caller, name, once=await once_of(caller, request, nothing))
    await services.refresh()


@get("/providers/{name:str}/models", guards=[needs("admin")])
async def list_offered_models(
    name: InPath, services: With, caller: By, limit: Limit = 50, cursor: Cursor = None
) -> Page[OfferedModel]:
    """Ask the provider which models it has. 502 `provider_failed` if it does not say."""
    if name not in services.providers.setup.providers:
        raise not_found("provider")
    try:
        listed = await services.discovery.list_models(name)
    except AttemptFailed as error:
        raise Problem("provider_failed", error.failure.message) from None
    uses: dict[str, list[str]] = {}
    for config in services.providers.setup.models.values():
        if config.provider == name:
            uses.setdefault(config.model, []).append(config.name)
    shown = [_offered(model, tuple(uses.get(model.id, ()))) for model in listed]
    return page_of(shown, limit, cursor, lambda model: model.model)


@get("/model-configs", guards=[needs("admin")])
async def list_model_configs(
    services: With, caller: By, limit: Limit = 50, cursor: Cursor = None
) -> Page[ModelConfigShown]:
    """The models in use with their configuration."""
    setup, origins = services.providers.setup, services.origins()
    shown = [
        _shown(model, origins.model_origins.get(model.name, "built_in")) for model in setup.models.values()
    ]
    return page_of(shown, limit, cursor, lambda model: model.name)


@put("/model-configs/{name:str}", guards=[needs("admin")])
async def put_model_config(
    request: JsonRequest, name: InPath, data: JSONBody[PutModel], services: With, caller: By
) -> ModelConfigShown:
    """Create or replace a model's configuration."""
    if data.provider not in services.providers.setup.providers and data.provider not in KINDS:
        raise invalid("provider", "there is no such provider; GET /api/v1/providers lists them")
    known = services.providers.setup.providers.get(data.provider)
    checked_json("provider_options", data.provider_options, most_bytes=MAX_OPTIONS_BYTES)
    config = ModelConfig(name=name, **asdict(data))
    if known is not None and (fault := unfit(config, known)) is not None:
        raise invalid(*fault)

    def answer(stored: ModelConfig) -> tuple[int, ModelConfigShown]:
        return 200, _shown(stored, "database")

    once = await once_of(caller, request, answer)
    stored = await services.stored.put_model(caller, config, once=once)
    await services.refresh()
    return answer(stored)[1]


@delete("/model-configs/{name:str}", guards=[needs("admin")], status_code=204)
async def delete_model_config(request: JsonRequest, name: InPath, services: With, caller: By) -> None:
    """Delete a model's configuration. Chats that chose it continue with the default model."""
    await services.stored.delete_model(caller, name, once=await once_of(caller, request, nothing))
    await services.refresh()


@post("/model-configs/{name:str}/test", guards=[needs("admin")], status_code=200)
async def try_model_config(name: InPath, services: With, caller: By) -> Trial:
    """Call the model with one short message and report the result."""
    if name not in services.providers.setup.models:
        raise not_found("model")
    try:
        services.providers.require(name)
        answer = await try_model(services.providers, name)
    except AttemptFailed as error:
        return Trial(ok=False, message=error.failure.message)
    except HoldfastError as error:
        return Trial(ok=False, message=error.text)
    return Trial(ok=True, message=answer)


def _provider_shown(config: ProviderConfig, origin: Origin, *, has_key: bool) -> ProviderShown:
    return ProviderShown(
        name=config.name,
        kind=config.kind,
        base_url=config.base_url,
        api=config.api,
        api_version=config.api_version,
        has_key=has_key,
        enabled=config.enabled,
        origin=origin,
    )


def _offered(model: ListedModel, configured_as: tuple[str, ...]) -> OfferedModel:
    facts = model.facts
    return OfferedModel(
        model=model.id,
        title=model.title,
        context_limit=facts.context,
        max_output=facts.max_output,
        inputs=facts.inputs,
        efforts=facts.efforts,
        tools=facts.tools,
        price=facts.price,
        configured_as=configured_as,
    )


def _shown(config: ModelConfig, origin: Origin) -> ModelConfigShown:
    fields: dict[str, Any] = asdict(config)
    return ModelConfigShown(**fields, origin=origin)


router = Router(
    "/",
    route_handlers=[
        list_providers,
        put_provider,
        delete_provider,
        list_offered_models,
        list_model_configs,
        put_model_config,
        delete_model_config,
        try_model_config,
    ],
    tags=["providers"],
)
