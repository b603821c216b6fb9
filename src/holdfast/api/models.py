"""The models that chats may use, and the tools."""

from typing import Annotated

from litestar import Router, get, put
from litestar.params import JSONBody
from msgspec import Meta

from holdfast.api.bodies import JsonRequest
from holdfast.api.commands import nothing, once_of
from holdfast.api.pages import Cursor, Limit, Page, page_of
from holdfast.api.problems import Problem, invalid
from holdfast.api.services import By, Services, With, needs
from holdfast.core.calls import Effect
from holdfast.core.chats import ProviderTool
from holdfast.core.shapes import Border, Json, Record
from holdfast.providers.configs import ModelConfig
from holdfast.providers.model_facts import ModelPrice
from holdfast.providers.registry import provider_tools_of


class ModelShown(Record, frozen=True, kw_only=True):
    name: str
    provider: str
    model: str
    context_limit: int | None
    inputs: tuple[str, ...]
    efforts: tuple[str, ...]
    # Whether it can call tools.
    tools: bool
    # The tools that its provider can run itself, and those of them that are on unless a chat says otherwise.
    can_run: tuple[ProviderTool, ...]
    provider_tools: tuple[ProviderTool, ...]
    # Per million tokens, if known.
    price: ModelPrice | None
    default: bool


class ChooseDefault(Border, frozen=True, kw_only=True):
    name: Annotated[str, Meta(min_length=1, max_length=64)] | None


class ToolShown(Record, frozen=True, kw_only=True):
    name: str
    description: str
    input_schema: Json
    effect: Effect


@get("/models", guards=[needs("chats:read")])
async def list_models(
    services: With, caller: By, limit: Limit = 50, cursor: Cursor = None
) -> Page[ModelShown]:
    """The models that can be named in a request; `default` is used if none is."""
    setup = services.providers.setup
    shown = [
        _shown(services, services.providers.described(model))
        for model in setup.models.values()
        if model.enabled and model.provider in setup.providers and setup.providers[model.provider].enabled
    ]
    return page_of(shown, limit, cursor, lambda model: model.name)


def _shown(services: Services, model: ModelConfig) -> ModelShown:
    return ModelShown(
        name=model.name,
        provider=model.provider,
        model=model.model,
        context_limit=model.context_limit,
        inputs=model.inputs,
        efforts=model.efforts,
        tools=model.tools,
        can_run=provider_tools_of(services.providers.setup.providers[model.provider]) if model.tools else (),
        provider_tools=model.provider_tools,
        price=services.providers.facts(model.provider, model.model).price,
        default=model.name == services.providers.setup.default,
    )


@put("/models/default", guards=[needs("admin")], status_code=204)
async def choose_default_model(
    request: JsonRequest, data: JSONBody[ChooseDefault], services: With, caller: By
) -> None:
    """Choose the default model; null removes the choice. `[models] default` in the configuration takes
    precedence."""
    if data.name is not None and data.name not in services.providers.setup.models:
        raise invalid("name", "there is no such model; GET /api/v1/models lists them")
    configured = services.config().default_model
    if data.name is not None and configured not in ("", data.name):
        raise Problem(
            "wrong_state",
            f'[models] default = "{configured}" in the configuration takes precedence; change it there.',
        )
    once = await once_of(caller, request, nothing)
    await services.stored.choose_default(caller, data.name, once=once)
    await services.refresh()


@get("/tools", guards=[needs("chats:read")])
async def list_tools(services: With, caller: By, limit: Limit = 50, cursor: Cursor = None) -> Page[ToolShown]:
    """The built-in tools and their inputs."""
    shown = [
        ToolShown(
            name=tool.name,
            description=tool.description,
            input_schema=tool.schema,
            effect=tool.effect,
        )
        for tool in services.tools
    ]
    return page_of(shown, limit, cursor, lambda tool: tool.name)


router = Router("/", route_handlers=[list_models, choose_default_model, list_tools], tags=["models"])
