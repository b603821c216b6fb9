"""The three set-ups: one server on SQLite, one replica on PostgreSQL, three of them. Everything goes through
proxies that can break it: what clients say to a server, and what a server says to the database."""

import asyncio
import secrets
import signal
import sys
import time
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, Literal

import aiohttp

from tests.chaos.clients import Clients
from tests.chaos.notifications import Notifications
from tests.chaos.provider import ChaosProvider
from tests.chaos.scripts import LEDGER, Tags
from tests.disks import small_disk_if_possible
from tests.postgres import Postgres
from tests.server.process import ServeProcess
from tests.tcp_proxy import TcpProxy

SetUp = Literal["sqlite", "one", "three"]
SET_UPS: tuple[SetUp, ...] = ("sqlite", "one", "three")
# The shortest that may be configured.
LEASE_SECONDS = 3.0
GRACE_SECONDS = 5.0
DATABASE = "chaos"
DISK = "128m"
REPOSITORY = Path(__file__).parents[2]

CONFIG = """\
[worker]
lease_seconds = {lease}
grace_seconds = {grace}
[workspaces]
roots = ["{root}"]
[tools.execute]
approval = "allow"
[providers.plain]
kind = "openai"
base_url = "{plain}"
api_key = "{key}"
[providers.other]
kind = "anthropic"
base_url = "{other}"
api_key = "{key}"
[models.default]
provider = "plain"
model = "gpt-test"
context_limit = 100000
[models.other]
provider = "other"
model = "claude-test"
context_limit = 100000
"""


@dataclass
class Server:
    """A server process and the ways to and from it."""

    process: ServeProcess
    # From clients.
    door: TcpProxy
    # To the database; None on SQLite.
    line: TcpProxy | None = None
    notifications: Notifications | None = None
    # Clients do not ask a server that is known to be away; a frozen one they do ask, and wait.
    away: bool = False
    frozen: bool = False
    # Where it is told how to be disturbed.
    orders: Path = Path()
    # How much it had said before this round.
    logged_before: int = 0

    async def start(self) -> None:
        await self.process.start()
        self.door.lead_to(self.process.address)
        self.away = False

    async def kill(self) -> None:
        self.away = True
        self.process.kill()
        await self.process.ended()

    async def stop(self) -> int:
        """As an operator does; its exit code."""
        self.process.signal(signal.SIGTERM)
        code = await self.process.ended()
        self.away = True
        return code


@dataclass
class Stage:
    set_up: SetUp
    directory: Path
    chance: Random
    provider: ChaosProvider
    servers: list[Server]
    session: aiohttp.ClientSession
    tags: Tags
    # What must be found nowhere.
    canaries: tuple[str, ...]
    postgres: Postgres | None = None
    # The data directory of SQLite, if it is on a disk that can be filled.
    disk: Path | None = None
    workspace_id: str = ""
    # Those of this round, and one who only looks, at servers that are well.
    clients: Clients = field(init=False)
    observer: Clients = field(init=False)

    def __post_init__(self) -> None:
        self.new_round(self.chance)

    def new_round(self, chance: Random) -> None:
        """Logs begin anew; chats of earlier rounds stay in the database."""
        token = (self.servers[0].process.data / "admin.token").read_text().strip()
        self.chance = chance
        self.clients = Clients(self.session, self.addresses, token, chance)
        self.observer = Clients(self.session, self.healthy, token, chance)
        self.provider.log.clear()
        for server in self.servers:
            server.logged_before = len(server.process.logged())

    def addresses(self) -> list[str]:
        return [server.door.url for server in self.servers if not server.away]

    def healthy(self) -> list[str]:
        there = [one for one in self.servers if not one.away and not one.frozen and one.process.alive]
        return [server.process.address for server in there]

    @property
    def ledger(self) -> list[str]:
        """The tags of commands that took effect, as often as they did."""
        path = self.directory / "code" / LEDGER
        return path.read_text().split() if path.exists() else []

    @property
    def database(self) -> str:
        return "sqlite" if self.postgres is None else self.postgres.url(DATABASE)

    def logs(self) -> str:
        """What the servers logged in this round."""
        return "\n".join(server.process.logged()[server.logged_before :] for server in self.servers)

    async def busy(self) -> dict[str, int]:
        """The versions of chats that somebody runs, or should."""
        found: list[dict[str, Any]] = []
        for status in ("running", "interrupting"):
            found += await self.observer.everything(f"chats?status={status}")
            await asyncio.sleep(0.05)
        return {chat["id"]: chat["version"] for chat in found}

    async def moved(self, busy: dict[str, int]) -> float:
        """Waits until each of these chats is beyond its version, or rests. When that was."""
        waiting = busy
        while waiting:
            now = await self.busy()
            waiting = {
                chat_id: version for chat_id, version in waiting.items() if now.get(chat_id) == version
            }
        return time.monotonic()


