"""The web as tools: what is fetched and what is refused, in a network of the test's own with public
addresses; what becomes of documents; the search services as they answer."""

import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from holdfast.core.calls import said_key
from holdfast.core.ids import CallId, ChatId, UserId
from holdfast.core.secret import Secret
from holdfast.tools.approval import ApprovalRules
from holdfast.tools.contract import ToolContext, ToolError
from holdfast.tools.web.documents import Documents
from holdfast.tools.web.fetch import fetch
from holdfast.tools.web.fetched import MOST_BYTES, Fetched, FetchFailed, FetchRules
from holdfast.tools.web.search import EngineName, search_web
from holdfast.tools.web.web_tools import WebFetch, WebSearch, WebSettings, WebTools, web_tools

HERE = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def world() -> dict[str, Any]:
    """Every case of `web_world`, tried in a network namespace."""
    unshare = ["unshare", "--net"] if os.geteuid() == 0 else ["unshare", "--net", "--map-root-user"]
    ran = subprocess.run(
        [*unshare, sys.executable, "-m", "tests.tools.web_world"],
        cwd=HERE,
        capture_output=True,
        timeout=110,
        check=False,
    )
    if ran.returncode != 0 and b"unshare" in ran.stderr:
        pytest.skip("this machine gives nobody a network namespace")
    assert ran.returncode == 0, ran.stderr.decode()
    return json.loads(ran.stdout)


@pytest.mark.heavy
def test_pages_come_as_they_are(world: dict[str, Any]) -> None:
    found = world["results"]
    for name in ("page", "gzip", "deflate", "redirected", "relative", "rebinding"):
        assert found[name]["begins"].startswith("<html>"), name
        assert found[name]["status"] == 200
    assert found["missing"]["status"] == 404
    assert found["redirected"]["url"] == "http://other.test/page"


@pytest.mark.heavy
@pytest.mark.parametrize(
    "name, reason",
    [
        ("private", "not a public address"),
        ("loopback", "not a public address"),
        ("mapped", "stands for another"),
        ("metadata", "metadata"),
        ("both", "not a public address"),
        ("redirect-private", "not a public address"),
        ("redirect-literal", "not a public address"),
        ("redirect-file", "only http"),
        ("redirect-port", "port 8420"),
        ("redirect-denied", "not allowed"),
        ("loop", "redirected more than"),
        ("unknown", "cannot be resolved"),
        ("denied", "not allowed"),
        ("denied-letters", "not allowed"),
        ("not-allowed", "not allowed"),
        ("credentials", "user name or password"),
        ("scheme", "only http"),
        ("long", "longer than"),
        ("brotli", "was not asked for"),
        ("not-gzip", "did not answer properly"),
        ("short", "did not answer properly"),
        ("headers", "did not answer properly"),
        ("silent", "no whole answer"),
    ],
)
def test_what_is_refused_says_why(world: dict[str, Any], name: str, reason: str) -> None:
    assert reason in world["results"][name]["failed"]


@pytest.mark.heavy
def test_what_is_too_large_is_cut(world: dict[str, Any]) -> None:
    for name in ("bomb", "endless"):
        assert world["results"][name]["size"] == MOST_BYTES
        assert world["results"][name]["cut"]


@pytest.mark.heavy
def test_nothing_is_sent_along(world: dict[str, Any]) -> None:
    assert not any("cookie" in head.lower() or "authorization" in head.lower() for head in world["seen"])


@pytest.mark.parametrize(
    "url",
    [
        *("http://127.0.0.1/", "http://localhost/", "http://0/", "http://0x7f000001/", "http://2130706433/"),
        *("http://017700000001/", "http://127.1/", "http://[::1]/", "http://[::ffff:7f00:1]/"),
        *("http://169.254.169.254/", "http://[fd00:ec2::254]/", "http://100.100.100.200/"),
        *("http://168.63.129.16/", "http://metadata.google.internal/", "http://metadata.google.internal./"),
        *("http://localhost./", "http://[64:ff9b::7f00:1]/", "http://[2002:7f00:1::]/", "file:///etc/passwd"),
        *("http://", "//x", "http://a b/", "http://x:99999/", "http://x:22/", "javascript:1"),
    ],
)
async def test_addresses_that_are_never_reached(url: str) -> None:
    async def nobody(_: str, __: int) -> list[str]:
        raise AssertionError("it must not come to a look-up")

    with pytest.raises(FetchFailed):
        await fetch(url, FetchRules, resolve=nobody)


