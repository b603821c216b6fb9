"""Headers that two readers could understand differently: names of hosts with something around them, and
headers that come twice."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from holdfast.api.gate import host_name
from tests.api.serving import Serving, config_for, serving
from tests.api.wire import Raw, exchange, request


@pytest.fixture
async def server(tmp_path: Path) -> AsyncGenerator[Serving]:
    async with serving(config_for(tmp_path / "data")) as running:
        yield running


NO_HOSTS = (
    "[::1]evil.com",
    "[::1]evil.com:80",
    "[::1].evil.com",
    "[::1]:80evil.com",
    "[::1]:80:80",
    "[::1",
    "::1",
    "127.0.0.1:evil.com",
    "127.0.0.1:80@evil.com",
    "evil.com@127.0.0.1",
    "127.0.0.1/evil.com",
    "127.0.0.1#evil.com",
    "localhost:",
    "localhost:123456",
    "localhost evil.com",
    "[localhost]",
    ":80",
)


@pytest.mark.parametrize("host", NO_HOSTS)
async def test_hosts_with_something_around_them(server: Serving, host: str) -> None:
    answer = await ask(server, host=host)
    assert (answer.status, answer.problem["code"]) == (421, "misdirected")


def test_names_of_hosts() -> None:
    named = {"LOCALHOST:80": "localhost", "[::1]:80": "[::1]", "[::1]": "[::1]", "127.0.0.1": "127.0.0.1"}
    for host, name in named.items():
        assert host_name(host) == name
    assert not any(map(host_name, NO_HOSTS))


async def test_headers_that_come_twice(server: Serving) -> None:
    own, bearer = f"Origin: {server.address}", f"Authorization: Bearer {server.admin.token}"
    host = server.address.removeprefix("http://")
    for headers in (
        (bearer, own, "Origin: http://evil.com"),
        (bearer, "Origin: http://evil.com", own),
        (bearer, own, own),
        (bearer, "Authorization: Bearer hf_other"),
        ("Authorization: Bearer hf_other", bearer),
        (bearer, bearer),
        (bearer, "Sec-Fetch-Site: same-origin", "Sec-Fetch-Site: cross-site"),
        (bearer, "Content-Type: application/json", "Content-Type: text/plain"),
    ):
        answer = await ask(server, *headers, host=host)
        assert (answer.status, answer.problem["code"]) == (400, "bad_request"), headers
    assert (await ask(server, bearer, own, host=host)).status == 200


async def test_two_sessions_in_one_request(server: Serving) -> None:
    """One that somebody else put beside ours must not decide whose request it is."""
    cookie = (await server.signed_in(str(server.admin.token))).cookie
    other = "holdfast_session=hf_other"
    for headers in (
        (f"Cookie: {cookie}; {other}",),
        (f"Cookie: {other}; {cookie}",),
        (f"Cookie: {cookie}", f"Cookie: {other}"),
    ):
        answer = await ask(server, *headers)
        assert (answer.status, answer.problem["code"]) == (400, "bad_request"), headers
    # As some proxies pass on the cookies of one browser.
    for headers in ((f"Cookie: {cookie}", "Cookie: theme=dark"), (f"Cookie: {cookie}; {cookie}",)):
        assert (await ask(server, *headers)).status == 200, headers


async def ask(server: Serving, *headers: str, host: str = "127.0.0.1") -> Raw:
    sent = request("GET", "/api/v1/session", host=host, headers=[*headers, "Connection: close"])
    return await exchange(server.address, sent)
