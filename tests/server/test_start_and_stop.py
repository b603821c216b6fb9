"""Starting, stopping and reading the configuration again, with the real command: what a person sees when it
works and when it cannot."""

import asyncio
import signal
import socket
import stat
import time
from pathlib import Path

import pytest

from tests.providers.server import ProviderServer
from tests.server.process import ServeProcess

pytestmark = pytest.mark.heavy

ENDLESS = "pace: 0.2\nsay slowly: " + "on and on " * 5000


async def test_a_first_start(tmp_path: Path) -> None:
    async with ServeProcess(tmp_path) as server:
        await server.start()
        said = server.output.read_text()
        assert f"{server.address}/login#token=hf_" in said
        assert "demo model" in said
        assert stat.S_IMODE((server.data / "admin.token").stat().st_mode) == 0o600
        assert stat.S_IMODE(server.data.stat().st_mode) == 0o700
        assert (await server.client(None).get("/healthz")).json == {"status": "ok"}
        chat = await server.admin.start_chat("say: hello")
        await server.admin.until_settled(chat["id"])
        server.signal(signal.SIGTERM)
        assert await server.ended() == 0
        assert "Traceback" not in server.logged()


async def test_a_server_at_rest_is_small(tmp_path: Path) -> None:
    """About 76 MiB when this was written, of which the half is shared or Python's own."""
    async with ServeProcess(tmp_path) as server:
        await server.start()
        assert (await server.admin.get("chats")).status == 200
        assert resident_kib(server.pid) < 100 * 1024


async def test_stopping_hands_chats_over_and_the_next_start_goes_on(tmp_path: Path) -> None:
    config = "[worker]\ngrace_seconds = 3\n"
    async with ServeProcess(tmp_path, config=config) as server:
        await server.start()
        chat = await server.admin.start_chat(ENDLESS)
        await server.admin.until(chat["id"], lambda now: now["waiting"] is None)
        began = time.monotonic()
        server.signal(signal.SIGTERM)
        assert await server.ended() == 0
        # The grace is for running calls, of which there are none.
        assert time.monotonic() - began < 4 * (2 + 5)
        await server.start()
        again = await server.admin.until(chat["id"], lambda now: now["waiting"] is None)
        assert again["status"] == "running"


async def test_ctrl_c_is_a_stop(tmp_path: Path) -> None:
    async with ServeProcess(tmp_path) as server:
        await server.start()
        server.signal(signal.SIGINT)
        assert await server.ended() == 0


async def test_one_server_a_database_file(tmp_path: Path) -> None:
    async with ServeProcess(tmp_path) as first, ServeProcess(tmp_path) as second:
        await first.start()
        second.log = tmp_path / "second"
        await second.begin()
        assert await second.ended() == 1
        said = second.logged()
        assert "another" in said.lower() or "in use" in said.lower()
        assert str(first.pid) in said
        assert one_sentence(said)
        assert (await first.client(None).get("/healthz")).status == 200


async def test_a_port_that_is_taken(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        async with ServeProcess(tmp_path, port=port) as server:
            await server.begin()
            assert await server.ended() == 1
            assert one_sentence(server.logged())
            assert f"127.0.0.1:{port}" in server.logged()
            assert "--port" in server.logged()


@pytest.mark.parametrize(
    "config, names",
    [
        ("[server]\nprot = 1\n", "prot"),
        ("[sever]\nport = 1\n", "sever"),
        ("[server]\nport = 70000\n", "port"),
        ("[server\n", "holdfast.toml"),
        ('[models.default]\nprovider = "nobody"\nmodel = "x"\n', "nobody"),
        ('[database]\nurl = "mysql://x"\n', "mysql"),
    ],
)
async def test_a_configuration_that_is_wrong(tmp_path: Path, config: str, names: str) -> None:
    async with ServeProcess(tmp_path, config=config, port=None) as server:
        await server.begin()
        assert await server.ended() == 1
        assert one_sentence(server.logged())
        assert names in server.logged()


async def test_providers_are_read_again_on_sighup(tmp_path: Path) -> None:
    async with ProviderServer() as provider, ServeProcess(tmp_path) as server:
        await server.start()
        assert [model["name"] for model in (await server.admin.get("models")).json["items"]] == ["demo"]
        server.config.write_text(
            '[providers.local]\nkind = "openai"\napi_key = "none"\n'
            f'base_url = "{provider.base_url("openai")}"\n'
            '[models.default]\nprovider = "local"\nmodel = "gpt-test"\n'
        )
        server.signal(signal.SIGHUP)
        await until_models(server, ["default"])
        chat = await server.admin.start_chat("say: from afar")
        await server.admin.until_settled(chat["id"])
        assert len(provider.log) == 1
        server.config.write_text("[models.default\n")
        server.signal(signal.SIGHUP)
        async with asyncio.timeout(60):
            while "not read again" not in server.logged():  # noqa: ASYNC110
                await asyncio.sleep(0.05)
        await until_models(server, ["default"])
        assert "Traceback" not in server.logged()


async def until_models(server: ServeProcess, names: list[str]) -> None:
    async with asyncio.timeout(60):
        while True:
            models = (await server.admin.get("models")).json["items"]
            if [model["name"] for model in models] == names:
                return
            await asyncio.sleep(0.05)


def one_sentence(said: str) -> bool:
    """After what was logged until then."""
    *logged, last = said.splitlines()
    return last.startswith("holdfast: ") and all(line.startswith("{") for line in logged)


def resident_kib(pid: int) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS:"))
