"""Web search through a service that the administrator configured: how to ask each one, and where its answer
has the results."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast

import msgspec

from holdfast.core.secret import Secret
from holdfast.core.shapes import Json
from holdfast.core.text import one_line
from holdfast.tools.web.fetched import FetchFailed

EngineName = Literal["searxng", "brave", "tavily", "exa"]
SEARCH_SECONDS = 20.0
MOST_RESULTS = 20
_ANSWER_BYTES = 4 * 1024 * 1024
_SNIPPET_CHARACTERS = 500


@dataclass(frozen=True, kw_only=True)
class WebResult:
    url: str
    title: str
    text: str


@dataclass(frozen=True, kw_only=True)
class EngineRequest:
    method: Literal["GET", "POST"]
    path: str
    query: Mapping[str, str] | None = None
    headers: Mapping[str, str] | None = None
    body: Json = None


@dataclass(frozen=True, kw_only=True)
class SearchEngine:
    """`results` is the path to the list in the answer; `text` is the field with a result's excerpt."""

    address: str
    results: tuple[str, ...]
    text: str

    def request(self, service: EngineName, query: str, count: int, key: str) -> EngineRequest:
        match service:
            case "searxng":
                return EngineRequest(method="GET", path="/search", query={"q": query, "format": "json"})
            case "brave":
                return EngineRequest(
                    method="GET",
                    path="/res/v1/web/search",
                    query={"q": query, "count": str(count)},
                    headers={"X-Subscription-Token": key},
                )
            case "tavily":
                return EngineRequest(
                    method="POST",
                    path="/search",
                    headers={"Authorization": f"Bearer {key}"},
                    body={"query": query, "max_results": count},
                )
            case "exa":
                return EngineRequest(
                    method="POST",
                    path="/search",
                    headers={"x-api-key": key},
                    body={
                        "query": query,
                        "numResults": count,
                        "contents": {"text": {"maxCharacters": _SNIPPET_CHARACTERS}},
                    },
                )


SERVICES: dict[EngineName, SearchEngine] = {
    "searxng": SearchEngine(address="", results=("results",), text="content"),
    "brave": SearchEngine(
        address="https://api.search.brave.com", results=("web", "results"), text="description"
    ),
    "tavily": SearchEngine(address="https://api.tavily.com", results=("results",), text="content"),
    "exa": SearchEngine(address="https://api.exa.ai", results=("results",), text="text"),
}


async def search_web(
    service: EngineName, url: str, key: Secret, query: str, count: int
) -> tuple[WebResult, ...]:
    """Raises FetchFailed with the reason, which never contains the key."""
    import aiohttp

    found = SERVICES[service]
    asked = found.request(service, query, count, key.reveal())
    try:
        async with (
            aiohttp.ClientSession(
                timeout=aiohttp.ClientTimeout(total=SEARCH_SECONDS), cookie_jar=aiohttp.DummyCookieJar()
            ) as session,
            session.request(
                asked.method,
                (url or found.address).rstrip("/") + asked.path,
                params=asked.query,
                json=asked.body,
                headers=asked.headers,
                allow_redirects=False,
            ) as answer,
        ):
            if answer.status != 200:
                raise FetchFailed(f"The search service {service} answered with status {answer.status}.")
            content = await answer.content.read(_ANSWER_BYTES + 1)
            while len(content) <= _ANSWER_BYTES and (more := await answer.content.read(_ANSWER_BYTES)):
                content += more
    except (aiohttp.ClientError, TimeoutError, OSError) as error:
        raise FetchFailed(
            f"The search service {service} cannot be reached ({type(error).__name__})."
        ) from None
    return _results(found, content, count)


def _results(found: SearchEngine, content: bytes, count: int) -> tuple[WebResult, ...]:
    try:
        value: Any = msgspec.json.decode(content)
        for name in found.results:
            value = cast(dict[str, Any], value)[name]
        rows = [cast(dict[str, Any], row) for row in cast(list[Any], value) if isinstance(row, dict)]
    except (msgspec.DecodeError, KeyError, TypeError):
        raise FetchFailed("The search service answered with something else than results.") from None
    return tuple(
        WebResult(
            url=str(row["url"])[:2000],
            title=one_line(str(row.get("title") or ""), 200),
            text=one_line(str(row.get(found.text) or ""), _SNIPPET_CHARACTERS),
        )
        for row in rows[:count]
        if str(row.get("url") or "").startswith(("http://", "https://"))
    )