# Documents


def fetched(content: bytes, media_type: str = "text/html", **more: Any) -> Fetched:
    given: dict[str, Any] = {"url": "http://x/", "status": 200, "charset": None, "cut": False, **more}
    return Fetched(content=content, media_type=media_type, **given)


async def test_a_page_becomes_markdown_without_what_only_browsers_need() -> None:
    page = (
        b"<html><head><title>A page</title><style>p{}</style><script>alert(1)</script></head><body>"
        b"<h2>Head</h2><p>Some <b>text</b> <a href='https://x.test/'>link</a><img src='http://evil/x.png'></p>"
        b"<table><tr><th>a</th></tr><tr><td>1</td></tr></table></body></html>"
    )
    found = await Documents(None).read(fetched(page))
    assert found.title == "A page"
    assert "## Head" in found.text
    assert "[link](https://x.test/)" in found.text
    for gone in ("alert", "p{}", "evil"):
        assert gone not in found.text


@pytest.mark.parametrize(
    "content, media_type, text",
    [
        (b"plain \x00 text", "text/plain", "plain"),
        (b'{"a": 1}', "application/json", '{"a": 1}'),
        ("gr\u00fc\u00df".encode("latin-1"), "text/plain; x", "gr\u00fc\u00df"),
    ],
)
async def test_other_texts_are_taken_as_they_are(content: bytes, media_type: str, text: str) -> None:
    given = fetched(content, media_type.partition(";")[0], charset="latin-1")
    assert text in (await Documents(None).read(given)).text


async def test_a_pdf_becomes_its_words(tmp_path: Path) -> None:
    stream = b"BT /F1 12 Tf 72 720 Td (Hello from paper) Tj ET"
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>>>",
        b"<</Length %d>>stream\n%s\nendstream" % (len(stream), stream),
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    ]
    pdf, places = b"%PDF-1.4\n", list[int]()
    for number, one in enumerate(objects, 1):
        places.append(len(pdf))
        pdf += b"%d 0 obj%s endobj\n" % (number, one)
    start = len(pdf)
    pdf += b"xref\n0 6\n0000000000 65535 f \n" + b"".join(b"%010d 00000 n \n" % place for place in places)
    pdf += b"trailer<</Size 6/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF" % start
    assert "Hello from paper" in (await Documents(None).read(fetched(pdf, "application/pdf"))).text
    with pytest.raises(FetchFailed, match="cannot be read"):
        await Documents(None).read(fetched(b"%PDF-1.4 nonsense", "application/pdf"))
    with pytest.raises(FetchFailed, match="larger than"):
        await Documents(None).read(fetched(pdf, "application/pdf", cut=True))


async def test_what_is_no_text_is_refused() -> None:
    with pytest.raises(FetchFailed, match="image/png"):
        await Documents(None).read(fetched(b"\x89PNG", "image/png"))


# Searching


RESULTS: dict[EngineName, Any] = {
    "searxng": {"results": [{"url": "https://a.test/", "title": "A", "content": "text of a"}]},
    "brave": {"web": {"results": [{"url": "https://a.test/", "title": "A", "description": "text of a"}]}},
    "tavily": {"results": [{"url": "https://a.test/", "title": "A", "content": "text of a"}]},
    "exa": {"results": [{"url": "https://a.test/", "title": "A", "text": "text of a"}]},
}
KEYS: dict[EngineName, tuple[str, str]] = {
    "brave": ("X-Subscription-Token", "canary"),
    "tavily": ("Authorization", "Bearer canary"),
    "exa": ("x-api-key", "canary"),
}