@asynccontextmanager
async def staged(set_up: SetUp, directory: Path, chance: Random) -> AsyncGenerator[Stage]:
    """All servers run and the load has its workspace."""
    code = directory / "code"
    code.mkdir(parents=True)
    async with AsyncExitStack() as stack:
        provider = await stack.enter_async_context(ChaosProvider())
        session = await stack.enter_async_context(
            aiohttp.ClientSession(
                cookie_jar=aiohttp.DummyCookieJar(), connector=aiohttp.TCPConnector(limit=0)
            )
        )
        postgres = None
        if set_up != "sqlite":
            postgres = await asyncio.to_thread(Postgres)
            await asyncio.to_thread(postgres.start)
            stack.callback(postgres.remove)
            await asyncio.to_thread(postgres.create_database, DATABASE)
        key = f"sk-canary-{secrets.token_hex(12)}"
        config = CONFIG.format(
            lease=LEASE_SECONDS,
            grace=GRACE_SECONDS,
            root=code,
            plain=provider.base_url("compatible"),
            other=provider.base_url("anthropic"),
            key=key,
        )
        disk = None
        if set_up == "sqlite":
            disk = stack.enter_context(small_disk_if_possible(directory / "server0", DISK))
        secret = secrets.token_hex(32)
        servers = [
            await _server(stack, directory / f"server{number}", config, secret, postgres, chance)
            for number in range(3 if set_up == "three" else 1)
        ]
        await asyncio.gather(*(server.start() for server in servers))
        stage = Stage(
            set_up=set_up,
            directory=directory,
            chance=chance,
            provider=provider,
            servers=servers,
            session=session,
            tags=Tags(),
            canaries=(key, secret),
            postgres=postgres,
            disk=disk,
        )
        made = await stage.clients.command(
            "workspace", "POST", "workspaces", {"name": "code", "path": str(code)}
        )
        assert made.status == 201, made
        stage.workspace_id = made.json["id"]
        yield stage


async def _server(
    stack: AsyncExitStack, own: Path, config: str, secret: str, postgres: Postgres | None, chance: Random
) -> Server:
    await asyncio.to_thread(own.mkdir, exist_ok=True)
    line, notifications = None, None
    if postgres is not None:
        notifications = Notifications(chance)
        line = TcpProxy(postgres.url(DATABASE))
        line.answers = notifications.for_connection
        await stack.enter_async_context(line)
    # It has no address yet.
    door = await stack.enter_async_context(TcpProxy("http://127.0.0.1:9"))
    process = await stack.enter_async_context(
        ServeProcess(
            own,
            database=None if line is None else line.url,
            config=config,
            environ={
                "HOLDFAST_SERVER_SECRET_KEY": secret,
                "CHAOS_ORDERS": str(own),
                "PYTHONPATH": str(REPOSITORY),
            },
            program=(sys.executable, "-m", "tests.chaos.disturbed"),
        )
    )
    return Server(process, door, line, notifications, orders=own)
