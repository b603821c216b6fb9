"""The token for local programs (`admin.token`) and the socket in the data directory (`admin.sock`): whoever
finds the token can do no more than an admin's daily work, and the socket admits only its owner."""

import asyncio
import os
import shutil
import socket
import stat
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from litestar import Litestar

from holdfast.accounts.tokens import hash_of, new_secret
from holdfast.api.app import litestar_app
from holdfast.api.local_requests import BY_SOCKET, is_from_here
from holdfast.config.local import Local, reachable, read_local
from holdfast.core.accounts import SCOPES
from holdfast.core.ids import TokenId
from holdfast.server import admin_socket
from holdfast.server.admin_socket import open_way
from holdfast.store import tokens
from tests.api.serving import Answer, Client, Serving, config_for, serving


@asynccontextmanager
async def over_socket(server: Serving, token: str | None = None) -> AsyncGenerator[Client]:
    connector = aiohttp.UnixConnector(path=str(server.data / "admin.sock"))
    async with aiohttp.ClientSession(connector=connector, cookie_jar=aiohttp.DummyCookieJar()) as session:
        yield Client(session, server.address, token)


@pytest.fixture
async def server(tmp_path: Path) -> AsyncGenerator[Serving]:
    async with serving(config_for(tmp_path / "data")) as running:
        yield running


# What it cannot do

PROVIDER = {"kind": "openai", "base_url": "http://127.0.0.1:9/v1", "api_key": "sk-theirs"}


@dataclass(frozen=True)
class Deed:
    method: str
    path: str
    body: dict[str, Any]


DEEDS = {
    "make an admin": Deed("POST", "users", {"name": "eve", "role": "admin"}),
    "promote a member": Deed("PATCH", "users/{member}", {"role": "admin"}),
    "let in as an admin": Deed("POST", "users/{admin}/sign-in", {}),
    "let in again": Deed("PATCH", "users/{admin}", {"suspended": False}),
    "rename an admin": Deed("PATCH", "users/{admin}", {"name": "eve"}),
    "demote an admin": Deed("PATCH", "users/{other}", {"role": "member"}),
    "suspend an admin": Deed("PATCH", "users/{other}", {"suspended": True}),
    "make a token for admins": Deed("POST", "tokens", {"name": "t", "scopes": ["chats:read", "admin"]}),
    "add a provider": Deed("PUT", "providers/mine", PROVIDER),
    "replace a key": Deed("PUT", "providers/theirs", PROVIDER),
    "move a key": Deed("PUT", "providers/theirs", {"kind": "openai", "base_url": "http://127.0.0.1:8/v1"}),
    "remove a key": Deed("DELETE", "providers/theirs", {}),
}


class Scene:
    def __init__(self, server: Serving, people: dict[str, str]) -> None:
        self.server = server
        self.people = people

    async def does(self, who: Client, deed: Deed) -> Answer:
        path = deed.path.format(**self.people)
        return await who.request(deed.method, path, deed.body if deed.method != "DELETE" else None)


@pytest.fixture
async def scene(server: Serving) -> Scene:
    people: dict[str, str] = {"admin": server.parts.admin.id}
    for name, role in (("member", "member"), ("other", "admin")):
        made = await server.admin.post("users", {"name": name, "role": role})
        people[name] = made.json["user"]["id"]
    assert (await server.admin.put("providers/theirs", PROVIDER)).status == 200
    return Scene(server, people)


@pytest.mark.parametrize("name", DEEDS)
async def test_the_token_cannot(scene: Scene, name: str) -> None:
    refused = await scene.does(scene.server.local, DEEDS[name])
    assert (refused.status, refused.code) == (403, "forbidden")
    assert "signed in" in refused.json["detail"].lower() or "sign in" in refused.json["detail"].lower()


