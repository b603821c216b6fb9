"""Fetches one address of the public web. A name is resolved once per hop, and the connection goes to the
address that was checked. Nothing that could identify a person is sent: no cookies, no credentials, no
proxy of the environment."""

import asyncio
import socket
import zlib
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from urllib.parse import urljoin, urlsplit

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult

from holdfast.tools.addresses import AddressRefused, Resolve, check_address_of, public_addresses
from holdfast.tools.web.fetched import FETCH_SECONDS, MOST_BYTES, Fetched, FetchFailed, FetchRules

MOST_HOPS = 5
_URL_CHARACTERS = 4_096
_PIECE = 64 * 1024
_REDIRECTS = frozenset((301, 302, 303, 307, 308))
# Enough for ordinary pages; a server that sends more tries to fill memory.
_HEADER_BYTES = 16 * 1024
_ENCODINGS = {"gzip": zlib.MAX_WBITS | 16, "x-gzip": zlib.MAX_WBITS | 16, "deflate": zlib.MAX_WBITS}


async def fetch(
    url: str,
    rules: Callable[[], FetchRules],
    *,
    resolve: Resolve | None = None,
    seconds: float = FETCH_SECONDS,
) -> Fetched:
    """Raises FetchFailed with the reason. Every hop is checked like the first address."""
    try:
        async with asyncio.timeout(seconds):
            for _ in range(MOST_HOPS + 1):
                found = await _hop(url, rules(), resolve)
                if isinstance(found, Fetched):
                    return found
                url = found
    except TimeoutError:
        raise FetchFailed(f"There was no whole answer within {seconds:g} s.") from None
    raise FetchFailed(f"It was redirected more than {MOST_HOPS} times.")


async def _hop(url: str, rules: FetchRules, resolve: Resolve | None) -> Fetched | str:
    """The document, or the address that it redirects to."""
    host, port = _checked(url, rules)
    try:
        addresses = await public_addresses(host, port, resolve)
    except AddressRefused as error:
        raise FetchFailed(f"{host} is not fetched: {error}.") from None
    except (OSError, UnicodeError):
        raise FetchFailed(f"The name {host} cannot be resolved.") from None
    try:
        async with pinned_session(addresses) as session, session.get(url, allow_redirects=False) as answer:
            if answer.status in _REDIRECTS and (location := answer.headers.get("Location")):
                return urljoin(url, location)
            content, cut = await _body(answer)
            return Fetched(
                url=url,
                status=answer.status,
                media_type=answer.content_type,
                charset=answer.charset,
                content=content,
                cut=cut,
            )
    except (aiohttp.ClientError, zlib.error, ValueError) as error:
        raise FetchFailed(f"The server of {host} did not answer properly ({type(error).__name__}).") from None
    except OSError as error:
        raise FetchFailed(f"{host} cannot be reached ({error.strerror or 'no connection'}).") from None


def _checked(url: str, rules: FetchRules) -> tuple[str, int]:
    try:
        if len(url) > _URL_CHARACTERS:
            raise FetchFailed(f"The address is longer than {_URL_CHARACTERS} characters.")
        if any(character.isspace() or not character.isprintable() for character in url):
            raise FetchFailed("An address on the web has no spaces or control characters in it.")
        check_address_of(url, rules.ports)
        parts = urlsplit(url)
        if parts.username is not None or parts.password is not None:
            raise FetchFailed("An address with a user name or password in it is not fetched.")
        # As it is looked up: the same name can be written in other letters.
        host = (parts.hostname or "").encode("idna").decode("ascii").rstrip(".")
        port = parts.port or (443 if parts.scheme == "https" else 80)
    except AddressRefused as error:
        raise FetchFailed(f"This address is not fetched: {error}.") from None
    except ValueError:
        raise FetchFailed("This is not an address on the web.") from None
    if _listed(host, rules.deny) or (rules.allow and not _listed(host, rules.allow)):
        raise FetchFailed(f"{host} is not allowed by the configuration ([web] allow, deny).")
    return host, port


def _listed(host: str, names: tuple[str, ...]) -> bool:
    host = host.lower()
    return any(host == name.lower() or host.endswith(f".{name.lower()}") for name in names)


class _Pinned(AbstractResolver):
    """A resolver that always answers with the checked addresses."""

    def __init__(self, addresses: list[str]) -> None:
        self._addresses = addresses

    async def resolve(  # pyright: ignore[reportImplicitOverride] - the decorator is younger than 3.11
        self, host: str, port: int = 0, family: int = 0
    ) -> list[ResolveResult]:
        return [
            ResolveResult(
                hostname=host,
                host=address,
                port=port,
                family=socket.AF_INET6 if ":" in address else socket.AF_INET,
                proto=0,
                flags=socket.AI_NUMERICHOST,
            )
            for address in self._addresses
        ]

    async def close(self) -> None:  # pyright: ignore[reportImplicitOverride]
        pass


@asynccontextmanager
async def pinned_session(addresses: list[str]) -> AsyncGenerator[aiohttp.ClientSession]:
    """Connects to these addresses alone, whatever name it is asked for."""
    async with aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(resolver=_Pinned(addresses), use_dns_cache=False, force_close=True),
        timeout=aiohttp.ClientTimeout(total=FETCH_SECONDS),
        cookie_jar=aiohttp.DummyCookieJar(),
        # Decompressed here, up to the limit: a few bytes can expand to gigabytes.
        auto_decompress=False,
        trust_env=False,
        max_line_size=_HEADER_BYTES,
        max_field_size=_HEADER_BYTES,
        headers={
            "User-Agent": "holdfast",
            "Accept": "text/html,text/*;q=0.9,application/pdf;q=0.8,application/json;q=0.8,*/*;q=0.1",
            "Accept-Encoding": "gzip, deflate",
        },
    ) as session:
        yield session


async def _body(answer: aiohttp.ClientResponse) -> tuple[bytes, bool]:
    encoding = answer.headers.get("Content-Encoding", "identity").strip().lower()
    if encoding not in (*_ENCODINGS, "identity", ""):
        raise FetchFailed(f"The answer is packed with {encoding[:40]!r}, which was not asked for.")
    unpack = zlib.decompressobj(_ENCODINGS[encoding]) if encoding in _ENCODINGS else None
    content = bytearray()
    async for piece in answer.content.iter_chunked(_PIECE):
        room = MOST_BYTES + 1 - len(content)
        content += piece[:room] if unpack is None else unpack.decompress(piece, room)
        if len(content) > MOST_BYTES:
            return bytes(content[:MOST_BYTES]), True
    return bytes(content), False