class Searching:
    """A search service on this machine: `answer` is what it says next."""

    def __init__(self) -> None:
        self.asked: list[web.Request] = []
        self.answer: web.Response = web.json_response({})
        self.url = ""

    async def handle(self, request: web.Request) -> web.Response:
        await request.read()
        self.asked.append(request)
        return self.answer


@pytest.fixture
async def searching() -> AsyncIterator[Searching]:
    found = Searching()
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", found.handle)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    host, port = runner.addresses[0][:2]
    found.url = f"http://{host}:{port}"
    yield found
    await runner.cleanup()


@pytest.mark.parametrize("service", RESULTS)
async def test_results_of_each_service(searching: Searching, service: EngineName) -> None:
    searching.answer = web.json_response(RESULTS[service])
    (found,) = await search_web(service, searching.url, Secret("canary"), "the query", 3)
    assert (found.url, found.title, found.text) == ("https://a.test/", "A", "text of a")
    if service in KEYS:
        name, value = KEYS[service]
        assert searching.asked[0].headers[name] == value
        assert "canary" not in str(searching.asked[0].url)


@pytest.mark.parametrize("body", [b"not json", b"[]", b'{"results": 1}'])
async def test_a_service_that_answers_nonsense(searching: Searching, body: bytes) -> None:
    searching.answer = web.Response(body=body)
    with pytest.raises(FetchFailed, match="something else"):
        await search_web("searxng", searching.url, Secret(""), "q", 3)


async def test_results_without_an_address_of_the_web_are_left_out(searching: Searching) -> None:
    searching.answer = web.json_response({"results": [1, {"title": "x"}, {"url": "file:///etc/passwd"}]})
    assert await search_web("searxng", searching.url, Secret(""), "q", 3) == ()


async def test_a_service_that_refuses_is_named_without_the_key(searching: Searching) -> None:
    searching.answer = web.Response(status=401, text="canary")
    with pytest.raises(FetchFailed, match="status 401") as failed:
        await search_web("brave", searching.url, Secret("canary"), "q", 3)
    assert "canary" not in str(failed.value)
    with pytest.raises(FetchFailed, match="cannot be reached"):
        await search_web("brave", "http://127.0.0.1:1", Secret("canary"), "q", 3)


# The tools

CONTEXT = ToolContext(
    chat_id=ChatId("c"), owner_id=UserId("o"), workspace_id=None, call_id=CallId("c"), run=1
)


async def test_search_is_offered_where_a_service_is_configured(searching: Searching) -> None:
    assert [tool.name for tool in web_tools(WebSettings, Documents(None))] == ["web_fetch"]
    searching.answer = web.json_response(RESULTS["searxng"])
    settings = WebSettings(search="searxng", search_url=searching.url)
    assert [tool.name for tool in web_tools(lambda: settings, Documents(None))] == ["web_fetch", "web_search"]
    answer: Any = (
        await WebTools(lambda: settings, Documents(None)).search(CONTEXT, WebSearch(query="q"))
    ).output
    assert answer["sources"] == [{"url": "https://a.test/", "title": "A"}]
    with pytest.raises(ToolError, match="not fetched"):
        await WebTools(lambda: settings, Documents(None)).fetch(CONTEXT, WebFetch(url="http://127.0.0.1/"))


def test_a_person_is_asked_once_for_each_host() -> None:
    (tool,) = web_tools(WebSettings, Documents(None))
    rules = ApprovalRules(
        walled=True, said_here={said_key("web_fetch", "a.test"): True, "web_fetch b.test": False}
    )
    assert rules.judge(tool, {"url": "https://a.test/x"})[0] == "run"
    assert rules.judge(tool, {"url": "https://b.test/"})[0] == "deny"
    assert rules.judge(tool, {"url": "https://other.test/"})[0] == "ask"
    assert rules.judge(tool, {"url": "https://a.test.evil.test/"})[0] == "ask"