@pytest.mark.parametrize("name", DEEDS)
async def test_nor_can_a_session_that_was_given_for_it(scene: Scene, name: str) -> None:
    assert scene.server.local.token is not None
    browser = await scene.server.signed_in(scene.server.local.token)
    assert (await scene.does(browser, DEEDS[name])).status == 403


@pytest.mark.parametrize("name", DEEDS)
async def test_over_the_socket_an_admin_can(scene: Scene, name: str) -> None:
    for token in (None, scene.server.local.token):
        async with over_socket(scene.server, token) as owner:
            answer = await scene.does(owner, DEEDS[name])
            # The second time much of it is done already; a key that moves is asked for again.
            assert answer.status < 300 or answer.status in (404, 409, 422), answer


async def test_what_it_makes_reaches_no_further(scene: Scene) -> None:
    """A token and a member that it made are no way around."""
    made = await scene.server.local.post("tokens", {"name": "t"})
    assert made.status == 201
    child = scene.server.client(made.json["secret"])
    assert (await child.get("users")).status == 403
    assert (await child.post("tokens", {"name": "u", "scopes": ["admin"]})).status in (403, 422)
    member = (await scene.server.local.post("users", {"name": "mia"})).json
    browser = await scene.server.signed_in(member["sign_in_token"])
    assert (await browser.get("users")).status == 403


# Every verb of every route

# Of all routes, those that are not for this token. Whoever adds a route decides here.
NOT_ITS_OWN = {("PUT", "/api/v1/providers/{name}"), ("DELETE", "/api/v1/providers/{name}")}
# Decided by what is in the body or whom it is about: see DEEDS.
DEPENDS = {
    ("POST", "/api/v1/users"),
    ("PATCH", "/api/v1/users/{user_id}"),
    ("POST", "/api/v1/users/{user_id}/sign-in"),
    ("POST", "/api/v1/tokens"),
}
ADMINS = {
    ("GET", "/api/v1/users"),
    ("GET", "/api/v1/audit"),
    ("GET", "/api/v1/metrics"),
    ("GET", "/api/v1/providers"),
    ("GET", "/api/v1/providers/{name}/models"),
    ("PUT", "/api/v1/models/default"),
    ("GET", "/api/v1/model-configs"),
    ("PUT", "/api/v1/model-configs/{name}"),
    ("DELETE", "/api/v1/model-configs/{name}"),
    ("POST", "/api/v1/model-configs/{name}/test"),
    ("PATCH", "/api/v1/settings/server"),
    ("POST", "/api/v1/settings/reload"),
}


def routes() -> list[tuple[str, str]]:
    app: Litestar = litestar_app(None)
    found = {
        (str(method), route.path_format)
        for route in app.routes
        for method in getattr(route, "methods", ())
        if method not in ("OPTIONS", "HEAD") and route.path.startswith("/api/v1")
    }
    return sorted(found)


def test_routes_for_admins_are_all_decided_on() -> None:
    """Guarded by `needs("admin")`: each is in one of the lists above."""
    app = litestar_app(None)
    guarded: set[tuple[str, str]] = set()
    for route in app.routes:
        for handler in getattr(route, "route_handlers", ()):
            for guard in handler.guards or ():
                cells = [cell.cell_contents for cell in getattr(guard, "__closure__", None) or ()]
                if "admin" in cells:
                    guarded |= {(str(method), route.path_format) for method in handler.http_methods}
    guarded = {(method, path) for method, path in guarded if method not in ("OPTIONS", "HEAD")}
    assert guarded
    assert guarded <= NOT_ITS_OWN | DEPENDS | ADMINS, sorted(guarded - NOT_ITS_OWN - DEPENDS - ADMINS)


