"""What people do with MCP servers beside configuring them: sign in, use their prompts, answer their
questions, store values for them."""

import asyncio
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from litestar import Router, delete, get, post, put
from litestar.params import JSONBody
from msgspec import Meta

from holdfast.api.bodies import JsonRequest
from holdfast.api.calls import may_answer
from holdfast.api.commands import remove
from holdfast.api.mcp_servers import InWorkspace, usable_server
from holdfast.api.pages import Page
from holdfast.api.problems import Problem, invalid, not_found
from holdfast.api.services import By, InPath, With, needs, own_chat
from holdfast.core.errors import InvalidInput
from holdfast.core.ids import is_uuid7
from holdfast.core.shapes import Border, Record
from holdfast.store import mcp as mcp_rows
from holdfast.store import mcp_questions
from holdfast.store.mcp_questions import ServerQuestion
from holdfast.tools.mcp.connection import ServerFailed
from holdfast.tools.mcp.entries import check_secrets

CONNECT_SECONDS = 60.0
CALLBACK_PATH = "/settings/mcp"


class ConnectServer(Border, frozen=True, kw_only=True):
    # Where the person comes back to: the page's own address.
    redirect_uri: Annotated[str, Meta(min_length=1, max_length=500)]


class Connecting(Record, frozen=True, kw_only=True):
    # The server's own page, where to go now; null: it wants nobody to sign in, or knows them already.
    url: str | None


class ComeBack(Border, frozen=True, kw_only=True):
    """What the server's page sent the person back with."""

    state: Annotated[str, Meta(min_length=1, max_length=500)]
    code: Annotated[str, Meta(min_length=1, max_length=4000)]
    iss: Annotated[str, Meta(max_length=2000)] | None = None


class UsePrompt(Border, frozen=True, kw_only=True):
    name: Annotated[str, Meta(min_length=1, max_length=200)]
    arguments: Annotated[dict[str, Annotated[str, Meta(max_length=20_000)]], Meta(max_length=50)] = {}  # noqa: RUF012


class PromptText(Record, frozen=True, kw_only=True):
    text: str


class StoredValue(Record, frozen=True, kw_only=True):
    """That there is one. What it is, nobody is told."""

    name: str


class PutValue(Border, frozen=True, kw_only=True):
    value: Annotated[str, Meta(min_length=1, max_length=16_384)]


class AnswerQuestion(Border, frozen=True, kw_only=True):
    action: Literal["accept", "decline", "cancel"]
    content: Annotated[dict[str, Any], Meta(max_length=100)] | None = None


@post("/mcp-servers/{server_id:str}/connect", guards=[needs("chats:write")], status_code=200)
async def connect_mcp_server(
    request: JsonRequest,
    server_id: InPath,
    data: JSONBody[ConnectServer],
    services: With,
    caller: By,
    workspace_id: InWorkspace = None,
) -> Connecting:
    """Begin to sign in (OAuth): answers with the address of the server's own page."""
    entry, place = await usable_server(services, caller, server_id, workspace_id)
    _check_return(request, data.redirect_uri)
    if entry.transport != "http":
        raise Problem("wrong_state", "Only a server with an address is signed in to.")
    await services.mcp.stop(entry.id)
    flow = services.mcp.sign_ins.begin(caller.user.id, entry.id, data.redirect_uri)
    opening = asyncio.ensure_future(services.mcp.connected(entry, caller.user.id, place, now=True))
    opening.add_done_callback(lambda _: services.mcp.sign_ins.end(flow))
    done, _ = await asyncio.wait(
        {opening, flow.url}, timeout=CONNECT_SECONDS, return_when=asyncio.FIRST_COMPLETED
    )
    if flow.url in done:
        opening.add_done_callback(_hear)
        return Connecting(url=flow.url.result())
    if opening not in done:
        opening.cancel()
        raise Problem("try_again", "The server did not answer in time.")
    try:
        opening.result()
    except ServerFailed as error:
        raise Problem("wrong_state", f"It cannot be connected to: {error}.") from None
    return Connecting(url=None)


@post("/mcp-servers/sign-in", guards=[needs("chats:write")], status_code=204)
async def finish_mcp_sign_in(data: JSONBody[ComeBack], services: With, caller: By) -> None:
    """The person is back from the server's page: the code is exchanged for tokens, which are sealed."""
    if services.mcp.sign_ins.came_back(caller.user.id, data.state, data.code, data.iss) is None:
        raise invalid("state", "nobody is signing in with it here; begin again")


