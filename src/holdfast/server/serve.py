"""A server from start to stop. On stop: new requests are refused, watchers are told, chats are handed over,
and only then the process ends."""

import asyncio
import signal
import socket
import sys
from collections.abc import AsyncGenerator, Callable, Generator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from typing import Any, cast

import structlog
import uvicorn
from litestar.types import ASGIApp
from typing_extensions import override

from holdfast.api.app import create_app
from holdfast.api.services import Services
from holdfast.config.sections import Config
from holdfast.core.errors import CannotStart, HoldfastError
from holdfast.server.acceptor import Acceptor
from holdfast.server.admin_socket import BySocket, SocketProtocol, open_way
from holdfast.server.connections import Connections, Most, descriptors_for_connections, raise_open_files_limit
from holdfast.server.parts import Parts, opened
from holdfast.server.protocol import CONNECTION_LIMITS, ConnectionLimits, LimitedProtocol
from holdfast.server.unread_bodies import Unread
from holdfast.server.upkeep import upkeep
from holdfast.server.websocket import FramedProtocol

log = structlog.get_logger(__name__)

# How long pending answers get when the server stops; feeds are told to reconnect.
ANSWERS_SECONDS = 5
KEEP_ALIVE_SECONDS = 30

# Called once requests are served: the address, and the one-time token to sign in with.
Announce = Callable[[str, str, Parts], None]


async def serve(
    config: Config, read: Callable[[], Config], environ: Mapping[str, str], announce: Announce
) -> None:
    """Until SIGINT or SIGTERM. SIGHUP reloads the configuration."""
    raise_open_files_limit()
    stop = _Stop()
    async with opened(config, read, environ) as parts:
        parts.crashes.watch_faults()
        await _until_stopped(parts, stop, announce, config.server.drain_seconds)
    log.info("stopped")


async def _until_stopped(parts: Parts, stop: "_Stop", announce: Announce, drain_seconds: float) -> None:
    async with answering(parts) as running:
        with _signals(stop, parts):
            secret = await parts.services.sign_in.one_time(parts.admin.id)
            announce(running.address, secret.reveal(), parts)
            stopping = asyncio.create_task(stop.asked.wait())
            await asyncio.wait({stopping, *running.tasks}, return_when=asyncio.FIRST_COMPLETED)
            await _cancel([stopping])
        log.info("stopping")
        if stop.asked.is_set():
            await _drain(parts, 0.0 if stop.at_once else drain_seconds)


