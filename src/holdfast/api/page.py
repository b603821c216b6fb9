"""The page's static files, and what stands in for them where none were built."""

import asyncio
import mimetypes
from pathlib import Path

from litestar import Response, Router, get
from litestar.params import FromPath

from holdfast.api.problems import not_found

ROOT = (Path(__file__).parent.parent / "page").resolve()
_YEAR = "public, max-age=31536000, immutable"


@get(
    ["/", "/login", "/chats", "/chats/{path:path}", "/settings", "/settings/{path:path}"],
    include_in_schema=False,
)
async def index() -> Response[bytes]:
    """The page finds out by itself what it is to show."""
    return await asyncio.to_thread(_file, "index.html", within=ROOT, cache="no-cache")


@get("/assets/{path:path}", include_in_schema=False)
async def asset(path: FromPath[Path]) -> Response[bytes]:
    """Files whose names change with what is in them."""
    return await asyncio.to_thread(_file, str(path).lstrip("/"), within=ROOT / "assets", cache=_YEAR)


def _file(name: str, *, within: Path, cache: str) -> Response[bytes]:
    try:
        path = (within / name).resolve()
        if not path.is_relative_to(within):
            raise not_found("file")
        content = path.read_bytes()
    except OSError:
        raise not_found("file") from None
    media_type = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
    return Response(content, media_type=media_type, headers={"Cache-Control": cache})


router = Router("/", route_handlers=[index, asset])
