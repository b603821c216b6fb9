"""Feeds over SSE and WebSocket. Who may watch is checked when a feed is opened, and again while it is open
(see `open_feeds`)."""

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from typing import Annotated, Any, cast

from litestar import Response, Router, WebSocket, get, websocket
from litestar.params import QueryParameter
from litestar.types import ASGIApp, Receive, Scope, Send

from holdfast.accounts.access import Caller
from holdfast.api.bodies import JsonRequest
from holdfast.api.flow_runs import seen_flow_run
from holdfast.api.gate import refuse
from holdfast.api.problems import Problem, invalid, problem_of
from holdfast.api.request_checks import check_names
from holdfast.api.runs import own_run
from holdfast.api.services import By, InPath, Services, With, lacks, needs, own_chat
from holdfast.core.errors import HoldfastError, TryAgain
from holdfast.feed import sse
from holdfast.feed import websocket as socket_feed
from holdfast.feed.connection import EXTENSION
from holdfast.feed.watcher import Watcher

MOST_AT_FIRST = 1000
Tail = Annotated[
    int | None, QueryParameter(ge=1, le=MOST_AT_FIRST, description="Begin with so many of the newest.")
]
After = Annotated[
    str | None, QueryParameter(max_length=500, description="The id of the last event that was seen.")
]


class Streamed(Response[None]):
    """A response that writes itself."""

    def __init__(self, respond: Callable[[Scope, Receive, Send], Awaitable[None]]) -> None:
        super().__init__(None)
        self._respond = respond

    def to_asgi_response(self, *_: Any, **__: Any) -> ASGIApp:  # pyright: ignore[reportImplicitOverride, reportIncompatibleMethodOverride]
        return self._respond


@get("/chats/{chat_id:str}/feed", guards=[needs("chats:read")], media_type="text/event-stream")
async def chat_feed(
    request: JsonRequest,
    chat_id: InPath,
    services: With,
    caller: By,
    cursor: After = None,
    tail: Tail = None,
) -> Streamed:
    """Everything that happens in a chat, as server-sent events: the history first, then live. A client that
    comes back with `Last-Event-ID` (or `cursor`) gets what it missed, once."""
    check_open(services)
    chat = await own_chat(services, caller, chat_id)
    seen = request.headers.get("Last-Event-ID") or cursor

    async def respond(scope: Scope, receive: Receive, send: Send) -> None:
        async with (
            services.feeds.opened(caller),
            services.hub.watch(chat.id, cursor=seen, tail=tail, label=caller.credential_id) as watcher,
        ):
            await sse.respond(watcher, receive, send, abort=_offered(scope).get("abort"))

    return Streamed(respond)


@get("/feed", guards=[needs("chats:read")], media_type="text/event-stream")
async def list_feed(request: JsonRequest, services: With, caller: By, cursor: After = None) -> Streamed:
    """The caller's chat list as it changes: created, changed, removed, needs_you. A client that comes back
    with `Last-Event-ID` (or `cursor`) is told of the chats that worked meanwhile, the newest 200; what was
    renamed, archived or deleted it finds in the list, which it reads again after `caught_up`."""
    check_open(services)
    seen = request.headers.get("Last-Event-ID") or cursor

    async def respond(scope: Scope, receive: Receive, send: Send) -> None:
        async with (
            services.feeds.opened(caller),
            services.hub.watch_list(caller.user.id, cursor=seen, label=caller.credential_id) as watcher,
        ):
            await sse.respond(watcher, receive, send, abort=_offered(scope).get("abort"))

    return Streamed(respond)


@get("/workflow-runs/{run_id:str}/feed", guards=[needs("chats:read")], media_type="text/event-stream")
async def run_feed(
    request: JsonRequest, run_id: InPath, services: With, caller: By, cursor: After = None
) -> Streamed:
    """Everything that happens in a run, as server-sent events; it ends when the run is over and all of it was
    told. A client that comes back with `Last-Event-ID` (or `cursor`) gets what it missed, once."""
    check_open(services)
    run = await own_run(services, caller, run_id)
    seen = request.headers.get("Last-Event-ID") or cursor

    async def respond(scope: Scope, receive: Receive, send: Send) -> None:
        async with (
            services.feeds.opened(caller),
            services.hub.watch_run(run.id, cursor=seen, label=caller.credential_id) as watcher,
        ):
            await sse.respond(watcher, receive, send, abort=_offered(scope).get("abort"))

    return Streamed(respond)


