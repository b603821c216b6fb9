"""One way from a request to a transition: with its idempotency key if it has one, refusals as problems."""

import hashlib
import re
from collections.abc import Callable
from typing import Any

from litestar import Request, Response

from holdfast.accounts.access import Caller
from holdfast.api.bodies import JsonRequest
from holdfast.api.problems import Problem, refused
from holdfast.api.services import Services
from holdfast.chats.change import Refusal
from holdfast.chats.commands import Command
from holdfast.core.ids import ChatId
from holdfast.core.shapes import encode
from holdfast.store import keys
from holdfast.store.interface import Applied, Once, Replayed

KEY_HEADER = "Idempotency-Key"
_KEY = re.compile(r"[\x21-\x7e]{1,255}")

# The status and the body, from what was committed. It may be called again, and on another thread.
Answer = Callable[[Applied], tuple[int, object]]


async def command(
    services: Services,
    caller: Caller,
    request: JsonRequest,
    chat_id: ChatId,
    *commands: Command,
    answer: Answer,
) -> Response[Any]:
    once = await _once(caller, request, answer)
    outcome = await services.store.transition(chat_id, *commands, once=once)
    match outcome:
        case Refusal():
            raise refused(outcome)
        case Replayed():
            return json_response(outcome.status, outcome.body)
        case Applied():
            status, body = answer(outcome)
            return json_response(status, encode(body))


async def repeated(request: Request[Any, Any, Any]) -> Response[Any] | None:
    """Before any handler: what was done under this key is answered as it was then, whatever has become of the
    chat, or of what the request names, since."""
    caller = request.scope["state"].get("caller")
    if not isinstance(caller, Caller) or request.method in ("GET", "OPTIONS"):
        return None
    once = await _once(caller, request, lambda _: (0, None))
    if once is None:
        return None
    services: Services = request.app.state["services"]
    match await services.store.read(keys.stored(once)):
        case Refusal() as refusal:
            raise refused(refusal)
        case Replayed() as before:
            return json_response(before.status, before.body)
        case None:
            return None


async def _once(caller: Caller, request: Request[Any, Any, Any], answer: Answer) -> Once | None:
    key = request.headers.get(KEY_HEADER)
    if key is None:
        return None
    if _KEY.fullmatch(key) is None:
        raise Problem("invalid_input", f"{KEY_HEADER} is 1 to 255 visible ASCII characters.")

    def respond(applied: Applied) -> tuple[int, bytes]:
        status, body = answer(applied)
        return status, encode(body)

    return Once(
        user_id=caller.user.id,
        method=request.method,
        path=request.scope["path"],
        key=key,
        fingerprint=hashlib.sha256(await request.body()).hexdigest(),
        respond=respond,
    )


def json_response(status: int, body: bytes) -> Response[Any]:
    # Nothing is not even null.
    return Response(None if status == 204 else body, status_code=status, media_type="application/json")
