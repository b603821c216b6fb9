"""How much the files of one user may take in total."""

import io
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from msgspec.structs import replace

from tests.api.serving import Answer, Client, Serving, config_for, serving

MIB = 1024 * 1024


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.heavy)])
async def server(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncGenerator[Serving]:
    url = "sqlite" if request.param == "sqlite" else request.getfixturevalue("postgres_url")
    config = config_for(tmp_path / "data", url)
    async with serving(replace(config, files=replace(config.files, quota_mib=2))) as running:
        yield running


async def upload(client: Client, content: bytes) -> Answer:
    form = aiohttp.FormData()
    form.add_field("file", io.BytesIO(content), filename="a.txt", content_type="text/plain")
    return await _post(client, form)


async def _post(client: Client, form: Any) -> Answer:
    headers = {"Authorization": f"Bearer {client.token}"}
    async with client.session.post(f"{client.address}/api/v1/files", data=form, headers=headers) as answer:
        return Answer(answer.status, answer.headers, await answer.read())


async def test_nobody_fills_the_disk(server: Serving) -> None:
    member = await server.member()
    for letter in (b"a", b"b"):
        assert (await upload(member, letter * (MIB - 1000))).status == 201
    refused = await upload(member, b"c" * MIB)
    assert (refused.status, refused.code) == (413, "too_large")
    assert "files.quota_mib" in refused.json["detail"]
    # A small one still fits, and other people have their own.
    assert (await upload(member, b"d" * 1000)).status == 201
    assert (await upload(server.admin, b"c" * MIB)).status == 201


async def test_what_was_refused_leaves_nothing(server: Serving) -> None:
    assert (await upload(server.admin, b"a" * 2 * MIB)).status == 201
    assert (await upload(server.admin, b"b" * MIB)).status == 413
    kept = [path for path in (server.data / "files").rglob("*") if path.is_file()]
    assert len(kept) == (1 if server.parts.services.store.engine == "sqlite" else 0)