@post("/mcp-servers/{server_id:str}/prompts", guards=[needs("chats:write")], status_code=200)
async def use_mcp_prompt(
    server_id: InPath,
    data: JSONBody[UsePrompt],
    services: With,
    caller: By,
    workspace_id: InWorkspace = None,
) -> PromptText:
    """A prompt of the server with these arguments, as text to send."""
    entry, place = await usable_server(services, caller, server_id, workspace_id)
    try:
        connection, _ = await services.mcp.connected(entry, caller.user.id, place)
        seconds = entry.fields.timeout_seconds
        text = await services.mcp.on(lambda: connection.prompt(data.name, data.arguments, seconds))
    except ServerFailed as error:
        raise Problem("wrong_state", f"The MCP server {entry.name} failed: {error}.") from None
    return PromptText(text=text)


@get("/mcp-values", guards=[needs("chats:read")])
async def list_mcp_values(services: With, caller: By) -> Page[StoredValue]:
    """The names of the caller's values, which servers refer to as ${NAME}."""
    found = await services.store.read(mcp_rows.values(caller.user.id))
    return Page(items=tuple(StoredValue(name=name) for name, _ in found))


@put("/mcp-values/{name:str}", guards=[needs("chats:write")], status_code=204)
async def put_mcp_value(
    request: JsonRequest, name: InPath, data: JSONBody[PutValue], services: With, caller: By
) -> None:
    """Stored sealed, used when one of the caller's servers starts, and never shown."""
    try:
        check_secrets({name: data.value}, {})
    except InvalidInput as error:
        raise invalid("name", error.text) from None
    sealed = services.mcp.sealed_value(caller.user.id, name, data.value)
    await remove(services, caller, request, mcp_rows.put_value(caller.user.id, name, sealed))


@delete("/mcp-values/{name:str}", guards=[needs("chats:write")], status_code=204)
async def delete_mcp_value(request: JsonRequest, name: InPath, services: With, caller: By) -> None:
    """One that is not there is gone already."""
    await remove(services, caller, request, mcp_rows.delete_value(caller.user.id, name))


@get("/chats/{chat_id:str}/mcp-questions", guards=[needs("chats:read")])
async def list_mcp_questions(chat_id: InPath, services: With, caller: By) -> Page[ServerQuestion]:
    """What MCP servers ask in the middle of a call, and wait for."""
    chat = await own_chat(services, caller, chat_id)
    return Page(items=await services.store.read(mcp_questions.of_chat(chat.id)))


@post("/chats/{chat_id:str}/mcp-questions/{question_id:str}", guards=[needs("chats:write")], status_code=204)
async def answer_mcp_question(
    request: JsonRequest,
    chat_id: InPath,
    question_id: InPath,
    data: JSONBody[AnswerQuestion],
    services: With,
    caller: By,
) -> None:
    """Give the server what it asks for, or not."""
    chat = await own_chat(services, caller, chat_id)
    may_answer(caller)
    if not is_uuid7(question_id):
        raise not_found("question")
    given = {"action": data.action, "content": data.content}
    if not await services.store.write(mcp_questions.answer(question_id, chat.id, given)):
        raise not_found("question")


def _check_return(request: JsonRequest, address: str) -> None:
    """Codes are sent to this very server, by the name that the caller reached it by."""
    parts = urlsplit(address)
    hosts = {request.headers.get("host", "")}
    if parts.scheme not in ("http", "https") or parts.netloc not in hosts or parts.path != CALLBACK_PATH:
        raise invalid("redirect_uri", f"it is this server's own address, with the path {CALLBACK_PATH}")
    if parts.query or parts.fragment or parts.username is not None:
        raise invalid("redirect_uri", "it must end with the path: no query, no fragment, no user name")


def _hear(task: "asyncio.Future[Any]") -> None:
    if not task.cancelled():
        task.exception()


router = Router(
    "/",
    route_handlers=[
        connect_mcp_server,
        finish_mcp_sign_in,
        use_mcp_prompt,
        list_mcp_values,
        put_mcp_value,
        delete_mcp_value,
        list_mcp_questions,
        answer_mcp_question,
    ],
    tags=["MCP servers"],
)
