"""The documentation under /docs/: open, whole, and nothing but the documentation."""

import re
from html import unescape
from pathlib import Path
from urllib.parse import urljoin

import pytest

from holdfast.api.docs_site import documents, root, slug
from tests.api.serving import Serving

DOCS = Path(__file__).parents[2] / "docs"


async def test_every_document_is_shown_to_everybody(server: Serving) -> None:
    listed = documents(root())
    assert {one.name for one in listed} == {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")}
    for one in listed:
        answer = await server.nobody.get(f"/docs/{one.name}")
        assert answer.status == 200, one
        assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
        assert "unsafe" not in answer.headers["Content-Security-Policy"]
        assert "<script" not in answer.body.decode()


async def test_links_between_documents_lead_somewhere(server: Serving) -> None:
    broken: list[str] = []
    for one in documents(root()):
        page = (await server.nobody.get(f"/docs/{one.name}")).body.decode()
        for href in re.findall(r'(?:href|src)="([^"]+)"', page):
            target = urljoin(f"/docs/{one.name}", unescape(href).partition("#")[0])
            if not target.startswith("/docs/") or target == "/docs/api":
                continue
            if (await server.nobody.get(target)).status != 200 and not target.endswith(".json"):
                broken.append(f"{one.name}: {href}")
    assert broken == []


async def test_the_first_page_has_the_list_of_all(server: Serving) -> None:
    there = await server.nobody.get("/docs")
    assert (there.status, there.headers["Location"]) == (302, "/docs/")
    page = (await server.nobody.get("/docs/")).body.decode()
    assert 'href="/docs/tutorial.md"' in page
    assert 'aria-current="page"' in page


@pytest.mark.parametrize("path", ["/docs/api", "/docs/api/", "/docs/api/x"])
async def test_the_pages_of_the_api_are_for_who_is_signed_in(server: Serving, path: str) -> None:
    assert (await server.nobody.get(path)).status == 401
    if path != "/docs/api/x":
        assert "Holdfast API" in (await server.admin.get(path)).body.decode()


@pytest.mark.parametrize(
    "path",
    ["/docs/%2e%2e/pyproject.toml", "/docs/nothing.md", "/docs/reference/openapi.json", "/docs/guides"],
)
async def test_nothing_else_is_shown(server: Serving, path: str) -> None:
    assert (await server.nobody.get(path)).status in (401, 404)


def test_anchors_are_those_that_links_use() -> None:
    assert slug("What `each` replica needs?") == "what-each-replica-needs"
