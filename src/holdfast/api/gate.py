"""What every request passes before a handler sees it: the right host, the right origin, a valid credential.
Plain ASGI around the whole application, so that no route can forget it; routes that do not exist also answer
401 to strangers."""

import re
from collections.abc import Callable, Iterable
from typing import Any, cast
from urllib.parse import urlsplit

from litestar.types import ASGIApp, Receive, Scope, Send

from holdfast.accounts.access import Access, Caller
from holdfast.api.denials import Denials
from holdfast.api.local_requests import is_by_socket, is_from_here
from holdfast.api.problems import Problem, not_found, problem_of
from holdfast.core.shapes import encode

COOKIE = "holdfast_session"
# Besides the page's own files. Of the documentation only these need a signed-in user.
_API_PAGES = "/docs/api"
PUBLIC = frozenset({("GET", "/healthz"), ("GET", "/readyz"), ("POST", "/api/v1/session")})
_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
_TWISTED = re.compile(r"^[^/]|//|/\.\.?(?:/|$)|\0")
# A name or an address, perhaps with a port, and nothing else.
_HOST = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^\[\]:/@?#\s]+)(?::[0-9]{1,5})?")
# A second header of these could mean something else to a proxy, or to a browser, than to us.
_ONCE = (b"authorization", b"content-type", b"origin", b"sec-fetch-site")
_LOCAL = ("127.0.0.1", "localhost", "[::1]")

CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "font-src 'self'; connect-src 'self'; worker-src 'self'; manifest-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'"
)
SECURITY_HEADERS: tuple[tuple[bytes, bytes], ...] = (
    (b"content-security-policy", CSP.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), microphone=(), geolocation=()"),
)


class Gate:
    def __init__(
        self,
        app: ASGIApp,
        access: Access,
        denials: Denials,
        hosts: Iterable[str],
        ready: Callable[[], bool] = lambda: True,
    ) -> None:
        """When `ready` says no, the server is stopping: then every answer closes its connection, so that
        clients connect elsewhere and none is cut off at the end."""
        self._app = app
        self._ready = ready
        self._access = access
        self._denials = denials
        self._hosts = frozenset(_as_in_header(host) for host in (*_LOCAL, *hosts))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        statuses: list[int] = []

        async def answer(message: Any) -> None:
            if message["type"] in ("http.response.start", "websocket.http.response.start"):
                statuses.append(message["status"])
                message["headers"] = _with_security(scope, message.get("headers", []))
                if scope["type"] == "http" and not self._ready():
                    message["headers"].append((b"connection", b"close"))
            await send(message)

        headers = _Headers(scope["headers"])
        try:
            check_once(headers)
            check_host(headers, self._hosts)
            method = _method(scope)
            secret, by_cookie = credential(headers)
            check_origin(
                headers,
                method=method,
                websocket=scope["type"] == "websocket",
                by_cookie=by_cookie,
                page=is_page(scope["path"]),
            )
            caller = await self._caller(scope, secret)
            if caller is None and not is_public(method, scope["path"]):
                raise _unauthorized(secret is not None)
            if not is_plain(scope["path"]):
                raise not_found("route")
        except Exception as error:  # noqa: BLE001 - the border of the request
            await refuse(scope, receive, answer, problem_of(error))
            return
        scope["state"]["caller"] = caller
        await self._app(_as_get(scope), receive, answer)
        if 403 in statuses and caller is not None:
            await self._denials.note(caller, f"{method} {scope['path']}")

    async def _caller(self, scope: Scope, secret: str | None) -> Caller | None:
        if is_by_socket(scope):
            return await self._access.over_socket(secret)
        caller = None if secret is None else await self._access.authenticate(secret)
        if caller is not None and caller.local and not is_from_here(scope):
            raise only_here()
        return caller


def only_here() -> Problem:
    return Problem(
        "unauthorized",
        "The token for local programs is only valid on the server's own machine. Use your own token.",
        headers={"WWW-Authenticate": "Bearer"},
    )


def _method(scope: Scope) -> str:
    """A WebSocket starts as a GET."""
    return str(scope["method"]) if scope["type"] == "http" else "GET"


def _as_get(scope: Scope) -> Scope:
    """HEAD of a public path is a GET whose body the connection omits."""
    if scope["type"] == "http" and scope["method"] == "HEAD" and is_public("GET", scope["path"]):
        return cast(Scope, {**scope, "method": "GET"})
    return scope


def is_public(method: str, path: str) -> bool:
    method = "GET" if method == "HEAD" else method
    return (method, path) in PUBLIC or (method == "GET" and is_page(path))


def is_page(path: str) -> bool:
    return is_plain(path) and not path.startswith(("/api", "/v1", _API_PAGES, "/healthz", "/readyz"))


