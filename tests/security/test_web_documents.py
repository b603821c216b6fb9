"""Documents of hostile web servers: bounded in time and memory, and read as what they are."""

import resource
import time
import zlib
from typing import Any

import pytest

from holdfast.tools.web.documents import Documents
from holdfast.tools.web.fetched import MOST_BYTES, Fetched, FetchFailed


def fetched(content: bytes, media_type: str, charset: str | None = None) -> Fetched:
    given: dict[str, Any] = {"url": "http://x/", "status": 200, "cut": False}
    return Fetched(content=content, media_type=media_type, charset=charset, **given)


@pytest.mark.parametrize(
    "charset", ["punycode", "idna", "unicode_escape", "utf-7", "hex", "../x", "x" * 9000]
)
@pytest.mark.parametrize("media_type", ["text/plain", "text/html"])
async def test_only_what_pages_are_written_in_is_decoded(charset: str, media_type: str) -> None:
    """punycode takes hours for so much, and does not let go of the processor."""
    content = (b"-" + b"zzz9" * MOST_BYTES)[: MOST_BYTES if media_type == "text/plain" else 4000]
    began = time.process_time()
    found = await Documents(None).read(fetched(content, media_type, charset))
    assert time.process_time() - began < 20
    assert "zzz9" in found.text


@pytest.mark.parametrize(
    "charset, text", [("utf_8", "gr\u00fc\u00df"), ("Shift_JIS", "\u3042"), ("ISO-8859-1", "gr\u00fc\u00df")]
)
async def test_what_pages_are_written_in_is_read(charset: str, text: str) -> None:
    content = text.encode(charset)
    assert (await Documents(None).read(fetched(content, "text/plain", charset))).text == text


@pytest.mark.heavy
async def test_a_long_page_in_any_writing_is_read() -> None:
    page = "<p>" + "\u0436\u3042\U0001f600 " * 300_000 + "</p>"
    found = await Documents(None).read(fetched(page.encode(), "text/html"))
    assert len(found.text) == 1_000_000


def _pdf(content: bytes, filters: bytes) -> bytes:
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]/Contents 4 0 R>>",
        b"<</Length %d/Filter%s>>stream\n%s\nendstream" % (len(content), filters, content),
    ]
    pdf, places = b"%PDF-1.4\n", list[int]()
    for number, one in enumerate(objects, 1):
        places.append(len(pdf))
        pdf += b"%d 0 obj%s endobj\n" % (number, one)
    start = len(pdf)
    pdf += b"xref\n0 5\n0000000000 65535 f \n" + b"".join(b"%010d 00000 n \n" % place for place in places)
    return pdf + b"trailer<</Size 5/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF" % start


def _deflated(size: int) -> bytes:
    packing = zlib.compressobj(9)
    piece = b" " * 2**20
    return b"".join(packing.compress(piece) for _ in range(size // len(piece))) + packing.flush()


BOMBS = {
    "a page that unpacks to gigabytes": lambda: (_pdf(_deflated(2**28), b"/FlateDecode"), "application/pdf"),
    "packed twice": lambda: (
        _pdf(zlib.compress(_deflated(2**28), 9), b"[/FlateDecode/FlateDecode]"),
        "application/pdf",
    ),
    "deep": lambda: (b"<div>" * 1_000_000, "text/html"),
    "attributes": lambda: (b"<a " + b"x=1 " * 2_000_000 + b">", "text/html"),
    "tables": lambda: (b"<table><tr><td>" * 300_000, "text/html"),
}


@pytest.mark.heavy
@pytest.mark.parametrize("name", BOMBS)
async def test_a_bomb_is_refused_or_read_and_costs_no_memory_here(name: str) -> None:
    content, media_type = BOMBS[name]()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    said = ""
    try:
        said = (await Documents(None).read(fetched(content, media_type))).text
    except FetchFailed as error:
        said = str(error)
    assert len(said) <= 1_000_000
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 64 * 1024
