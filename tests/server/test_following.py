"""Providers and models that are changed on one replica and used on another."""

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from msgspec.structs import replace

from holdfast.accounts.access import Caller
from holdfast.config.sections import BusSection, ToolChoice
from holdfast.core.errors import BadConfig
from holdfast.core.events import Configured
from holdfast.core.ids import TokenId
from holdfast.core.secret import Secret
from holdfast.providers.configs import ModelConfig
from holdfast.server.parts import Parts, opened
from tests.api.serving import Serving, config_for, serving

Pair = tuple[Serving, Serving]


@pytest.fixture(params=["postgres", "redis"])
async def pair(request: pytest.FixtureRequest, tmp_path: Path, postgres_url: str) -> AsyncGenerator[Pair]:
    """Two replicas that talk over one or the other. They share the key that seals, as replicas must."""
    bus = request.getfixturevalue("redis_url") if request.param == "redis" else ""
    plain = config_for(tmp_path, postgres_url, bus=BusSection(url=Secret(bus)))
    key = Secret(bytes(range(32)).hex())
    one, two = (
        replace(plain, server=replace(plain.server, data=tmp_path / name, secret_key=key))
        for name in ("one", "two")
    )
    async with serving(one) as first, serving(two) as second:
        yield first, second


async def until_named(parts: Parts, name: str, *, there: bool) -> None:
    async with asyncio.timeout(60):
        while (name in parts.services.providers.setup.models) != there:  # noqa: ASYNC110
            await asyncio.sleep(0.01)


@pytest.mark.heavy
async def test_what_one_replica_is_told_all_use(pair: Pair) -> None:
    one, two = pair
    put = await one.admin.put("model-configs/quick", {"provider": "demo", "model": "demo"})
    assert put.status == 200, put
    await until_named(two.parts, "quick", there=True)
    chat = await two.admin.start_chat("say: hello", model="quick")
    await two.admin.until_settled(chat["id"])
    assert (await two.admin.delete("model-configs/quick")).status == 204
    await until_named(one.parts, "quick", there=False)


@pytest.mark.heavy
async def test_a_change_whose_hint_was_lost_is_found_by_looking(tmp_path: Path, postgres_url: str) -> None:
    config = config_for(tmp_path / "data", postgres_url)
    async with opened(config, lambda: config, {}) as parts:
        following = asyncio.create_task(parts.following.follow(look_seconds=0.05))
        await parts.services.stored.put_model(
            _admin(parts), ModelConfig(name="quick", provider="demo", model="demo")
        )
        await until_named(parts, "quick", there=True)
        following.cancel()
        await asyncio.wait({following})


async def test_a_hint_that_nothing_changed_reads_little_and_changes_nothing(tmp_path: Path) -> None:
    config = config_for(tmp_path / "data")
    async with opened(config, lambda: config, {}) as parts:
        before = parts.services.providers.setup
        following = asyncio.create_task(parts.following.follow())
        await asyncio.sleep(0)
        parts.services.bus.publish(Configured())
        # It is taken one at a time: a refresh comes after it.
        await parts.services.refresh()
        assert parts.services.providers.setup == before
        following.cancel()
        await asyncio.wait({following})


async def test_a_tool_that_is_not_there_cannot_be_configured(tmp_path: Path) -> None:
    config = config_for(tmp_path / "data")
    wrong = replace(config, tools=replace(config.tools, named={"exeucte": ToolChoice(approval="deny")}))
    with pytest.raises(BadConfig, match="did you mean execute"):
        async with opened(wrong, lambda: wrong, {}):
            pass
    async with opened(config, lambda: wrong, {}) as parts:
        with pytest.raises(BadConfig, match="did you mean execute"):
            await parts.services.reload()
        assert parts.services.config().tools.named == {}


def _admin(parts: Parts) -> Caller:
    return Caller(parts.admin, frozenset({"admin"}), TokenId("t"), "token")