async def test_each_verb_of_each_route(server: Serving) -> None:
    """From this machine it is known everywhere, and refused where it is listed; from elsewhere (through a
    proxy) it is nobody's."""
    some_id = "0199c000-0000-7000-8000-000000000009"
    passed_on = {"X-Forwarded-For": "203.0.113.7"}
    for method, template in routes():
        path = template.format_map(_Anything(some_id))
        body: dict[str, str] | None = {} if method in ("POST", "PATCH", "PUT") else None
        if (method, template) in NOT_ITS_OWN:
            body = PROVIDER if method == "PUT" else None
        if (method, template) == ("POST", "/api/v1/session"):
            continue  # open to everybody; below
        here = await _status(server, method, path, body, {})
        away = await _status(server, method, path, body, passed_on)
        assert here != 401, (method, template)
        assert (here == 403) == ((method, template) in NOT_ITS_OWN), (method, template, here)
        assert away == 401, (method, template, away)


async def _status(server: Serving, method: str, path: str, body: object, headers: dict[str, str]) -> int:
    """Without reading on: some answers are feeds."""
    sent = {"Authorization": f"Bearer {server.local.token}", **headers}
    async with asyncio.timeout(60):
        async with server.session.request(method, server.address + path, json=body, headers=sent) as answer:
            return answer.status


class _Anything(dict[str, str]):
    def __missing__(self, key: str) -> str:
        return self["any"]

    def __init__(self, value: str) -> None:
        super().__init__(any=value)


# Where it counts


@pytest.mark.parametrize(
    "client, headers, expected",
    [
        (("127.0.0.1", 1), [], True),
        (("127.9.9.9", 1), [], True),
        (("::1", 1), [], True),
        (("::ffff:127.0.0.1", 1), [], True),
        (("10.0.0.7", 1), [], False),
        (("::ffff:10.0.0.7", 1), [], False),
        (("localhost", 1), [], False),
        (None, [], False),
        (("127.0.0.1", 1), [(b"x-forwarded-for", b"203.0.113.7")], False),
        (("127.0.0.1", 1), [(b"forwarded", b"for=203.0.113.7")], False),
        (("127.0.0.1", 1), [(b"x-real-ip", b"203.0.113.7")], False),
        (("127.0.0.1", 1), [(b"via", b"1.1 proxy")], False),
    ],
)
def test_who_is_on_this_machine(client: Any, headers: list[tuple[bytes, bytes]], expected: bool) -> None:
    assert is_from_here({"client": client, "headers": headers, "state": {}}) is expected
    assert is_from_here({"client": client, "headers": headers, "state": {BY_SOCKET: True}})


async def test_no_session_is_given_for_it_elsewhere(server: Serving) -> None:
    body = {"token": server.local.token}
    away = await server.nobody.post("session", body, headers={"X-Forwarded-For": "203.0.113.7"})
    assert (away.status, "Set-Cookie" in away.headers) == (401, False)
    browser = await server.signed_in(server.local.token or "")
    assert (await browser.get("session")).status == 200
    moved = await browser.get("session", headers={"X-Forwarded-For": "203.0.113.7"})
    assert moved.status == 401


async def test_no_header_says_that_it_came_by_the_socket(server: Serving) -> None:
    answer = await server.nobody.get("users", headers={"by_socket": "1", "By-Socket": "true"})
    assert answer.status == 401


async def test_a_token_of_an_earlier_version_is_replaced(tmp_path: Path) -> None:
    """It had no limits, and may have been copied."""
    config = config_for(tmp_path / "data")
    async with serving(config) as server:
        old, services = new_secret(), server.parts.services
        token_id = TokenId(services.ids.uuid7(services.clock.now()))
        create = tokens.create(
            token_id, server.parts.admin.id, hash_of(old.reveal()), name="old", kind="api", scopes=SCOPES
        )
        await services.store.write(create)
        (server.data / "admin.token").write_text(old.reveal())
    async with serving(config) as server:
        assert server.local.token != old.reveal()
        assert (await server.local.get("users")).status == 200
        assert (await server.client(old.reveal()).get("users")).status == 401


# The socket


