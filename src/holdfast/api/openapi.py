"""The OpenAPI document as it is served: components under short names, every problem described, and the data
of feed events, which no handler returns."""

import asyncio
import re
from collections.abc import Callable
from typing import Any, cast

import msgspec

from holdfast.api.export_formats import EXPORT_VERSION
from holdfast.api.problems import ProblemBody
from holdfast.core.feed_events import CATALOGUE, FeedKind, events_of
from holdfast.core.shapes import encode

REF = "#/components/schemas/{name}"
UPLOAD: dict[str, Any] = {
    "title": "FileUpload",
    "type": "object",
    "properties": {"file": {"type": "string", "format": "binary"}},
    "required": ["file"],
}
# What `export` writes as JSON, and `import` reads.
EXPORT: dict[str, Any] = {
    "title": "ChatExport",
    "type": "object",
    "properties": {
        "holdfast_export": {"type": "integer", "const": EXPORT_VERSION},
        # A Chat and its Messages, as they are shown elsewhere.
        "chat": {"type": "object"},
        "messages": {"type": "array", "items": {"type": "object"}, "minItems": 1},
    },
    "required": ["holdfast_export", "chat", "messages"],
}
# Request headers that handlers do not declare, because they are read in one place for all.
KEY: dict[str, Any] = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "description": "A request repeated with the same key is executed once and gets the same answer.",
    "schema": {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[!-~]+$"},
}
LAST_EVENT: dict[str, Any] = {
    "name": "Last-Event-ID",
    "in": "header",
    "required": False,
    "description": "The id of the last event seen; takes precedence over `cursor`.",
    "schema": {"type": "string"},
}
# A caller who signs in or out is nobody yet or any more; a trial and a proposal change nothing; files that
# are as they were asked to be stay so; and what talks with somebody else's program cannot promise
# to do it once.
KEYLESS = (
    *("sign_in", "sign_out", "try_model_config"),
    *(
        "apply_changes",
        "reject_changes",
        "undo_changes",
        "rewind_chat",
        "commit",
        "branch",
        "remove_worktree",
        "keep_worktree",
        "merge_worktree",
        "propose_commit_message",
    ),
    *("answer_mcp_question", "finish_mcp_sign_in", "approve_mcp_tools", "connect_mcp_server"),
    *("use_mcp_prompt", "try_mcp_server", "try_hook"),
)
FEEDS = ("chat_feed", "list_feed", "run_feed")
PUBLIC = ("sign_in", "healthz", "readyz")
# Other formats than JSON, on request.
EXPORTS = {kind: {"schema": {"type": "string"}} for kind in ("text/markdown", "text/html")}
_PAGE = re.compile(r"Page_(?:[a-z_]+\.)*([A-Za-z]+)_")
_METHODS = ("get", "post", "put", "patch", "delete")


class Described:
    """The document, made on first request and in a thread: it takes longer than others should wait."""

    def __init__(self, make: Callable[[], dict[str, Any]]) -> None:
        self._make = make
        self._made: bytes | None = None
        self._making = asyncio.Lock()

    async def json(self) -> bytes:
        async with self._making:
            if self._made is None:
                self._made = await asyncio.to_thread(lambda: encode(self._make()))
        return self._made


def finished(document: dict[str, Any]) -> dict[str, Any]:
    document = cast(dict[str, Any], _renamed(document))
    schemas: dict[str, Any] = document["components"]["schemas"]
    _, components = msgspec.json.schema_components(
        (ProblemBody, *(event.data for event in CATALOGUE)), ref_template=REF, schema_hook=_any
    )
    for name, schema in components.items():
        schemas.setdefault(name, schema)
    for schema in schemas.values():
        # What is only for a provider is never shown.
        schema.get("properties", {}).pop("provider_data", None)
    schemas["FileUpload"] = UPLOAD
    for operation in _uploads(document):
        content = {"multipart/form-data": {"schema": {"$ref": REF.format(name="FileUpload")}}}
        operation["requestBody"] = {"content": content, "required": True}
    schemas["ChatExport"] = EXPORT
    importing = document["paths"]["/api/v1/chats/import"]["post"]
    content = {"application/json": {"schema": {"$ref": REF.format(name="ChatExport")}}}
    importing["requestBody"] = {"content": content, "required": True}
    importing["responses"]["200"] = importing["responses"]["201"] | {
        "description": "It was imported before: the chat in its current state."
    }
    problem = {"schema": {"$ref": REF.format(name="ProblemBody")}}
    for item in document["paths"].values():
        for method in _METHODS:
            if method in item:
                _say_who_and_headers(method, item[method])
                # The framework's own description of errors is not what we answer, and it knows nothing of
                # 503.
                responses = {
                    code: value
                    for code, value in item[method]["responses"].items()
                    if code[0] in "23" or code == "503"
                }
                if item[method]["operationId"] == "export_chat":
                    responses["200"]["content"] |= EXPORTS
                # An empty answer has no type.
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
    document["x-feed-events"] = _data_of("chat")
    document["x-list-feed-events"] = _data_of("chats")
    document["x-run-feed-events"] = _data_of("run")
    document["x-flow-run-feed-events"] = _data_of("flow_run")
    document["security"] = [{"token": []}, {"session": []}]
    return document


def _say_who_and_headers(method: str, operation: dict[str, Any]) -> None:
    name = operation["operationId"]
    if name in PUBLIC:
        operation["security"] = []
    if name in FEEDS:
        operation["parameters"].append(LAST_EVENT)
    elif method != "get" and name not in KEYLESS:
        operation.setdefault("parameters", []).append(KEY)


def _data_of(feed: FeedKind) -> dict[str, str]:
    return {event: REF.format(name=data.__name__) for event, data in events_of(feed).items()}


def _uploads(document: dict[str, Any]) -> list[dict[str, Any]]:
    """Their forms are read as they arrive, which the framework does not know."""
    return [
        item["post"] for path, item in document["paths"].items() if path.endswith("/files") and "post" in item
    ]


def _any(kind: type) -> dict[str, Any]:
    """For `Json`, which is anything."""
    if kind is object:
        return {"description": "Any JSON."}
    raise NotImplementedError(f"no schema for {kind}")


def _renamed(value: Any) -> Any:
    """`Page_holdfast.core.chats.Chat_` becomes `ChatPage` everywhere."""
    if isinstance(value, dict):
        fields = cast(dict[str, Any], value)
        return {_short(key): _renamed(item) for key, item in fields.items()}
    if isinstance(value, list):
        return [_renamed(item) for item in cast(list[Any], value)]
    return _short(value) if isinstance(value, str) else value


def _short(text: str) -> str:
    return _PAGE.sub(r"\1Page", text) if "Page_" in text else text
