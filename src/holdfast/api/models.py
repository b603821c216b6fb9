"""The models that chats may use, and the tools."""

from litestar import Router, get

from holdfast.api.pages import Cursor, Limit, Page, page_of
from holdfast.api.services import By, With, needs
from holdfast.core.calls import Effect
from holdfast.core.shapes import Json, Record


class ModelShown(Record, frozen=True, kw_only=True):
    name: str
    provider: str
    model: str
    context_limit: int | None
    inputs: tuple[str, ...]
    efforts: tuple[str, ...]
    default: bool


class ToolShown(Record, frozen=True, kw_only=True):
    name: str
    description: str
    input_schema: Json
    effect: Effect


@get("/models", guards=[needs("chats:read")])
async def list_models(
    services: With, caller: By, limit: Limit = 50, cursor: Cursor = None
) -> Page[ModelShown]:
    """Those that can be named in a request; `default` is taken when none is."""
    setup = services.providers.setup
    shown = [
        ModelShown(
            name=model.name,
            provider=model.provider,
            model=model.model,
            context_limit=model.context_limit,
            inputs=model.inputs,
            efforts=model.efforts,
            default=model.name == setup.default,
        )
        for model in setup.models.values()
        if model.enabled and model.provider in setup.providers and setup.providers[model.provider].enabled
    ]
    return page_of(shown, limit, cursor, lambda model: model.name)


@get("/tools", guards=[needs("chats:read")])
async def list_tools(services: With, caller: By, limit: Limit = 50, cursor: Cursor = None) -> Page[ToolShown]:
    """The built-in tools, with what they take."""
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


router = Router("/", route_handlers=[list_models, list_tools], tags=["models"])
