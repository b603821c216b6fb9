"""One connection to one MCP server: opened, listed, used, and closed after being idle. It lives in its own
task in the MCP thread, which also imports the library."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

import structlog

from holdfast.core.errors import CannotRun, HoldfastError
from holdfast.core.ids import ChatId
from holdfast.core.secret import Secret
from holdfast.core.shapes import Json, Record
from holdfast.tools.mcp.definitions import ToolDefinition, definition, fit_text, offered
from holdfast.tools.mcp.entries import ServerEntry, StartPlan
from holdfast.tools.mcp.pins import KnownPrompt, KnownTools, PromptArgument
from holdfast.tools.mcp.results import URI_CHARACTERS, ServerResult, resource_pieces, result_of
from holdfast.tools.mcp.sign_in import SignIns
from holdfast.tools.output import bound
from holdfast.workspaces.commands.piped_programs import PipedOrder, PipedProgram, PipedPrograms

if TYPE_CHECKING:
    from mcp import Client

log = structlog.get_logger(__name__)

# The limit for starting a server and listing what it offers.
START_SECONDS = 60.0
IDLE_SECONDS = 600.0
MOST_PAGES = 50
MOST_LISTED = 20_000
MOST_PROMPTS = 100
MOST_RESOURCES = 500
ERROR_CHARACTERS = 500
# What a shell answers that finds no such program.
NOT_FOUND = 127
BEHIND_WALL = (
    "behind the wall a program sees only the system's directories, the workspace and a home of its own"
)
# It becomes a message of the person, and has to fit into one.
PROMPT_CHARACTERS = 100_000
CLOSE_SECONDS = 10.0


class ServerFailed(Exception):
    """What went wrong with a server, as a sentence for people and models."""


class PersonQuestion(Record, frozen=True, kw_only=True):
    """What a server asks a person in the middle of a call (elicitation)."""

    chat_id: ChatId
    call_id: str
    server: str
    message: str
    schema: Json
    # An address to visit instead of a form.
    url: str | None = None


class QuestionAnswer(Record, frozen=True, kw_only=True):
    action: str
    content: dict[str, Any] | None = None


# Asks the person who owns the chat; runs in the thread of MCP.
AskPerson = Callable[[PersonQuestion], Awaitable[QuestionAnswer]]


@dataclass(frozen=True, kw_only=True)
class Wiring:
    """What a connection needs from the Holdfast server."""

    programs: PipedPrograms
    ask: AskPerson
    # The library's OAuth for this server; None if it uses none.
    auth: Callable[[], Any] | None = None
    idle_seconds: float = IDLE_SECONDS


@dataclass
class _Running:
    """A running call, for questions that the server asks meanwhile."""

    chat_id: ChatId
    call_id: str
    seconds: float
    # Its time limit, which is paused while a person is asked.
    limit: asyncio.Timeout


@dataclass(eq=False)
class ServerConnection:
    entry: ServerEntry
    plan: StartPlan
    # None: the server is reached by HTTP.
    order: PipedOrder | None
    # The directory that it is told as its root.
    root: str | None
    wiring: Wiring
    # Called in the MCP thread whenever the server has listed what it offers.
    on_listed: Callable[[KnownTools], None]
    on_closed: Callable[["ServerConnection", str | None], None]
    state: str = "starting"
    known: KnownTools | None = None
    _client: "Client | None" = None
    _program: PipedProgram | None = None
    _task: "asyncio.Task[None] | None" = None
    _ready: "asyncio.Future[None] | None" = None
    _closing: asyncio.Event = field(default_factory=asyncio.Event)
    _relist: asyncio.Event = field(default_factory=asyncio.Event)
    _used_at: float = 0.0
    _running: list[_Running] = field(default_factory=list[_Running])
    _why: str | None = None

    async def open(self) -> KnownTools:
        """Returns when the server has listed what it offers. Raises ServerFailed; many may wait for it."""
        if self._task is None:
            self._ready = asyncio.get_running_loop().create_future()
            self._task = asyncio.create_task(self._live(), name=f"mcp {self.entry.name}")
        assert self._ready is not None
        await asyncio.shield(self._ready)
        assert self.known is not None
        return self.known

    async def close(self) -> None:
        self._closing.set()
        if self._task is not None:
            await asyncio.wait({self._task}, timeout=CLOSE_SECONDS)
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def call(
        self,
        tool: str,
        arguments: dict[str, Any],
        *,
        seconds: float,
        chat_id: ChatId,
        call_id: str,
        trace_parent: str | None = None,
    ) -> ServerResult:
        """Raises ServerFailed."""
        client = self._connected()
        limit = asyncio.timeout(seconds)
        running = _Running(chat_id, call_id, seconds, limit)
        self._running.append(running)
        try:
            # A connection is shared by many calls, so the span goes with the call and not in a header.
            meta: Any = None if trace_parent is None else {"traceparent": trace_parent}
            asked = client.session.call_tool(tool, arguments, meta=meta)
            answer = await self._answer(asked, seconds, limit)
            return result_of(answer.content, answer.structured_content, is_error=bool(answer.is_error))
        finally:
            self._running.remove(running)

    async def read_resource(self, uri: str | None, seconds: float) -> ServerResult:
        """The resource at the address, or a list of all resources if it is None."""
        client = self._connected()
        if uri is None:
            listed = await self._answer(client.list_resources(), seconds)
            lines = [
                f"{str(one.uri)[:URI_CHARACTERS]} ({one.name[:200]})"
                for one in listed.resources[:MOST_RESOURCES]
            ]
            return ServerResult(pieces=(_text("\n".join(lines) or "It lists no resources."),))
        read = await self._answer(client.session.read_resource(uri), seconds)
        return resource_pieces(read.contents)

    async def prompt(self, name: str, arguments: Mapping[str, str], seconds: float) -> str:
        """A prompt's messages as one text."""
        client = self._connected()
        found = await self._answer(client.session.get_prompt(name, dict(arguments)), seconds)
        result = result_of([message.content for message in found.messages], None, is_error=False)
        text = "\n\n".join(getattr(piece, "text", "") for piece in result.pieces)
        return bound(text, PROMPT_CHARACTERS)[0].strip()

    # --- its life ---

    async def _live(self) -> None:
        failure: str | None = None
        try:
            async with AsyncExitStack() as stack:
                async with asyncio.timeout(START_SECONDS):
                    await self._connect(stack)
                self.state = "ready"
                assert self._ready is not None
                self._ready.set_result(None)
                await self._stay()
            failure = self._why
        except asyncio.CancelledError:
            failure = self._why or "it was stopped"
            raise
        except BaseException as error:  # noqa: BLE001 - a group may hold anything a server provoked
            failure = self._failure(error)
        finally:
            self.state = "failed" if failure else "stopped"
            self._client = None
            if self._ready is not None and not self._ready.done():
                self._ready.set_exception(ServerFailed(failure or "it ended at once"))
                self._ready.exception()  # retrieved, even if nobody waits any more
            self.on_closed(self, failure)

    async def _connect(self, stack: AsyncExitStack) -> None:
        from mcp import Client
        from mcp_types import Implementation

        transport = await (self._http(stack) if self.order is None else self._stdio(stack, self.order))
        client = Client(
            transport,
            read_timeout_seconds=START_SECONDS,
            client_info=Implementation(name="holdfast", version="1"),
            elicitation_callback=self._elicit,
            list_roots_callback=self._roots,
            message_handler=self._heard,
            cache=None,
            # The newest way of connecting first, and the handshake of all others after it. A program that was
            # just started gets the handshake that every program knows.
            mode="auto" if self.order is None else "legacy",
        )
        self._client = await stack.enter_async_context(client)
        await self._list()
        self._used_at = time.monotonic()

    async def _stdio(self, stack: AsyncExitStack, order: PipedOrder) -> Any:
        from holdfast.tools.mcp.stdio import StdioServer

        program = await self.wiring.programs.start(order)
        stack.push_async_callback(program.close)
        self._program = program
        return StdioServer(program, self._ended).streams()

    async def _http(self, stack: AsyncExitStack) -> Any:
        from mcp.client.streamable_http import streamable_http_client

        from holdfast.tools.mcp.http import ANSWER_BYTES, http_client

        headers = {name: value.reveal() for name, value in self.plan.headers.items()}
        client = http_client(
            headers,
            public=not self.entry.by_admin,
            seconds=self.entry.fields.timeout_seconds,
            on_unauthorized=self._refused,
            auth=None if self.wiring.auth is None else self.wiring.auth(),
        )
        await stack.enter_async_context(client)
        return streamable_http_client(self.plan.url, http_client=client, max_sse_event_size=ANSWER_BYTES)

    async def _stay(self) -> None:
        """Waits until the connection has been idle for long, is told to close, or has ended."""
        while not self._closing.is_set():
            left = self._used_at + self.wiring.idle_seconds - time.monotonic()
            if self._running:
                left = self.wiring.idle_seconds
            if left <= 0:
                return
            waits = [asyncio.create_task(event.wait()) for event in (self._closing, self._relist)]
            try:
                await asyncio.wait(waits, timeout=left, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for wait in waits:
                    wait.cancel()
            if self._relist.is_set() and not self._closing.is_set():
                self._relist.clear()
                await self._list()

    def _refused(self) -> None:
        """Called when an answer says that nobody unknown is let in."""
        if self.wiring.auth is not None:
            return  # the library answers it, and says what went wrong
        known = any(name.lower() == "authorization" for name in self.plan.headers)
        self._why = "it refuses the Authorization header that it is sent" if known else SignIns.ASKED

    def _ended(self, reason: str) -> None:
        """Called when its program has closed its output."""
        if not self._closing.is_set():
            self._why = reason
            self._closing.set()

    # --- what it has ---

    async def _list(self) -> None:
        client = self._client
        assert client is not None
        has = client.server_capabilities
        found: list[ToolDefinition] = []
        if has.tools is not None:
            found = await self._tools(client)
        tools, count = offered(found, self.entry.fields.tools)
        info = client.server_info
        self.known = KnownTools(
            listed=tools,
            title=fit_text((info.title or info.name) if info else "", 200),
            version=fit_text(info.version if info else "", 100),
            config_hash=self.entry.config_hash,
            count=count,
            prompts=await self._prompts(client) if has.prompts is not None else (),
            has_resources=has.resources is not None,
        )
        self.on_listed(self.known)

    async def _tools(self, client: "Client") -> list[ToolDefinition]:
        found: list[ToolDefinition] = []
        cursor: str | None = None
        for _ in range(MOST_PAGES):
            page = await client.list_tools(cursor=cursor)
            # Hashing many definitions takes a while, and this thread serves other servers too.
            await asyncio.sleep(0)
            found += [self._definition(tool) for tool in page.tools[: MOST_LISTED - len(found)]]
            cursor = page.next_cursor
            if cursor is None or len(found) >= MOST_LISTED:
                break
        return found

    def _definition(self, tool: Any) -> ToolDefinition:
        hints = tool.annotations
        return definition(
            self.entry.name,
            tool.name,
            tool.description or tool.title or "",
            tool.input_schema,
            read_only=hints is not None and hints.read_only_hint is True,
            told=tool.model_dump(mode="json", by_alias=True, exclude_none=True),
        )

    async def _prompts(self, client: "Client") -> tuple[KnownPrompt, ...]:
        listed = await client.list_prompts()
        return tuple(
            KnownPrompt(
                name=fit_text(prompt.name, 100),
                description=fit_text(prompt.description or prompt.title or "", 500),
                arguments=tuple(
                    PromptArgument(
                        name=fit_text(one.name, 100),
                        description=fit_text(one.description or "", 300),
                        required=bool(one.required),
                    )
                    for one in (prompt.arguments or [])[:20]
                ),
            )
            for prompt in listed.prompts[:MOST_PROMPTS]
        )

    # --- what it asks of us ---

    async def _heard(self, message: Any) -> None:
        method = getattr(message, "method", None) or getattr(getattr(message, "root", None), "method", None)
        if isinstance(method, str) and method.endswith("/list_changed"):
            self._relist.set()

    async def _roots(self, context: Any) -> Any:
        from mcp_types import ListRootsResult, Root

        roots = (
            []
            if self.root is None
            else [Root.model_validate({"uri": f"file://{self.root}", "name": "workspace"})]
        )
        return ListRootsResult(roots=roots)

    async def _elicit(self, context: Any, params: Any) -> Any:
        """The protocol does not say which call a question belongs to: if calls of several chats run, nobody
        is asked."""
        from mcp_types import ElicitResult

        chats = {one.chat_id for one in self._running}
        if len(chats) != 1:
            return ElicitResult(action="cancel")
        running = self._running[-1]
        running.limit.reschedule(None)
        answered = await self.wiring.ask(
            PersonQuestion(
                chat_id=running.chat_id,
                call_id=running.call_id,
                server=self.entry.name,
                message=fit_text(params.message, 4000),
                schema=getattr(params, "requested_schema", None),
                url=getattr(params, "url", None),
            )
        )
        if running in self._running:
            running.limit.reschedule(asyncio.get_running_loop().time() + running.seconds)
        return ElicitResult.model_validate({"action": answered.action, "content": answered.content})

    # --- helpers ---

    def _connected(self) -> "Client":
        if self._client is None:
            raise ServerFailed(self._why or "it is not connected")
        self._used_at = time.monotonic()
        return self._client

    async def _answer(
        self, work: Awaitable[Any], seconds: float, limit: asyncio.Timeout | None = None
    ) -> Any:
        try:
            async with limit or asyncio.timeout(seconds):
                return await work
        except TimeoutError:
            raise ServerFailed(f"it did not answer within {seconds:g} s") from None
        except asyncio.CancelledError:
            raise
        except Exception as error:
            raise ServerFailed(self._failure(ServerFailed(self._why) if self._why else error)) from error
        finally:
            self._used_at = time.monotonic()

    def _failure(self, raised: BaseException) -> str:
        """The reason in words, without the entry's secrets."""
        error = _innermost(raised)
        if self.order is None and self._why is not None:
            return self._why
        match error:
            case TimeoutError():
                said = f"it did not start within {START_SECONDS:g} s"
            case CannotRun() | HoldfastError():
                said = error.text
            case ServerFailed():
                said = str(error)
            case _:
                said = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        if self._program is not None:
            complaints = self._program.errors.strip()
            code = self._program.exit_code
            said += f" (exit code {code})" if code else ""
            said += f"; it said: {complaints[-ERROR_CHARACTERS:]}" if complaints else ""
            if code == NOT_FOUND and self.order is not None and self.order.walled:
                said += f" ({BEHIND_WALL})"
        return self._without_secrets(fit_text(said, 4 * ERROR_CHARACTERS))

    def _without_secrets(self, text: str) -> str:
        secrets: list[Secret] = [*self.plan.env.values(), *self.plan.headers.values()]
        for value in sorted((one.reveal() for one in secrets), key=len, reverse=True):
            for word in (value, value.rpartition(" ")[2]):
                if len(word) >= 6:
                    text = text.replace(word, "***")
        return text


def _innermost(error: BaseException) -> BaseException:
    """The first error of nested groups."""
    while isinstance(error, BaseExceptionGroup):
        inner = cast("BaseExceptionGroup[BaseException]", error).exceptions
        error = inner[0]
    return error


def _text(text: str) -> Any:
    from holdfast.tools.mcp.results import TextPiece

    return TextPiece(text=text)