class _Stop:
    """The request to stop the server. A person who presses Ctrl-C waits for it, and there is no load
    balancer."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self.at_once = False

    def ask(self, number: int) -> None:
        self.at_once = number == signal.SIGINT and sys.stdin is not None and sys.stdin.isatty()
        self.asked.set()


async def _drain(parts: Parts, seconds: float) -> None:
    """Everything is still answered for a while, but `/readyz` says that the server is stopping. Chats are
    handed over meanwhile."""
    parts.stopping.set()
    if parts.worker is not None:
        parts.worker.stop()
    await asyncio.sleep(seconds)


class RunningServer:
    def __init__(self, address: str, tasks: tuple[asyncio.Task[None], ...]) -> None:
        self.address = address
        # They end only when the server stops, or when something is wrong.
        self.tasks = tasks


@asynccontextmanager
async def answering(
    parts: Parts,
    limits: ConnectionLimits = CONNECTION_LIMITS,
    compose: Callable[[Services], ASGIApp] = create_app,
) -> AsyncGenerator[RunningServer]:
    """Requests are served and chats are run, until the end of the block."""
    config = parts.services.config().server
    listening = _listen(config.host, config.port)
    address = _address(config.host, listening)
    try:
        way = await asyncio.to_thread(open_way, config.data, address)
    except BaseException:
        listening.close()
        raise
    work = asyncio.create_task(_work(parts))
    background = upkeep(parts)
    tasks = [work]
    server: _Server | None = None
    try:
        # Chats run while the application is assembled, which takes a quarter of a second.
        app = await asyncio.to_thread(compose, parts.services)
        connections = _connections(parts, limits)
        server = _Server(_uvicorn_config(app, limits, connections), connections)
        requests = asyncio.create_task(server.serve(sockets=[listening]))
        tasks.append(requests)
        await _started(server, requests)
        if way is not None and way.listening is not None:
            _answer_locally(server, way.listening, app, limits)
        yield RunningServer(address, tuple(tasks))
    finally:
        await _stop(parts, server, tasks)
        await _cancel(background)
        listening.close()
        if way is not None:
            await asyncio.to_thread(way.close)
    for task in tasks:
        task.result()


async def _work(parts: Parts) -> None:
    if parts.worker is None:
        await parts.stopping.wait()
    else:
        await parts.worker.run()


async def _stop(parts: Parts, server: "_Server | None", tasks: Sequence[asyncio.Task[None]]) -> None:
    """Requests are served until the last chat is handed over: `/readyz` answers that the server is stopping,
    and no client finds a closed port while a running call has its grace period."""
    parts.stopping.set()
    if parts.worker is not None:
        parts.worker.stop()
    await parts.services.hub.close()
    work = tasks[0]
    await asyncio.wait({work})
    if server is not None:
        server.should_exit = True
    await asyncio.wait(tasks)


async def _cancel(tasks: Sequence[asyncio.Task[Any]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)


# --- listening ---


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, connections: Connections) -> None:
        super().__init__(config)
        self.connections = connections

    @override
    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """We accept connections ourselves: an event loop gives up for good when descriptors are short."""
        await self.lifespan.startup()
        doors = [Acceptor(each, self._protocol, self.connections) for each in sockets or ()]
        self.servers = cast(list[asyncio.Server], doors)
        self.started = True

    def _protocol(self) -> asyncio.Protocol:
        make = cast(Callable[..., asyncio.Protocol], self.config.http_protocol_class)
        return make(config=self.config, server_state=self.server_state, app_state=self.lifespan.state)

    @override
    @contextmanager
    def capture_signals(self) -> Generator[None]:
        """We handle signals ourselves, because stopping has an order."""
        yield


def _answer_locally(
    server: "_Server", listening: socket.socket, app: ASGIApp, limits: ConnectionLimits
) -> None:
    """In addition to what the server listens on, until it stops."""
    config = _uvicorn_config(BySocket(app), limits, server.connections, SocketProtocol)
    config.load()

    def protocol() -> asyncio.Protocol:
        # As uvicorn creates them.
        made: Any = config.http_protocol_class
        return made(config=config, server_state=server.server_state, app_state={})

    server.servers.append(cast(asyncio.Server, Acceptor(listening, protocol, server.connections)))


def _connections(parts: Parts, limits: ConnectionLimits) -> Connections:
    most = Most.of(limits.connections or descriptors_for_connections())
    # No user's feeds can take all of them.
    feeds = parts.services.feeds
    feeds.most = min(feeds.most, most.per_address)
    return Connections(most, parts.services.config().server.proxies)


def _uvicorn_config(
    app: ASGIApp,
    limits: ConnectionLimits,
    connections: Connections,
    protocol: type[LimitedProtocol] = LimitedProtocol,
) -> uvicorn.Config:
    return uvicorn.Config(
        cast(Any, Unread(app)),
        http=cast(type[asyncio.Protocol], partial(protocol, limits=limits, connections=connections)),
        ws=cast(type[asyncio.Protocol], partial(FramedProtocol, limits=limits, connections=connections)),
        ws_max_size=64 * 1024,
        ws_per_message_deflate=False,
        lifespan="off",
        loop="none",
        access_log=False,
        log_config=None,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=ANSWERS_SECONDS,
    )


async def _started(server: "_Server", requests: asyncio.Task[None]) -> None:
    """uvicorn does not report when it is listening."""
    while not server.started and not requests.done():  # noqa: ASYNC110
        await asyncio.sleep(0.005)


def _listen(host: str, port: int) -> socket.socket:
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listening = socket.socket(family, kind, protocol)
    except OSError as error:
        raise _cannot_listen(host, port, error) from None
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(2048)
    except OSError as error:
        listening.close()
        raise _cannot_listen(host, port, error) from None
    listening.setblocking(False)
    return listening


def _cannot_listen(host: str, port: int, error: OSError) -> CannotStart:
    return CannotStart(
        f"Cannot listen on {host}:{port} ({error.strerror or error}). "
        "Stop whatever uses it, or choose another port with --port."
    )


def _address(host: str, listening: socket.socket) -> str:
    port = listening.getsockname()[1]
    if host in ("0.0.0.0", "::", ""):  # noqa: S104 - compared, not bound
        host = "127.0.0.1"
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


# --- signals ---


@contextmanager
def _signals(stop: _Stop, parts: Parts) -> Generator[None]:
    loop = asyncio.get_running_loop()
    reloads: set[asyncio.Task[None]] = set()

    def reload() -> None:
        task = asyncio.create_task(_reload(parts))
        reloads.add(task)
        task.add_done_callback(reloads.discard)

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.ask, number)
    loop.add_signal_handler(signal.SIGHUP, reload)
    try:
        yield
    finally:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            loop.remove_signal_handler(number)


async def _reload(parts: Parts) -> None:
    try:
        await parts.services.reload()
    except HoldfastError as error:
        log.error("configuration not read again; the server goes on with what it had", reason=error.text)