async def test_the_socket_is_for_its_owner_alone(server: Serving) -> None:
    path = server.data / "admin.sock"
    assert stat.S_ISSOCK(path.stat().st_mode)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    async with over_socket(server) as owner:
        assert (await owner.get("users")).status == 200
        assert (await owner.get("/healthz")).status == 200
    # A credential that somebody shows counts there as elsewhere.
    mia = await server.member()
    async with over_socket(server, mia.token) as member:
        assert (await member.get("users")).status == 403
    async with over_socket(server, "hf_nonsense") as stranger:
        assert (await stranger.get("users")).status == 401


async def test_the_peers_user_is_looked_at(server: Serving, monkeypatch: pytest.MonkeyPatch) -> None:

    def somebody(_: asyncio.Transport) -> int:
        return 12345

    monkeypatch.setattr(admin_socket, "peer_uid", somebody)
    async with over_socket(server) as stranger:
        with pytest.raises(aiohttp.ClientError):
            await stranger.get("users")


@pytest.mark.skipif(os.geteuid() != 0 or shutil.which("setpriv") is None, reason="needs root and setpriv")
async def test_another_user_of_the_machine_is_not_let_in(server: Serving, tmp_path: Path) -> None:
    """Even where the directory and the file are open to them."""
    for path in (tmp_path, *tmp_path.parents):
        if path == Path("/tmp"):
            break
        path.chmod(path.stat().st_mode | 0o711)
    server.data.chmod(0o755)
    path = server.data / "admin.sock"
    path.chmod(0o666)
    script = (
        "import socket, sys; s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); print('connected'); "
        "s.sendall(b'GET /api/v1/users HTTP/1.1\\r\\nHost: localhost\\r\\n\\r\\n'); print(s.recv(100))"
    )
    command = ["setpriv", "--reuid=65534", "--clear-groups", "/usr/bin/env", "python3", "-c", script]
    told = await asyncio.to_thread(
        lambda: subprocess.run(
            [*command, str(path)], capture_output=True, text=True, timeout=60, check=False, cwd="/"
        )
    )
    assert "connected" in told.stdout, told
    assert "HTTP" not in told.stdout, told


async def test_where_the_server_is_stands_beside_the_token(server: Serving) -> None:
    found = read_local(server.data)
    assert found is not None
    assert (found.url, found.has_socket) == (server.address, True)
    assert stat.S_IMODE((server.data / "server.json").stat().st_mode) == 0o600


async def test_a_socket_that_a_killed_server_left_is_replaced(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir(mode=0o700)
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(data / "admin.sock"))
    (data / "admin.sock.new").touch()
    async with serving(config_for(data)) as server, over_socket(server) as owner:
        assert (await owner.get("users")).status == 200
    assert not (data / "admin.sock").exists()


def test_of_two_servers_with_one_directory_the_first_has_it(tmp_path: Path) -> None:
    first = open_way(tmp_path, "http://127.0.0.1:1")
    assert first is not None
    assert open_way(tmp_path, "http://127.0.0.1:2") is None
    assert read_local(tmp_path) == Local(url="http://127.0.0.1:1", has_socket=True)
    first.close()
    second = open_way(tmp_path, "http://127.0.0.1:2")
    assert second is not None
    second.close()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc")
async def test_a_data_directory_with_a_long_path(tmp_path: Path) -> None:
    data = tmp_path / ("long" * 30) / "data"
    data.mkdir(parents=True, mode=0o700)
    async with serving(config_for(data)) as server:
        with reachable(data / "admin.sock") as path:
            connector = aiohttp.UnixConnector(path=path)
            async with aiohttp.ClientSession(connector=connector) as session:
                assert (await Client(session, server.address, None).get("users")).status == 200


def test_without_sockets_the_server_starts_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(admin_socket, "reachable", fails)
    way = open_way(tmp_path, "http://127.0.0.1:1")
    assert way is not None
    found = read_local(tmp_path)
    assert found is not None
    assert not found.has_socket
    way.close()
