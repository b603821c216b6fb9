"""The API's reference as a page, made from the OpenAPI document: no scripts, nothing from other sites."""

import asyncio
from base64 import b64encode
from hashlib import sha256
from html import escape
from typing import Any, cast

import msgspec
from litestar import Request, Response, Router, get

from holdfast.api.openapi import Described

_STYLE = (
    "body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}"
    "code{background:#8882;padding:.1rem .3rem;border-radius:4px}h2{margin-top:2rem}dt{margin-top:1rem}"
    "dd{margin:0 0 0 1.5rem}:root{color-scheme:light dark}"
)
_CSP = (
    f"default-src 'none'; style-src 'sha256-{b64encode(sha256(_STYLE.encode()).digest()).decode()}'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_METHODS = ("get", "post", "put", "patch", "delete")


@get("/api/openapi.json", include_in_schema=False)
async def openapi(request: Request[Any, Any, Any]) -> Response[bytes]:
    return Response(await _described(request), media_type="application/vnd.oai.openapi+json")


@get("/docs/api", include_in_schema=False)
async def docs(request: Request[Any, Any, Any]) -> Response[bytes]:
    document = await _described(request)
    made = await asyncio.to_thread(lambda: page(msgspec.json.decode(document)).encode())
    return Response(made, media_type="text/html", headers={"Content-Security-Policy": _CSP})


async def _described(request: Request[Any, Any, Any]) -> bytes:
    described: Described = request.app.state["described"]
    return await described.json()


def page(schema: dict[str, Any]) -> str:
    by_tag: dict[str, list[str]] = {}
    for path, item in cast(dict[str, dict[str, Any]], schema["paths"]).items():
        for method in _METHODS:
            if (operation := item.get(method)) is not None:
                tag = (operation.get("tags") or ["other"])[0]
                by_tag.setdefault(tag, []).append(_operation(method, path, operation))
    sections = "".join(f"<h2>{escape(tag)}</h2><dl>{''.join(lines)}</dl>" for tag, lines in by_tag.items())
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>Holdfast API</title>'
        f"<style>{_STYLE}</style>"
        "<h1>Holdfast API</h1><p>The same for programs: "
        '<a href="/api/openapi.json"><code>/api/openapi.json</code></a>. '
        f"Send a token as <code>Authorization: Bearer</code>.</p>{sections}</html>"
    )


def _operation(method: str, path: str, operation: dict[str, Any]) -> str:
    about = escape(operation.get("description") or operation.get("summary") or "")
    asked = [
        f"<code>{escape(parameter['name'])}</code>"
        for parameter in operation.get("parameters", [])
        if parameter.get("in") == "query"
    ]
    query = f" Query: {', '.join(asked)}." if asked else ""
    return f"<dt><code>{method.upper()} {escape(path)}</code></dt><dd>{about}{query}</dd>"


router = Router("/", route_handlers=[openapi, docs])
