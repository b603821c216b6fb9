"""What happens to every API request before its handler: unknown parameters are refused, and a request that
was already answered under its key gets the same answer again."""

from collections.abc import Collection
from typing import Any

from litestar import Request, Response
from litestar.connection import ASGIConnection
from litestar.handlers import BaseRouteHandler
from litestar.params import QueryParameter

from holdfast.api.commands import repeated
from holdfast.api.gate import is_public
from holdfast.api.problems import invalid


def known_query(connection: ASGIConnection[Any, Any, Any, Any], handler: BaseRouteHandler) -> None:
    """A guard of all routes at once. A WebSocket's handler checks for itself, to answer with a problem."""
    if connection.scope["type"] == "http" and connection.query_params:
        check_names(connection, known_parameters(handler))


async def first(request: Request[Any, Any, Any]) -> Response[Any] | None:
    return await options(request) or await repeated(request)


async def options(request: Request[Any, Any, Any]) -> Response[Any] | None:
    """All methods of a path, including those whose handlers are in different places."""
    if request.method != "OPTIONS":
        return None
    template = request.scope["path_template"]
    methods = {
        method
        for route in request.app.routes
        if route.path_format == template
        for method in (getattr(route, "methods", None) or ())
    }
    if "GET" in methods and is_public("GET", request.scope["path"]):
        methods.add("HEAD")
    return Response(None, status_code=204, headers={"Allow": ", ".join(sorted(methods))})


def check_names(connection: ASGIConnection[Any, Any, Any, Any], known: Collection[str]) -> None:
    """A typing error would silently show something else than was asked for; so would a repeated parameter."""
    seen: set[str] = set()
    for name, _ in connection.query_params.multi_items():
        if name not in known:
            there_is = f"there is {', '.join(known)}" if known else "it takes none"
            raise invalid(name[:100], f"not a parameter of this route; {there_is}")
        if name in seen:
            raise invalid(name, "given twice")
        seen.add(name)


def known_parameters(handler: BaseRouteHandler) -> tuple[str, ...]:
    """Those in the handler's own signature."""
    return tuple(
        field.kwarg_definition.name or name
        for name, field in handler.parsed_fn_signature.parameters.items()
        if isinstance(field.kwarg_definition, QueryParameter)
    )
