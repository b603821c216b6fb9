"""Feeds over SSE and WebSocket. Who may watch is checked when a feed is opened, and again while it is open
(see `open_feeds`)."""

from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Annotated, Any

from litestar import Response, Router, WebSocket, get, websocket
from litestar.params import QueryParameter
from litestar.types import ASGIApp, Receive, Scope, Send

from holdfast.api.bodies import JsonRequest
from holdfast.api.gate import refuse
from holdfast.api.problems import Problem, problem_of
from holdfast.api.services import By, InPath, With, lacks, needs, own_chat
from holdfast.core.errors import HoldfastError
from holdfast.feed import sse
from holdfast.feed import websocket as socket_feed

Tail = Annotated[int | None, QueryParameter(ge=1, le=1000, description="Begin with so many of the newest.")]
After = Annotated[
    str | None, QueryParameter(max_length=500, description="The id of the last event that was seen.")
]


class Streamed(Response[None]):
    """A response that writes itself."""

    def __init__(self, respond: Callable[[Receive, Send], Awaitable[None]]) -> None:
        super().__init__(None)
        self._respond = respond

    def to_asgi_response(self, *_: Any, **__: Any) -> ASGIApp:  # pyright: ignore[reportImplicitOverride, reportIncompatibleMethodOverride]
        async def app(_: Scope, receive: Receive, send: Send) -> None:
            await self._respond(receive, send)

        return app


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
    chat = await own_chat(services, caller, chat_id)
    seen = request.headers.get("Last-Event-ID") or cursor

    async def respond(receive: Receive, send: Send) -> None:
        async with (
            services.feeds.opened(caller),
            services.hub.watch(chat.id, cursor=seen, tail=tail, label=caller.credential_id) as watcher,
        ):
            await sse.respond(watcher, receive, send)

    return Streamed(respond)


@get("/feed", guards=[needs("chats:read")], media_type="text/event-stream")
async def list_feed(request: JsonRequest, services: With, caller: By, cursor: After = None) -> Streamed:
    """The caller's chat list as it changes: created, changed, removed, needs_you."""
    seen = request.headers.get("Last-Event-ID") or cursor

    async def respond(receive: Receive, send: Send) -> None:
        async with (
            services.feeds.opened(caller),
            services.hub.watch_list(caller.user.id, cursor=seen, label=caller.credential_id) as watcher,
        ):
            await sse.respond(watcher, receive, send)

    return Streamed(respond)


@websocket("/chats/{chat_id:str}/feed/ws")
async def chat_feed_socket(
    socket: WebSocket[Any, Any, Any], chat_id: InPath, services: With, caller: By
) -> None:
    """The same feed over a WebSocket; `?cursor=` resumes. Refused with the problem that the other feed would
    answer."""
    async with AsyncExitStack() as stack:
        try:
            if not caller.may("chats:read"):
                raise lacks("chats:read")
            chat = await own_chat(services, caller, chat_id)
            await stack.enter_async_context(services.feeds.opened(caller))
        except (Problem, HoldfastError) as error:
            await refuse(socket.scope, socket.receive, socket.send, problem_of(error))
            return
        watcher = await stack.enter_async_context(
            services.hub.watch(
                chat.id,
                cursor=socket.query_params.get("cursor"),
                tail=_tail(socket),
                label=caller.credential_id,
            )
        )
        await socket_feed.respond(watcher, socket.receive, socket.send)


def _tail(socket: WebSocket[Any, Any, Any]) -> int | None:
    given = socket.query_params.get("tail")
    return int(given) if given and given.isascii() and given.isdigit() and 1 <= int(given) <= 1000 else None


router = Router("/", route_handlers=[chat_feed, list_feed, chat_feed_socket], tags=["feeds"])
