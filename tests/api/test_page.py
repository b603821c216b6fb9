"""The page's files: compressed where a browser takes it, kept for ever or not at all; a strict policy."""

import gzip
import re

import pytest

from holdfast.api.page import ROOT, accepted
from tests.api.serving import Serving


async def test_the_page_is_never_kept_and_names_files_that_are(server: Serving) -> None:
    page = await server.nobody.get("/", headers={"Accept-Encoding": "identity"})
    assert (page.status, page.headers["Cache-Control"]) == (200, "no-store")
    names = re.findall(r'(?:src|href)="(/assets/[^"]+)"', page.body.decode())
    assert {name.rpartition(".")[2] for name in names} == {"js", "css", "svg"}
    for name in names:
        file = await server.nobody.get(name)
        assert file.status == 200, name
        assert "immutable" in file.headers["Cache-Control"]
        assert file.headers["X-Content-Type-Options"] == "nosniff"


async def test_the_first_load_stays_small(server: Serving) -> None:
    """Scripts, styles and the font, as a browser gets them."""
    page = await server.nobody.get("/", headers={"Accept-Encoding": "identity"})
    names = re.findall(r'(?:src|href)="/(assets/[^"]+)"', page.body.decode())
    files = [ROOT / name for name in names] + list((ROOT / "assets").glob("*.woff2"))
    packed = [file.with_name(f"{file.name}.gz") for file in files]
    sizes = [
        one.stat().st_size if one.exists() else file.stat().st_size
        for file, one in zip(files, packed, strict=True)
    ]
    assert sum(sizes) < 400_000


@pytest.mark.parametrize("path", ["/login", "/chats/x", "/settings/models"])
async def test_every_address_of_the_page_is_the_page(server: Serving, path: str) -> None:
    assert (await server.nobody.get(path)).body == (await server.nobody.get("/")).body


async def test_an_address_that_leads_nowhere_is_a_page_for_people(server: Serving) -> None:
    """And a problem for programs; of the API it is always one."""
    browser = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
    shown = await server.nobody.get("/no/such/page", headers=browser)
    assert (shown.status, shown.headers["Content-Type"].partition(";")[0]) == (404, "text/html")
    assert b"<script" in shown.body
    assert (await server.nobody.get("/no/such/page")).code == "not_found"
    assert (await server.nobody.get("/assets/nothing.js", headers=browser)).code == "not_found"
    assert (await server.admin.get("/api/v1/nothing", headers=browser)).code == "not_found"


async def test_what_was_compressed_is_sent_so_to_who_takes_it(server: Serving) -> None:
    script = next(path for path in (ROOT / "assets").glob("index-*.js"))
    plain = await server.nobody.get(f"/assets/{script.name}", headers={"Accept-Encoding": "identity"})
    assert "Content-Encoding" not in plain.headers
    assert plain.body == script.read_bytes()
    # The client of these tests takes gzip apart by itself.
    packed = await server.nobody.get(f"/assets/{script.name}", headers={"Accept-Encoding": "gzip"})
    assert packed.headers["Content-Encoding"] == "gzip"
    assert packed.headers["Vary"] == "Accept-Encoding"
    assert packed.body == plain.body
    assert gzip.decompress(script.with_name(f"{script.name}.gz").read_bytes()) == plain.body
    assert int(packed.headers["Content-Length"]) < len(plain.body) / 2


async def test_the_policy_allows_our_own_files_and_nothing_else(server: Serving) -> None:
    policy = (await server.nobody.get("/")).headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "script-src 'self'; style-src 'self';" in policy
    assert "unsafe" not in policy
    reference = await server.admin.get("/docs/api")
    assert "unsafe" not in reference.headers["Content-Security-Policy"]
    assert "style-src 'sha256-" in reference.headers["Content-Security-Policy"]


@pytest.mark.parametrize(
    "header, encodings",
    [
        ("", set[str]()),
        ("gzip, deflate, br, zstd", {"gzip", "deflate", "br", "zstd"}),
        ("br;q=1.0, gzip;q=0.5", {"br", "gzip"}),
        ("br;q=0, gzip; q=0.0, deflate", {"deflate"}),
    ],
)
def test_encodings_with_a_weight_of_nothing_are_not_taken(header: str, encodings: set[str]) -> None:
    assert accepted(header) - {""} == encodings
