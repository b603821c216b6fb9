"""The page's static files as built: compressed once, chosen here by what a browser accepts."""

import asyncio
import mimetypes
from pathlib import Path
from typing import Annotated, Any

from litestar import Request, Response, Router, get
from litestar.params import FromPath, HeaderParameter

from holdfast.api.gate import is_page
from holdfast.api.problems import Problem, not_found, respond

ROOT = (Path(__file__).parent.parent / "page").resolve()
_YEAR = "public, max-age=31536000, immutable"
# Next to a file that was worth compressing; the smaller one first.
_COMPRESSED = {"br": ".br", "gzip": ".gz"}

Accepts = Annotated[str, HeaderParameter(name="accept-encoding")]


@get(
    ["/", "/login", "/chats", "/chats/{path:path}", "/settings", "/settings/{path:path}"],
    include_in_schema=False,
)
async def index(accepts: Accepts = "") -> Response[bytes]:
    """The page itself decides what to show. Not cached, because it names the files of its version."""
    if not (ROOT / "index.html").exists():
        raise Problem("not_found", "The page has not been built. In a checkout, make setup builds it.")
    return await asyncio.to_thread(_file, "index.html", within=ROOT, cache="no-store", accepts=accepts)


@get("/assets/{path:path}", include_in_schema=False)
async def asset(path: FromPath[Path], accepts: Accepts = "") -> Response[bytes]:
    """Files whose names change with their content."""
    name = str(path).lstrip("/")
    return await asyncio.to_thread(_file, name, within=ROOT / "assets", cache=_YEAR, accepts=accepts)


def nowhere(request: Request[Any, Any, Any], error: Exception) -> Response[bytes]:
    """A person who follows a dead link is told so by the page; a program by a problem."""
    path = request.scope["path"]
    asks = request.method in ("GET", "HEAD") and "text/html" in request.headers.get("accept", "")
    if not asks or not is_page(path) or path.startswith("/assets/") or not (ROOT / "index.html").exists():
        return respond(request, error)
    response = _file("index.html", within=ROOT, cache="no-store", accepts="")
    response.status_code = 404
    return response


def _file(name: str, *, within: Path, cache: str, accepts: str) -> Response[bytes]:
    try:
        path = (within / name).resolve()
        if not path.is_relative_to(within):
            raise not_found("file")
        encoding, content = _content(path, accepted(accepts))
    except OSError:
        raise not_found("file") from None
    headers = {"Cache-Control": cache, "Vary": "Accept-Encoding"}
    if encoding is not None:
        headers["Content-Encoding"] = encoding
    media_type = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
    return Response(content, media_type=media_type, headers=headers)


def _content(path: Path, encodings: frozenset[str]) -> tuple[str | None, bytes]:
    for encoding, ending in _COMPRESSED.items():
        beside = path.with_name(path.name + ending)
        if encoding in encodings and beside.exists():
            return encoding, beside.read_bytes()
    return None, path.read_bytes()


def accepted(header: str) -> frozenset[str]:
    """The encodings that a request accepts: those it names, unless with a weight of zero."""
    found: set[str] = set()
    for item in header.lower().split(","):
        name, _, weight = item.partition(";")
        if weight.replace(" ", "").removeprefix("q=").strip("0.") or not weight:
            found.add(name.strip())
    return frozenset(found)


router = Router("/", route_handlers=[index, asset])
