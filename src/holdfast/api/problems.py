"""Errors as callers see them: `application/problem+json` with a stable code. An unexpected error becomes a
500 that only says where to look; its traceback is in the log only."""

import math
import re
from http import HTTPStatus
from typing import Any, cast

import msgspec
import structlog
from litestar import Request, Response
from litestar.exceptions import HTTPException, ValidationException

from holdfast.chats.change import Refusal
from holdfast.core.errors import BadFlow, BadScript, HoldfastError, InvalidInput, TryAgain
from holdfast.core.shapes import Json, Record, encode
from holdfast.core.shortage import is_shortage, shortage_of

log = structlog.get_logger(__name__)

STATUS: dict[str, int] = {
    "bad_request": 400,
    "unauthorized": 401,
    "forbidden": 403,
    "not_found": 404,
    "method_not_allowed": 405,
    "timeout": 408,
    "wrong_state": 409,
    "already_sent": 409,
    "already_answered": 409,
    "idempotency_mismatch": 409,
    "queue_full": 409,
    # The request was repeated under its key, but the answer contained a secret that was not stored.
    "shown_once": 409,
    "too_large": 413,
    "unsupported_media_type": 415,
    "misdirected": 421,
    "invalid_input": 422,
    "rate_limited": 429,
    "internal": 500,
    # A model provider did not do what was asked of it.
    "provider_failed": 502,
    "try_again": 503,
}
# The framework's message if a client leaves before its body has arrived: not an error here.
_DISCONNECTED = "client disconnected prematurely"
# msgspec's messages for too few or too many fields.
_NAMES_FIELD = re.compile(r"Object (?:missing required|contains unknown) field `(.*)`", re.DOTALL)
# For names that a caller made up.
MOST_SHOWN = 300
# The field of a problem with the body as a whole.
BODY = "body"
# Codes of errors that callers cannot tell apart.
_ALIASES = {
    "store_full": "try_again",
    "store_closed": "try_again",
    "stale": "try_again",
    "shortage": "try_again",
    "not_begun": "try_again",
    "call_over": "wrong_state",
    "bad_script": "invalid_input",
    "bad_flow": "invalid_input",
    # What was to be read again is wrong; the text says where.
    "bad_config": "invalid_input",
    "bad_flag": "invalid_input",
}


class FieldError(Record, frozen=True, kw_only=True):
    """What is wrong with one field, named by its path in the body (`content`, `results.0.call_id`)."""

    field: str
    message: str


class ProblemBody(Record, frozen=True, kw_only=True, omit_defaults=True):
    type: str
    title: str
    status: int
    detail: str
    code: str
    errors: tuple[FieldError, ...] = ()
    data: Json = None


class Problem(Exception):
    """Raised by a handler: the answer is this problem."""

    def __init__(
        self,
        code: str,
        detail: str,
        *,
        errors: tuple[FieldError, ...] = (),
        data: Json = None,
        headers: dict[str, str] | None = None,
    ) -> None:
        super().__init__(detail)
        if code == "invalid_input" and not errors:
            # Invalid input always names its field.
            errors = (FieldError(field=BODY, message=detail),)
        self.status = STATUS[code]
        self.headers = headers or {}
        self.body = ProblemBody(
            type=f"urn:holdfast:problem:{code}",
            title=HTTPStatus(self.status).phrase,
            status=self.status,
            detail=detail,
            code=code,
            errors=errors,
            data=data,
        )


def invalid(field: str, message: str) -> Problem:
    return Problem("invalid_input", f"{field}: {message}", errors=(FieldError(field=field, message=message),))


def not_found(what: str = "thing") -> Problem:
    """The same words whether it never existed, was deleted, or belongs to somebody else."""
    return Problem("not_found", f"There is no such {what}.")


def refused(refusal: Refusal) -> Problem:
    code = _ALIASES.get(refusal.code, refusal.code)
    return Problem(
        code,
        refusal.text,
        errors=() if refusal.field is None else (FieldError(field=refusal.field, message=refusal.text),),
        data=refusal.data,
        headers=_retry_after(1) if STATUS[code] == 503 else None,
    )


def problem_of(error: Exception) -> Problem:
    match error:
        case Problem():
            return error
        case TryAgain():
            return Problem("try_again", error.text, headers=_retry_after(error.after_seconds))
        case HoldfastError():
            return _of_ours(error)
        case ValidationException():
            return Problem("invalid_input", _first(error), errors=_field_errors(error))
        case HTTPException():
            return _of_http(error)
        case _ if is_shortage(error):
            log.warning("request put off", reason=str(error) or type(error).__name__)
            return problem_of(shortage_of(error))
        case _:
            log.error("request failed", exc_info=error)
            return Problem("internal", "Something went wrong; the server's log has the details.")


def respond(_: Request[Any, Any, Any], error: Exception) -> Response[bytes]:
    problem = problem_of(error)
    return Response(
        encode(problem.body),
        status_code=problem.status,
        headers=problem.headers,
        media_type="application/problem+json",
    )


def _retry_after(seconds: float) -> dict[str, str]:
    return {"Retry-After": str(max(1, math.ceil(seconds)))}


def _of_ours(error: HoldfastError) -> Problem:
    code = _ALIASES.get(error.code, error.code)
    if code not in STATUS:
        return Problem("internal", error.text)
    field = error.field if isinstance(error, InvalidInput) and code == "invalid_input" else None
    place: dict[str, int | None] = {}
    if isinstance(error, BadScript | BadFlow):
        place["line"] = error.line
    if isinstance(error, BadFlow):
        place["column"] = error.column
    return Problem(
        code,
        error.text,
        errors=() if field is None else (FieldError(field=field, message=error.text),),
        data={name: at for name, at in place.items() if at is not None} or None,
    )


def _of_http(error: HTTPException) -> Problem:
    match error.status_code:
        case 404:
            return not_found("route")
        case 405:
            return Problem(
                "method_not_allowed", "This route does not have this method.", headers=error.headers
            )
        case 413:
            return Problem("too_large", "The body is larger than the limit of 4 MiB.")
        case 400:
            return invalid(BODY, error.detail)
        case 500 if error.detail == _DISCONNECTED:
            return Problem("bad_request", "The request ended before its body did.")
        case status if status >= 500:
            log.error("request failed", exc_info=error)
            return Problem("internal", "Something went wrong; the server's log has the details.")
        case _:
            return Problem("bad_request", error.detail)


def _first(error: ValidationException) -> str:
    found = _field_errors(error)
    return f"{found[0].field}: {found[0].message}" if found else error.detail


def _field_errors(error: ValidationException) -> tuple[FieldError, ...]:
    found = cast(list[dict[str, Any]], error.extra if isinstance(error.extra, list) else [])
    return tuple(_field_error(str(item.get("key", "")), str(item.get("message", ""))) for item in found)


def _field_error(key: str, message: str) -> FieldError:
    if key == "data":
        # The framework only says that the parameter which handlers use for the body is missing.
        return FieldError(field=BODY, message="a JSON object is needed")
    return FieldError(field=key, message=message)


def of_decoding(error: msgspec.DecodeError) -> Problem:
    """msgspec says "Expected `str`, got `int` - at `$.content[0].text`": the path becomes the field, down to
    the missing or unexpected one."""
    message, _, place = str(error).partition(" - at `")
    path = place.rstrip("`").removeprefix("$").lstrip(".").replace("[", ".").replace("]", "")
    named = _NAMES_FIELD.fullmatch(message)
    field = ".".join(part for part in (path, named[1] if named else "") if part)
    return invalid(field[:MOST_SHOWN] or BODY, message[:MOST_SHOWN])
