"""Signing in and out. A one-time or API token becomes a session cookie that no script can read."""

from typing import Annotated

from litestar import Response, Router, delete, get, post
from litestar.datastructures import Cookie
from litestar.params import JSONBody
from msgspec import Meta

from holdfast.api.bodies import JsonRequest
from holdfast.api.gate import COOKIE, only_here
from holdfast.api.local_requests import is_from_here
from holdfast.api.problems import Problem
from holdfast.api.services import By, With
from holdfast.core.accounts import Scope, User
from holdfast.core.shapes import Border, Record

SESSION_SECONDS = 30 * 24 * 3600

# The first match wins: most browsers also claim to be those further down the list.
_BROWSERS = (
    ("Edg/", "Edge"),
    ("OPR/", "Opera"),
    ("SamsungBrowser/", "Samsung Internet"),
    ("Firefox/", "Firefox"),
    ("FxiOS/", "Firefox"),
    ("CriOS/", "Chrome"),
    ("HeadlessChrome/", "Chrome"),
    ("Chrome/", "Chrome"),
    ("Safari/", "Safari"),
)
_SYSTEMS = (
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Android", "Android"),
    ("CrOS", "ChromeOS"),
    ("Windows", "Windows"),
    ("Mac OS X", "macOS"),
    ("Linux", "Linux"),
)
_LONGEST = 40


class SignInWith(Border, frozen=True, kw_only=True):
    token: Annotated[str, Meta(max_length=200)]


class Me(Record, frozen=True, kw_only=True):
    """The credential's user, and what it may do."""

    user: User
    scopes: tuple[Scope, ...]


@post("/session", status_code=200)
async def sign_in(request: JsonRequest, data: JSONBody[SignInWith], services: With) -> Response[Me]:
    """Exchange a one-time sign-in token, or an API token, for a session cookie."""
    address = services.attempts.counted_as(request.client, request.headers.getall("x-forwarded-for", []))
    now = services.clock.elapsed()
    known = await services.access.authenticate(data.token)
    if known is not None and known.local and not is_from_here(request.scope):
        services.attempts.failed(address, now)
        raise only_here()
    session = await services.sign_in.exchange(
        data.token, browser_name(request.headers.get("user-agent", "")), address=address or None
    )
    if session is None:
        # Only failures are slowed down: a valid token always works, whoever else guesses from the same
        # address.
        if (wait := services.attempts.wait_seconds(address, now)) > 0:
            raise Problem(
                "rate_limited",
                "Too many attempts to sign in. Wait a minute, then try again.",
                headers={"Retry-After": str(int(wait) + 1)},
            )
        services.attempts.failed(address, now)
        raise Problem(
            "unauthorized",
            "The token is not valid: a sign-in link works once and for ten minutes. "
            "`holdfast user sign-in` makes another.",
            headers={"WWW-Authenticate": "Bearer"},
        )
    caller = await services.access.authenticate(session.secret.reveal())
    scopes = () if caller is None else tuple(sorted(caller.scopes))
    return Response(
        Me(user=session.user, scopes=scopes),
        cookies=[_cookie(request, session.secret.reveal(), SESSION_SECONDS)],
    )


@get("/session")
async def who_am_i(caller: By) -> Me:
    """The credential's user, and what it may do."""
    return Me(user=caller.user, scopes=tuple(sorted(caller.scopes)))


@delete("/session", status_code=204)
async def sign_out(request: JsonRequest, services: With, caller: By) -> Response[None]:
    """End the session. An API token stays valid: revoke it instead."""
    if caller.kind == "session":
        await services.sign_in.sign_out(caller.credential_id)
    return Response(None, status_code=204, cookies=[_cookie(request, "", 0)])


def _cookie(request: JsonRequest, value: str, seconds: int) -> Cookie:
    return Cookie(
        key=COOKIE,
        value=value,
        max_age=seconds,
        httponly=True,
        samesite="strict",
        # `Secure` only if the browser uses TLS: a proxy terminates it, so the origin tells. There is none on
        # loopback.
        secure=request.headers.get("origin", "").startswith("https://"),
    )


router = Router("/", route_handlers=[sign_in, who_am_i, sign_out], tags=["session"])


def browser_name(user_agent: str) -> str:
    """What a person would call the program that signed in, from its User-Agent header: "Firefox on Linux".
    For other programs than browsers, the first name in the header. It is only shown in a list; nothing is
    decided by it."""
    browser = next((name for mark, name in _BROWSERS if mark in user_agent), None)
    if browser is None:
        return user_agent.partition("/")[0].partition(" ")[0][:_LONGEST] or "Unknown program"
    system = next((name for mark, name in _SYSTEMS if mark in user_agent), None)
    return browser if system is None else f"{browser} on {system}"
