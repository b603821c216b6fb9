"""One path from a request to a transition, or to another write: with its idempotency key if it has one, and
refusals as problems."""

import hashlib
import re
from collections.abc import Callable
from typing import Any, TypeVar

from litestar import Request, Response

from holdfast.accounts.access import Caller
from holdfast.api.bodies import JsonRequest
from holdfast.api.problems import invalid, refused, respond
from holdfast.api.services import Services
from holdfast.api.trace_parents import within
from holdfast.chats.change import Refusal
from holdfast.chats.commands import Command
from holdfast.core.ids import ChatId
from holdfast.core.shapes import encode
from holdfast.store import idempotency_keys
from holdfast.store.idempotency_keys import Repeated
from holdfast.store.interface import Applied, OnceOf, Replayed
from holdfast.store.query import Query

T = TypeVar("T")

KEY_HEADER = "Idempotency-Key"
_KEY = re.compile(r"[\x21-\x7e]{1,255}")

# The status and the body, from what was committed. It may be called again, and on another thread.
Answer = Callable[[T], tuple[int, object]]


async def command(
    services: Services,
    caller: Caller,
    request: JsonRequest,
    chat_id: ChatId,
    *commands: Command,
    answer: Answer[Applied],
) -> Response[Any]:
    once = await once_of(caller, request, answer)
    wanted = [within(services, request, one) for one in commands]
    return answered(await services.store.transition(chat_id, *wanted, once=once), answer)


async def write(
    services: Services, caller: Caller, request: JsonRequest, query: Query[T], *, answer: Answer[T]
) -> Response[Any]:
    """A write that is not a transition: it is stored together with its answer all the same."""
    once = await once_of(caller, request, answer)
    if once is None:
        return answered(await services.store.write(query), answer)
    return answered(await services.store.write_once(query, once), answer)


async def remove(services: Services, caller: Caller, request: JsonRequest, query: Query[Any]) -> None:
    """Answers 204 without a body, also if the request is repeated under the same key."""
    await write(services, caller, request, query, answer=nothing)


def shown(done: Any) -> tuple[int, object]:
    """The answer is the result of the action."""
    return 200, done


def nothing(_: Any) -> tuple[int, object]:
    return 204, None


def answered(outcome: T | Refusal | Replayed, answer: Answer[T]) -> Response[Any]:
    match outcome:
        case Refusal():
            raise refused(outcome)
        case Replayed():
            return json_response(outcome.status, outcome.body)
        case done:
            status, body = answer(done)
            return json_response(status, encode(body))


async def repeated(request: Request[Any, Any, Any]) -> Response[Any] | None:
    """Before any handler: what was done under this key is answered as it was then, whatever happened to the
    chat, or to what the request names, since."""
    caller = request.scope["state"].get("caller")
    if not isinstance(caller, Caller) or request.method in ("GET", "OPTIONS"):
        return None
    once: OnceOf[Any] | None = await once_of(caller, request, lambda _: (0, None))
    if once is None:
        return None
    services: Services = request.app.state["services"]
    match await services.store.read(idempotency_keys.stored(once)):
        case Refusal() as refusal:
            raise refused(refusal)
        case Replayed() as before:
            return json_response(before.status, before.body)
        case None:
            return None


def earlier(request: Request[Any, Any, Any], error: Repeated) -> Response[Any]:
    """The answer for a request that lost a race against another one with the same key, identical or not."""
    match error.earlier:
        case Refusal() as refusal:
            return respond(request, refused(refusal))
        case Replayed() as before:
            return json_response(before.status, before.body)


async def once_of(
    caller: Caller, request: Request[Any, Any, Any], answer: Answer[T], *, fingerprint: str | None = None
) -> OnceOf[T] | None:
    """The key of a request; None: it has none, and is executed as often as it is sent. Requests are compared
    by their body, or by `fingerprint` where that is not all in memory."""
    key = key_of(request)
    if key is None:
        return None

    def respond(done: T) -> tuple[int, bytes]:
        status, body = answer(done)
        return status, encode(body)

    return OnceOf(
        user_id=caller.user.id,
        method=request.method,
        path=request.scope["path"],
        key=key,
        fingerprint=fingerprint or hashlib.sha256(await request.body()).hexdigest(),
        respond=respond,
    )


def key_of(request: Request[Any, Any, Any]) -> str | None:
    given = request.headers.getall(KEY_HEADER, [])
    if len(given) > 1:
        # With two headers, a client that repeats the request with only one of them would not be recognised.
        raise invalid(KEY_HEADER, "given twice")
    if given and _KEY.fullmatch(given[0]) is None:
        raise invalid(KEY_HEADER, "1 to 255 visible ASCII characters")
    return given[0] if given else None


def json_response(status: int, body: bytes) -> Response[Any]:
    media_type = "application/json" if status < 400 else "application/problem+json"
    # No answer at all, not even null.
    return Response(None if status == 204 else body, status_code=status, media_type=media_type)