def is_plain(path: str) -> bool:
    """The router treats `//docs` as `/docs`. Checks that look at the start of a path must not be fooled."""
    return _TWISTED.search(path) is None


def check_once(headers: "_Headers") -> None:
    for name in _ONCE:
        if len(headers.all(name)) > 1:
            raise Problem("bad_request", f"A request has at most one {name.decode().title()} header.")


def check_host(headers: "_Headers", hosts: frozenset[str]) -> None:
    named = headers.all(b"host")
    if len(named) != 1:
        raise Problem("bad_request", "A request has exactly one Host header.")
    if host_name(named[0]) not in hosts:
        raise Problem(
            "misdirected",
            "This server does not answer under that host name. Add it to server.hosts if it should.",
        )


def host_name(host: str) -> str:
    """Without the port; an IPv6 address keeps its brackets. Empty: it is invalid."""
    found = _HOST.fullmatch(host)
    return "" if found is None else found[1].lower()


def _as_in_header(host: str) -> str:
    """As in a Host header: an IPv6 address in brackets."""
    return f"[{host}]".lower() if ":" in host and not host.startswith("[") else host.lower()


def check_origin(headers: "_Headers", *, method: str, websocket: bool, by_cookie: bool, page: bool) -> None:
    """A browser says where a request comes from. What another site makes it send is refused, whatever
    credential it carries."""
    origin, site = headers.one(b"origin"), headers.one(b"sec-fetch-site")
    if origin is not None:
        if not _same_origin(origin, headers.one(b"host") or ""):
            raise Problem("forbidden", "Requests from other sites are refused.")
        return
    if site in ("cross-site", "same-site") and not (page and method in _SAFE):
        raise Problem("forbidden", "Requests from other sites are refused.")
    if by_cookie and (websocket or method not in _SAFE) and site != "same-origin":
        raise Problem("forbidden", "A request with a session cookie must say that it comes from this site.")


def _same_origin(origin: str, host: str) -> bool:
    try:
        parsed = urlsplit(origin)
    except ValueError:
        return False
    return parsed.scheme in ("http", "https") and parsed.netloc.lower() == host.lower()


def credential(headers: "_Headers") -> tuple[str | None, bool]:
    """The secret of a request, and whether it came from a cookie. A token takes precedence over a cookie."""
    authorization = headers.one(b"authorization")
    if authorization is not None:
        kind, _, secret = authorization.partition(" ")
        return (secret.strip() if kind.lower() == "bearer" else None), False
    # Not the library's parser: it gives up at the first cookie of another program that it cannot read, and
    # all programs on localhost share their cookies.
    pairs = [pair.strip().partition("=") for line in headers.all(b"cookie") for pair in line.split(";")]
    values = {value for name, _, value in pairs if name == COOKIE}
    if len(values) > 1:
        raise Problem(
            "bad_request",
            "The session cookie came with two values. Delete the cookies of this site and sign in again.",
        )
    return (values.pop(), True) if values else (None, False)


def _unauthorized(shown: bool) -> Problem:
    text = (
        "The credential is not valid, or no longer valid. Sign in again, or use another token."
        if shown
        else "Sign in, or send an API token as Authorization: Bearer <token>."
    )
    return Problem("unauthorized", text, headers={"WWW-Authenticate": "Bearer"})


class _Headers:
    def __init__(self, raw: Iterable[tuple[bytes, bytes]]) -> None:
        self._raw = list(raw)

    def all(self, name: bytes) -> list[str]:
        return [value.decode("latin-1") for key, value in self._raw if key == name]

    def one(self, name: bytes) -> str | None:
        found = self.all(name)
        return found[0] if found else None


def _with_security(scope: Scope, given: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    headers = list(given)
    have = {name.lower() for name, _ in headers}
    headers += [item for item in SECURITY_HEADERS if item[0] not in have]
    if b"cache-control" not in have and not is_page(scope["path"]):
        headers.append((b"cache-control", b"no-store"))
    return headers


async def refuse(scope: Scope, receive: Receive, send: Send, problem: Problem) -> None:
    """Answers without the application. A WebSocket is refused before it is accepted."""
    if scope["type"] == "websocket" and "websocket.http.response" not in scope.get("extensions", {}):
        await receive()
        await send(
            {"type": "websocket.close", "code": 4000 + problem.status % 1000, "reason": problem.body.code}
        )
        return
    kind = "http.response" if scope["type"] == "http" else "websocket.http.response"
    body = encode(problem.body)
    start: Any = {
        "type": f"{kind}.start",
        "status": problem.status,
        "headers": [
            (b"content-type", b"application/problem+json"),
            (b"content-length", str(len(body)).encode()),
            *((name.lower().encode(), value.encode()) for name, value in problem.headers.items()),
        ],
    }
    end: Any = {"type": f"{kind}.body", "body": body, "more_body": False}
    await send(start)
    await send(end)
