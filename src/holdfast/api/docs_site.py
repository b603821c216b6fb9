"""The documentation as a site under `/docs/`, open to everybody: the repository's Markdown files, rendered on
request, under their own names, so that their links work unchanged. No scripts, nothing from other sites."""

import asyncio
import re
from base64 import b64encode
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from html import escape
from itertools import pairwise
from pathlib import Path
from typing import Any

from litestar import Request, Response, Router, get
from litestar.params import FromPath
from litestar.response import Redirect
from markdown_it import MarkdownIt

from holdfast.api.problems import not_found

# In a wheel next to the program, in a checkout at its top.
_PACKED, _CHECKOUT = Path(__file__).parent.parent / "docs", Path(__file__).parents[3] / "docs"
_INDEX = "index.md"
_SECTIONS = (("", "Start"), ("guides", "Guides"), ("reference", "Reference"))
_PICTURES = {".png": "image/png", ".svg": "image/svg+xml"}
_STYLE = """
:root{color-scheme:light dark;--line:#8884;--soft:#8882;--link:light-dark(#0b5cad,#7db8ff)}
body{font:16px/1.6 system-ui,sans-serif;margin:0;display:grid;grid-template-columns:15rem minmax(0,1fr)}
nav{border-right:1px solid var(--line);padding:1rem;height:100vh;overflow:auto;position:sticky;top:0}
nav{box-sizing:border-box;font-size:14px}nav h2{font-size:13px;margin:1.2rem 0 .3rem;opacity:.7}
nav ul{list-style:none;margin:0;padding:0}nav a{display:block;padding:.15rem 0;text-decoration:none}
nav a[aria-current]{font-weight:600}main{padding:1rem 2rem 4rem;max-width:50rem;min-width:0}
a{color:var(--link)}code{background:var(--soft);padding:.1rem .3rem;border-radius:4px;font-size:.9em}
pre{background:var(--soft);padding:.8rem 1rem;border-radius:6px;overflow:auto}
pre code{background:none;padding:0}table{border-collapse:collapse;display:block;overflow:auto}
td,th{border:1px solid var(--line);padding:.3rem .6rem;text-align:left;vertical-align:top}
img{max-width:100%}h1{line-height:1.2}@media(max-width:48rem){body{display:block}
nav{position:static;height:auto;border:0;border-bottom:1px solid var(--line)}main{padding:1rem}}
"""
_CSP = (
    f"default-src 'none'; style-src 'sha256-{b64encode(sha256(_STYLE.encode()).digest()).decode()}'; "
    "img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_NOT_IN_SLUG = re.compile(r"[^\w\- ]")


@dataclass(frozen=True, slots=True)
class Document:
    """`name` is its path below the documentation."""

    name: str
    title: str


def root() -> Path:
    return _PACKED if _PACKED.is_dir() else _CHECKOUT


@get("/docs", include_in_schema=False)
async def index(request: Request[Any, Any, Any]) -> Response[Any]:
    """The router treats `/docs/` as the same. Links in it are relative to that."""
    if not request.scope["raw_path"].endswith(b"/"):
        return Redirect("/docs/")
    return await _answer(_INDEX)


@get("/docs/{path:path}", include_in_schema=False)
async def document(path: FromPath[Path]) -> Response[bytes]:
    return await _answer(str(path).strip("/") or _INDEX)


async def _answer(name: str) -> Response[bytes]:
    return await asyncio.to_thread(_made, name)


def _made(name: str) -> Response[bytes]:
    folder = root().resolve()
    path = (folder / name).resolve()
    if not path.is_relative_to(folder) or not path.is_file():
        raise not_found("page of the documentation")
    if (media_type := _PICTURES.get(path.suffix)) is not None:
        return Response(path.read_bytes(), media_type=media_type, headers={"Cache-Control": "max-age=3600"})
    if path.suffix != ".md":
        raise not_found("page of the documentation")
    content = _drawn(path.relative_to(folder).as_posix(), path.stat().st_mtime_ns)
    return Response(content, media_type="text/html", headers={"Content-Security-Policy": _CSP})


@lru_cache(maxsize=100)
def _drawn(name: str, _changed: int) -> bytes:
    text = (root() / name).read_text(encoding="utf-8")
    return page(name, text, documents(root())).encode()


def documents(folder: Path) -> tuple[Document, ...]:
    """All documents, by section and title; the index first."""
    found = [
        Document(path.relative_to(folder).as_posix(), title_of(path.read_text(encoding="utf-8")))
        for path in sorted(folder.rglob("*.md"))
    ]
    return tuple(sorted(found, key=lambda one: (one.name != _INDEX, one.title.lower())))


def title_of(text: str) -> str:
    first = text.lstrip().partition("\n")[0]
    return first.lstrip("# ").replace("`", "").strip() or "Untitled"


def page(name: str, text: str, listed: tuple[Document, ...]) -> str:
    """One document with the list of all beside it."""
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title_of(text))} · Holdfast</title><style>{_STYLE}</style></head><body>"
        f'<nav aria-label="Documentation">{_navigation(name, listed)}</nav>'
        f"<main>{_html(text)}</main></body></html>"
    )


def _navigation(name: str, listed: tuple[Document, ...]) -> str:
    parts: list[str] = []
    for folder, title in _SECTIONS:
        inside = [one for one in listed if one.name.rpartition("/")[0] == folder]
        links = "".join(
            f'<li><a href="/docs/{escape(one.name)}"{_current(one.name == name)}>{escape(one.title)}</a></li>'
            for one in inside
        )
        if folder == "reference":
            links += '<li><a href="/docs/api">HTTP API (signed in)</a></li>'
        parts.append(f"<h2>{title}</h2><ul>{links}</ul>")
    return "".join(parts)


def _current(is_it: bool) -> str:
    return ' aria-current="page"' if is_it else ""


def _html(text: str) -> str:
    markdown = MarkdownIt("commonmark", {"html": False}).enable("table")
    tokens = markdown.parse(text)
    for token, inside in pairwise(tokens):
        if token.type == "heading_open":
            token.attrSet("id", slug(inside.content))
    return markdown.renderer.render(tokens, markdown.options, {})


def slug(heading: str) -> str:
    """The anchor of a heading, as links in the files name it."""
    return _NOT_IN_SLUG.sub("", heading.lower()).strip().replace(" ", "-")


router = Router("/", route_handlers=[index, document])