@get("/flow-runs/{flow_run_id:str}/feed", guards=[needs("chats:read")], media_type="text/event-stream")
async def flow_run_feed(
    request: JsonRequest, flow_run_id: InPath, services: With, caller: By, cursor: After = None
) -> Streamed:
    """Everything that happens in the run of a flow, as server-sent events; it ends when the run is over and
    all of it was told. A client that comes back with `Last-Event-ID` (or `cursor`) gets what it missed,
    once."""
    check_open(services)
    run = await seen_flow_run(services, caller, flow_run_id)
    seen = request.headers.get("Last-Event-ID") or cursor

    async def respond(scope: Scope, receive: Receive, send: Send) -> None:
        async with (
            services.feeds.opened(caller),
            services.hub.watch_flow_run(run.id, cursor=seen, label=caller.credential_id) as watcher,
        ):
            await sse.respond(watcher, receive, send, abort=_offered(scope).get("abort"))

    return Streamed(respond)


Socket = WebSocket[Any, Any, Any]
Watching = AbstractAsyncContextManager[Watcher]


@websocket("/chats/{chat_id:str}/feed/ws")
async def chat_feed_socket(socket: Socket, chat_id: InPath, services: With, caller: By) -> None:
    """The same feed over a WebSocket, resumed in the same ways. Refused with the problem that the other feed
    would answer."""

    async def find() -> Watching:
        check_names(socket, ("cursor", "tail"))
        chat = await own_chat(services, caller, chat_id)
        tail = _tail(socket.query_params.get("tail"))
        return services.hub.watch(chat.id, cursor=_seen(socket), tail=tail, label=caller.credential_id)

    await _talk(socket, services, caller, find)


@websocket("/workflow-runs/{run_id:str}/feed/ws")
async def run_feed_socket(socket: Socket, run_id: InPath, services: With, caller: By) -> None:
    """The feed of a run over a WebSocket."""

    async def find() -> Watching:
        check_names(socket, ("cursor",))
        run = await own_run(services, caller, run_id)
        return services.hub.watch_run(run.id, cursor=_seen(socket), label=caller.credential_id)

    await _talk(socket, services, caller, find)


@websocket("/flow-runs/{flow_run_id:str}/feed/ws")
async def flow_run_feed_socket(socket: Socket, flow_run_id: InPath, services: With, caller: By) -> None:
    """The feed of a flow's run over a WebSocket."""

    async def find() -> Watching:
        check_names(socket, ("cursor",))
        run = await seen_flow_run(services, caller, flow_run_id)
        return services.hub.watch_flow_run(run.id, cursor=_seen(socket), label=caller.credential_id)

    await _talk(socket, services, caller, find)


async def _talk(
    socket: Socket, services: Services, caller: Caller, find: Callable[[], Awaitable[Watching]]
) -> None:
    async with AsyncExitStack() as stack:
        try:
            if not caller.may("chats:read"):
                raise lacks("chats:read")
            check_open(services)
            watching = await find()
            await stack.enter_async_context(services.feeds.opened(caller))
        except (Problem, HoldfastError) as error:
            await refuse(socket.scope, socket.receive, socket.send, problem_of(error))
            return
        watcher = await stack.enter_async_context(watching)
        offered = _offered(socket.scope)
        await socket_feed.respond(
            watcher, socket.receive, socket.send, framed=bool(offered), abort=offered.get("abort")
        )


def check_open(services: Services) -> None:
    """A feed that would end at once is not begun: its client would come back here again and again."""
    if not services.ready():
        raise TryAgain("This server is stopping. Another replica has the feed, or this one when it is back.")


def _seen(socket: Socket) -> str | None:
    """The id of the last event that the client has. Browsers cannot send the header, programs can."""
    return socket.headers.get("Last-Event-ID") or socket.query_params.get("cursor")


def _offered(scope: Scope) -> dict[str, Any]:
    """What our own server can do beside ASGI; nothing, under another one."""
    offered: dict[str, Any] = cast(dict[str, Any], scope).get("extensions") or {}
    return offered.get(EXTENSION, {})


def _tail(given: str | None) -> int | None:
    if given is None:
        return None
    if not (given.isascii() and given.isdigit() and len(given) <= 4 and 1 <= int(given) <= MOST_AT_FIRST):
        raise invalid("tail", f"a whole number from 1 to {MOST_AT_FIRST}")
    return int(given)


router = Router(
    "/",
    route_handlers=[
        chat_feed,
        list_feed,
        run_feed,
        chat_feed_socket,
        run_feed_socket,
        flow_run_feed,
        flow_run_feed_socket,
    ],
    tags=["feeds"],
)
