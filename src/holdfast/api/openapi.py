"""The OpenAPI document as it is served: components under short names, every problem described, and the data
of feed events, which no handler returns."""

import re
from typing import Any, cast

import msgspec
from litestar import Request
from litestar.openapi.plugins import JsonRenderPlugin
from typing_extensions import override

from holdfast.api.problems import ProblemBody
from holdfast.core.calls import Action
from holdfast.core.chats import Chat
from holdfast.core.failures import Failure, Retry
from holdfast.core.shapes import encode
from holdfast.core.spans import Span
from holdfast.core.usage import Usage
from holdfast.feed.frames import PartData
from holdfast.feed.watch import MessageData, QueueData, StatusData

REF = "#/components/schemas/{name}"
# What the data of each event of a chat's feed is; the others have none.
EVENTS: dict[str, type] = {
    "chat": Chat,
    "message": MessageData,
    "part": PartData,
    "queue": QueueData,
    "status": StatusData,
    "retry": Retry,
    "failed": Failure,
    "action_required": Action,
    "span": Span,
    "usage": Usage,
}
_PAGE = re.compile(r"Page_(?:[a-z_]+\.)*([A-Za-z]+)_")
_METHODS = ("get", "post", "put", "patch", "delete")


class Rendered(JsonRenderPlugin):
    @override
    def render(self, request: Request[Any, Any, Any], openapi_schema: dict[str, Any]) -> bytes:
        return encode(finished(openapi_schema))


def finished(document: dict[str, Any]) -> dict[str, Any]:
    document = cast(dict[str, Any], _renamed(document))
    schemas: dict[str, Any] = document["components"]["schemas"]
    _, components = msgspec.json.schema_components(
        (ProblemBody, *EVENTS.values()), ref_template=REF, schema_hook=_any
    )
    for name, schema in components.items():
        schemas.setdefault(name, schema)
    problem = {"schema": {"$ref": REF.format(name="ProblemBody")}}
    for item in document["paths"].values():
        for method in _METHODS:
            if method in item:
                # What the framework says of its own errors is not what we answer.
                responses = {
                    code: value for code, value in item[method]["responses"].items() if code[0] in "23"
                }
                # Nothing has no type.
                responses.get("204", {}).pop("content", None)
                item[method]["responses"] = responses | {
                    "default": {
                        "description": "A problem: `code` says which.",
                        "content": {"application/problem+json": problem},
                    }
                }
    document["components"]["securitySchemes"] = {
        "token": {"type": "http", "scheme": "bearer"},
        "session": {"type": "apiKey", "in": "cookie", "name": "holdfast_session"},
    }
    document["x-feed-events"] = {event: REF.format(name=data.__name__) for event, data in EVENTS.items()}
    document["security"] = [{"token": []}, {"session": []}]
    return document


def _any(kind: type) -> dict[str, Any]:
    """Of `Json`, which is anything."""
    if kind is object:
        return {"description": "Any JSON."}
    raise NotImplementedError(f"no schema for {kind}")


def _renamed(value: Any) -> Any:
    """`Page_holdfast.core.chats.Chat_` becomes `ChatPage`, wherever it stands."""
    if isinstance(value, dict):
        fields = cast(dict[str, Any], value)
        return {_short(key): _renamed(item) for key, item in fields.items()}
    if isinstance(value, list):
        return [_renamed(item) for item in cast(list[Any], value)]
    return _short(value) if isinstance(value, str) else value


def _short(text: str) -> str:
    return _PAGE.sub(r"\1Page", text) if "Page_" in text else text
