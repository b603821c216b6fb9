"""HEAD of public things, the methods of a path, and the document in two forms."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.api.operations import a_chat_and_all, operations
from tests.api.serving import Client, Serving, config_for, serving


async def test_head_of_what_is_public(server: Serving) -> None:
    for path in ("/healthz", "/readyz", "/", "/login"):
        whole = await server.nobody.get(path)
        head = await server.nobody.request("HEAD", path)
        assert (head.status, head.body) == (200, b"")
        assert head.headers["Content-Length"] == whole.headers["Content-Length"]
    assert (await server.nobody.request("HEAD", "chats")).status == 401
    assert (await server.nobody.request("HEAD", "/assets/nothing.js")).status == 404


async def test_other_methods_are_refused_as_problems(admin: Client) -> None:
    answer = await admin.put("chats", {})
    assert (answer.status, answer.code) == (405, "method_not_allowed")
    assert "GET" in answer.headers["Allow"]


async def test_options_tell_every_method_of_a_path(admin: Client) -> None:
    ids = await a_chat_and_all(admin)
    by_path: dict[str, set[str]] = {}
    for method, path, _ in operations(ids):
        by_path.setdefault(path, {"OPTIONS"}).add(method)
    assert len(by_path) > 30
    for path, methods in by_path.items():
        answer = await admin.request("OPTIONS", path)
        assert (answer.status, answer.body) == (204, b""), path
        more = {"HEAD"} if path in ("/healthz", "/readyz") else set[str]()
        assert set(answer.headers["Allow"].split(", ")) == methods | more, path


async def test_a_page_says_once_how_it_is_encoded(admin: Client) -> None:
    chat = await admin.start_chat("say: hi")
    for path in (
        "/docs/",
        "/docs/api",
        f"chats/{chat['id']}/export?format=html",
        f"chats/{chat['id']}/export?format=markdown",
    ):
        assert (await admin.get(path)).headers["Content-Type"].count("charset") == 1


@pytest.mark.parametrize("host", ["127.0.0.2", "::1"])
async def test_the_address_it_listens_on_is_a_name_of_its_own(tmp_path: Path, host: str) -> None:
    config = config_for(tmp_path / "data")
    config = replace(config, server=replace(config.server, host=host))
    async with serving(config) as server:
        assert (await server.admin.get("chats")).status == 200
